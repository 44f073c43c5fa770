"""Scope names, and which scopes a reader sees; and the places outside all scopes: folders of notes,
``shared/`` and ``roles/<role>/``, the memory root of a project, and, for each person, what the bot
learned from them in private chats that share the public scope.

A shelf has a name in the index, beside the scopes' names, so that one filter decides on all that is
read. It begins with ``@``, which no scope's name contains: no shelf is ever taken for a scope.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ..errors import InvalidScope

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


_SHARED: Final = "@shared"
_ROOT: Final = "@root"
_ROLE: Final = "@role:"
_SOUL: Final = "@soul:"
_PERSON: Final = "@person:"
SHARED_FOLDER: Final = "shared"
ROLES_FOLDER: Final = "roles"
SOUL_FOLDER: Final = "soul"
"""Beside ``roles``: a persona's versions of SOUL.md, proposals, verdicts, and the chain."""
NO_PERSONA: Final = "%none"
"""The folder for conversations without a persona. No persona has it: its ``%`` would be escaped."""

_MAX_BYTES: Final = 180
_READABLE: Final = 24
_ESCAPE: Final = re.compile(rb"%([0-9A-F]{2})")
_HASHED: Final = "%~"
"""Before a hash. Escapes have two hexadecimal digits behind ``%``, so none looks like it."""
# What a file system somewhere refuses or drops: separators and wildcards, what is invisible, a
# blank or dot at an edge, names of Windows' devices. And % itself.
_UNFIT: Final = re.compile(
    '[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff/\\\\:*?"<>|%]'
    r"|^[ .]|[ .]$"
    r"|^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\.|$)",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile("[^0-9A-Za-z\u4e00-\u9fff]+")
_HASHED_NAME: Final = re.compile("[0-9A-Za-z\u4e00-\u9fff]{0,24}%~[0-9a-f]{20}")
_PERSON_NAME: Final = re.compile(f"{_PERSON}[0-9a-f]{{32}}")


def role_folder(persona: str) -> str:
    """The folder's name for a persona, whose name may be any text; empty for no persona.

    Different personas have different folders. A name that can be a folder's name is; else what
    cannot stand in one is written as in an address (``/`` as ``%2F``), and a name that is too long,
    or that some disks would spell in another way, ends with a hash.
    """
    escaped = _UNFIT.sub(_percent, persona)
    as_it_is = unicodedata.normalize("NFC", escaped) == escaped
    if as_it_is and len(escaped.encode()) <= _MAX_BYTES:
        return escaped
    digest = hashlib.sha256(persona.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return f"{_PLAIN.sub('', persona)[:_READABLE]}{_HASHED}{digest}"


def _percent(match: re.Match[str]) -> str:
    # Of a device's name, too, every character: fewer rules.
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def persona_of(folder: str) -> str:
    """Returns the persona whose folder it is, empty for none; of a name with a hash the folder."""
    try:
        raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), folder.encode())
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeError:
        return ""


def role_scope(folder: str) -> str:
    """Returns the name of a role's shelf, which is the scope of all that is kept for the role."""
    return f"{_ROLE}{folder}"


class Shelf:
    """A validated place outside all scopes. Only the class methods make one, and ``SHARED``."""

    __slots__ = ("_folder", "_name")
    _name: str
    _folder: str

    def __init__(self, *_: object) -> None:
        raise TypeError("a Shelf is made by its class methods only")

    @classmethod
    def of_role(cls, persona: str) -> Shelf:
        """The notes about a persona. Raises ValueError for no persona."""
        if not persona:
            raise ValueError("no persona, no shelf")
        folder = role_folder(persona)
        return cls._make(role_scope(folder), f"{ROLES_FOLDER}/{folder}")

    @classmethod
    def of_folder(cls, name: str) -> Shelf | None:
        """The shelf of a folder below ``roles/``. None if no persona has that folder."""
        folder = unicodedata.normalize("NFC", name)
        as_it_is = folder == NO_PERSONA or _HASHED_NAME.fullmatch(folder) is not None
        if not folder or not (as_it_is or role_folder(persona_of(folder)) == folder):
            return None
        return cls._make(role_scope(folder), f"{ROLES_FOLDER}/{folder}")

    @property
    def soul(self) -> Shelf | None:
        """Where the versions of a role's SOUL.md stand; nobody reads them as notes. None for a
        shelf of no role."""
        if not self._name.startswith(_ROLE):
            return None
        folder = self._name.removeprefix(_ROLE)
        return Shelf._make(f"{_SOUL}{folder}", f"{SOUL_FOLDER}/{folder}")

    @classmethod
    def of_person(cls, person: str) -> Shelf:
        """The memories that only this person may read. Raises ValueError for no person.

        Args:
            person: ``<adapter>:<id>``, or a private conversation's id where no person is known.
        """
        if not person:
            raise ValueError("no person, no shelf")
        digest = hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return cls._make(f"{_PERSON}{digest}", "")

    @classmethod
    def named(cls, name: str) -> Shelf | None:
        """The shelf with this name in the index. None if no shelf has it."""
        if name in (_SHARED, _ROOT):
            return SHARED if name == _SHARED else ROOT_NOTES
        if _PERSON_NAME.fullmatch(name):
            return cls._make(name, "")
        if name.startswith(_SOUL):
            role = cls.of_folder(name.removeprefix(_SOUL))
            return role and role.soul
        return cls.of_folder(name.removeprefix(_ROLE)) if name.startswith(_ROLE) else None

    @classmethod
    def _make(cls, name: str, folder: str) -> Shelf:
        shelf = object.__new__(cls)
        object.__setattr__(shelf, "_name", name)
        object.__setattr__(shelf, "_folder", folder)
        return shelf

    @property
    def name(self) -> str:
        """As it stands in the index: ``@shared``, ``@root``, ``@role:<folder>``,
        ``@person:<hash>``; ``@soul:<folder>``, which no index has."""
        return self._name

    @property
    def folder(self) -> str:
        """Where it stands under the memory root: ``shared``, ``roles/<folder>``, or ``.`` for what
        lies in the root itself. Empty for a person's, whose memories stand in the files of their
        scope."""
        return self._folder

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Shelf never changes")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shelf) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("Shelf", self._name))

    def __repr__(self) -> str:
        return f"Shelf({self._name!r})"


SHARED: Final = Shelf._make(_SHARED, SHARED_FOLDER)
ROOT_NOTES: Final = Shelf._make(_ROOT, ".")
"""Markdown that lies in a project's memory root itself, as an older layout had it. People write it.
"""


def folder_of(place: str) -> str:
    """Where the notes of a place stand under the memory root, by its name in the index."""
    if place in (_SHARED, _ROOT):
        return SHARED_FOLDER if place == _SHARED else ROOT_NOTES.folder
    if place.startswith(_ROLE):
        return f"{ROLES_FOLDER}/{place.removeprefix(_ROLE)}"
    return f"scopes/{place}"
