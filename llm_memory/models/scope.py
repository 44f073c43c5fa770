"""Scope names, and which scopes a reader sees."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ..errors import InvalidScope
from .shelf import Shelf

PUBLIC_NAME: Final = "public"
QUARANTINE_NAME: Final = "quarantine"
MAX_SCOPE_LENGTH: Final = 64
SCOPE_FIELD: Final = "memory_scope"
"""Where a record in a vector store says its scope."""
MARKER_FIELD: Final = "has_scope"
"""On every record of ours: Chroma cannot be asked for "has no scope", but for "lacks the mark"."""

_LEGAL: Final = re.compile(r"[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}", re.ASCII)
_OURS: Final = ("dm-", "group-")
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


class ScopeFault(StrEnum):
    """Why a name is no legal scope."""

    NOT_TEXT = "not_text"
    EMPTY = "empty"
    TOO_LONG = "too_long"
    ILLEGAL_CHARACTERS = "illegal_characters"
    RESERVED_DEVICE = "reserved_device"
    RESERVED_PREFIX = "reserved_prefix"
    CASE_CLASH = "case_clash"


def is_mapped_name(name: str) -> bool:
    """True for a scope that only the owner's map can name: neither public, nor derived by a policy
    for an unmapped conversation, nor quarantine."""
    folded = name.lower()
    return folded not in {PUBLIC_NAME, QUARANTINE_NAME} and not folded.startswith(_OURS)


class Scope:
    """A validated scope name. Only :meth:`parse` makes one.

    Two scopes are the same only if their names are the same, character by character.
    """

    __slots__ = ("_name",)
    _name: str

    def __init__(self, *_: object) -> None:
        raise TypeError("a Scope is made by Scope.parse only")

    @classmethod
    def parse(cls, name: object, *, derived: bool = False) -> Scope:
        """Check ``name`` and return its scope.

        Args:
            name: What a person, a folder or a policy calls the scope.
            derived: True where the name is of our own making or comes from our own folders:
                then the prefixes ``dm-``, ``group-`` and the name ``quarantine`` are legal.

        Raises:
            InvalidScope: with a :class:`ScopeFault` as its reason.
        """
        if not isinstance(name, str):
            raise InvalidScope(name, ScopeFault.NOT_TEXT)
        if not name:
            raise InvalidScope(name, ScopeFault.EMPTY)
        if len(name) > MAX_SCOPE_LENGTH:
            raise InvalidScope(name, ScopeFault.TOO_LONG)
        if _LEGAL.fullmatch(name) is None:
            raise InvalidScope(name, ScopeFault.ILLEGAL_CHARACTERS)
        folded = name.lower()
        if folded in _DEVICES:
            raise InvalidScope(name, ScopeFault.RESERVED_DEVICE)
        if not derived and (folded.startswith(_OURS) or folded == QUARANTINE_NAME):
            raise InvalidScope(name, ScopeFault.RESERVED_PREFIX)
        if folded in {PUBLIC_NAME, QUARANTINE_NAME} and name != folded:
            raise InvalidScope(name, ScopeFault.CASE_CLASH)
        scope = object.__new__(cls)
        object.__setattr__(scope, "_name", name)
        return scope

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> object:
        """How pydantic, which carries values between processes, writes and checks a scope."""
        from pydantic_core import core_schema

        def checked(name: object) -> Scope:
            try:
                return name if isinstance(name, cls) else cls.parse(name, derived=True)
            except InvalidScope as error:
                raise ValueError(str(error)) from error  # what pydantic takes for a fault

        return core_schema.no_info_plain_validator_function(
            checked, serialization=core_schema.to_string_ser_schema()
        )

    @property
    def name(self) -> str:
        """The name as it stands on disk and in the index."""
        return self._name

    @property
    def folder(self) -> str:
        """Where it stands under the memory root: ``scopes/<name>``."""
        return f"scopes/{self._name}"

    @property
    def is_public(self) -> bool:
        """True for the one scope that everybody reads."""
        return self._name == PUBLIC_NAME

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Scope never changes")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and other._name == self._name

    def __hash__(self) -> int:
        return hash(("Scope", self._name))

    def __repr__(self) -> str:
        return f"Scope({self._name!r})"

    def __str__(self) -> str:
        return self._name


type Place = Scope | Shelf
"""A folder under the memory root, and who reads it: those of the scope, or of the shelf."""

PUBLIC: Final = Scope.parse(PUBLIC_NAME)


def may_be_given(name: str) -> bool:
    """True for a name that a person may give a scope of one's own: a legal one, and not public."""
    try:
        return not Scope.parse(name).is_public
    except InvalidScope:
        return False


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """What a reader may see: scopes, and shelves of notes, by name, compared whole.

    ``everything`` is the emergency downgrade (``scope_filter_enabled: false``): all but quarantine.
    ``migrating``: what asks a pre-scope plugin's collection, where a record that carries no scope
    is public while the migration is unfinished. ``admits`` knows nothing of it: a record has its
    scope by then.
    """

    scopes: tuple[Scope, ...]
    everything: bool = False
    shelves: tuple[Shelf, ...] = ()
    migrating: bool = False
    _names: tuple[str, ...] | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def reading_as(cls, scope: Scope, *, shelves: tuple[Shelf, ...] = ()) -> ScopeFilter:
        """A reader in ``scope`` sees that scope and public; a reader in public sees public.

        ``shelves``: the notes outside all scopes that this reader sees.
        """
        return cls((scope,) if scope.is_public else (scope, PUBLIC), shelves=shelves)

    @property
    def names(self) -> tuple[str, ...]:
        """The visible names as records are stored under them: the reader's own scope first, the
        shelves last."""
        if self._names is None:
            scopes = tuple(scope.name for scope in self.scopes)
            names = scopes + tuple(shelf.name for shelf in self.shelves)
            # Once, not at each of the hundreds of records that a recall looks at.
            object.__setattr__(self, "_names", names)
            return names
        return self._names

    def admits(self, name: object) -> bool:
        """True if a record stored under ``name`` may be shown. Anything but a known name: no."""
        if not isinstance(name, str):
            return False
        if self.everything:
            return bool(name) and name != QUARANTINE_NAME
        return name in self.names
