"""Places: folders under the memory root, and who reads each.

What stands in a scope is read by the conversations that the owner's map or a policy puts there. A
shelf lies outside all scopes: notes, and, for each person, what the bot learned from them in
private chats that share the public scope. Its name begins with ``@``, which no scope's name has: so
one filter decides on all that is read, and no shelf is ever taken for a scope.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeGuard

from ..errors import InvalidScope

PUBLIC_NAME: Final = "public"
QUARANTINE_NAME: Final = "quarantine"
MAX_SCOPE_LENGTH: Final = 64
SCOPE_FIELD: Final = "memory_scope"
"""Where a record in a vector store says its scope."""
MARKER_FIELD: Final = "has_scope"
"""On every record of ours: Chroma cannot be asked for "has no scope", but for "lacks the mark"."""
SHARED_FOLDER: Final = "shared"
ROLES_FOLDER: Final = "roles"
SOUL_FOLDER: Final = "soul"
"""Beside ``roles``: a persona's versions of SOUL.md, proposals, verdicts, and the chain."""
NO_PERSONA: Final = "%none"
"""The folder for conversations without a persona. No persona has it: its ``%`` would be escaped."""

# What a folder may be called on any disk: no device of Windows.
_LEGAL: Final = re.compile(
    r"(?!(?i:con|prn|aux|nul|(?:com|lpt)[0-9])$)[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}", re.ASCII
)
_UNMAPPED: Final = re.compile("public|quarantine|(?:dm|group)-.*", re.IGNORECASE)
_ROLE: Final = "@role:"
_SHELF: Final = re.compile("@shared|@root|@person:[0-9a-f]{32}|@(?:role|soul):(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """A scope or a shelf. Two are the same if their names are, character by character.

    Attributes:
        name: As it stands in the index: a scope's own name; ``@shared``, ``@root``,
            ``@role:<folder>``, ``@person:<hash>``; ``@soul:<folder>``, which no index has.
    """

    name: str

    def __post_init__(self) -> None:
        """Raises InvalidScope for what is neither a scope's name nor a shelf's."""
        if not (_is_legal(self.name, derived=True) or _is_shelf(self.name)):
            raise InvalidScope(self.name)

    @classmethod
    def parse(cls, name: object, *, derived: bool = False) -> Place:
        """The scope of a name. ``derived``: it is of our own making or comes from our own folders,
        and may begin with ``dm-`` or ``group-``, or be ``quarantine``. Raises InvalidScope."""
        if not _is_legal(name, derived=derived):
            raise InvalidScope(name)
        return cls(name)

    @classmethod
    def named(cls, name: str) -> Place | None:
        """The shelf with this name in the index."""
        return cls(name) if _is_shelf(name) else None

    @classmethod
    def of_role(cls, persona: str) -> Place:
        """The notes about a persona. Raises InvalidScope for no persona."""
        return cls(role_scope(role_folder(persona)))

    @classmethod
    def of_folder(cls, name: str) -> Place | None:
        """The shelf of a folder below ``roles/``, which a persona may have."""
        return cls.named(role_scope(unicodedata.normalize("NFC", name)))

    @classmethod
    def of_person(cls, person: str) -> Place:
        """The memories that only this person may read: ``<adapter>:<id>``, or a private
        conversation's id where no person is known. Raises ValueError for none."""
        if not person:
            raise ValueError("no person, no shelf")
        return cls(f"@person:{_digest(person)[:32]}")

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> object:
        """How pydantic, which carries values between processes, writes and checks a scope."""
        from pydantic_core import core_schema

        def checked(name: object) -> Place:
            try:
                return name if isinstance(name, cls) else cls.parse(name, derived=True)
            except InvalidScope as error:
                raise ValueError(str(error)) from error  # what pydantic takes for a fault

        return core_schema.no_info_plain_validator_function(
            checked, serialization=core_schema.to_string_ser_schema()
        )

    @property
    def is_shelf(self) -> bool:
        return self.name.startswith("@")

    @property
    def is_public(self) -> bool:
        return self.name == PUBLIC_NAME

    @property
    def folder(self) -> str:
        """Where it stands under the memory root. Empty for a person's shelf, whose memories stand
        in the files of their scope."""
        kind, _, inside = self.name.partition(":")
        shelves = {
            "@role": f"{ROLES_FOLDER}/{inside}",
            "@soul": f"{SOUL_FOLDER}/{inside}",
            "@person": "",
            "@shared": SHARED_FOLDER,
            "@root": ".",
        }
        return shelves.get(kind, f"scopes/{self.name}")

    @property
    def soul(self) -> Place | None:
        """Where the versions of a role's SOUL.md stand; nobody reads them as notes. None for what
        is no role's shelf."""
        role = self.name.removeprefix(_ROLE)
        return None if role == self.name else Place(f"@soul:{role}")

    def __str__(self) -> str:
        return self.name


def _is_legal(name: object, *, derived: bool) -> TypeGuard[str]:
    """A case variant of ``public`` or ``quarantine`` is none."""
    if not isinstance(name, str) or not _LEGAL.fullmatch(name):
        return False
    fixed = PUBLIC_NAME, QUARANTINE_NAME
    if derived:
        return name in fixed or name.lower() not in fixed
    return name == PUBLIC_NAME or is_mapped_name(name)


def _is_shelf(name: object) -> bool:
    found = _SHELF.fullmatch(name) if isinstance(name, str) else None
    return found is not None and (found[1] is None or _is_role_folder(found[1]))


def is_mapped_name(name: str) -> bool:
    """True for a scope that only the owner's map can name: neither public, nor derived by a policy
    for an unmapped conversation, nor quarantine."""
    return not _UNMAPPED.fullmatch(name)


Scope = Place
"""What a place is called where it is no shelf."""
PUBLIC: Final = Scope.parse(PUBLIC_NAME)
SHARED: Final = Place("@shared")
ROOT_NOTES: Final = Place("@root")
"""Markdown that lies in a project's memory root itself, as an older layout had it. People write it.
"""


def may_be_given(name: str) -> bool:
    """True for a name that a person may give a scope of one's own: a legal one, and not public."""
    return _is_legal(name, derived=False) and name != PUBLIC_NAME


def role_scope(folder: str) -> str:
    """The name of a role's shelf, which is the scope of all that is kept for the role."""
    return f"{_ROLE}{folder}"


def folder_of(place: str) -> str:
    """See ``Place.folder``; by the place's name in the index."""
    return Place(place).folder


@dataclass(frozen=True)
class ScopeFilter:
    """What a reader may see: scopes, and shelves of notes, by name, compared whole.

    ``everything`` is the emergency downgrade (``scope_filter_enabled: false``): all but quarantine.
    ``migrating``: in a pre-scope plugin's collection a record that carries no scope is public while
    the migration is unfinished; what ``admits`` is asked of has its scope.
    """

    scopes: tuple[Scope, ...]
    everything: bool = False
    shelves: tuple[Place, ...] = ()
    migrating: bool = False

    @classmethod
    def reading_as(cls, scope: Scope, *, shelves: tuple[Place, ...] = ()) -> ScopeFilter:
        """A reader in ``scope`` sees that scope, public, and these shelves."""
        return cls((scope,) if scope.is_public else (scope, PUBLIC), shelves=shelves)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """As records are stored under them: the reader's own scope first, the shelves last. Made
        once: a recall looks at hundreds of records."""
        return tuple(place.name for place in (*self.scopes, *self.shelves))

    def admits(self, name: object) -> bool:
        """True if a record stored under ``name`` may be shown. Anything but a known name: no."""
        if not isinstance(name, str):
            return False
        if self.everything:
            return bool(name) and name != QUARANTINE_NAME
        return name in self.names


_MAX_BYTES: Final = 180
_READABLE: Final = 24
_ESCAPE: Final = re.compile(rb"%([0-9A-F]{2})")
# What a file system somewhere refuses or drops: separators and wildcards, what is invisible, a
# blank or dot at an edge, names of Windows' devices. And % itself.
_UNFIT: Final = re.compile(
    '[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff/\\\\:*?"<>|%]'
    r"|^[ .]|[ .]$"
    r"|^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?=\.|$)",
    re.IGNORECASE,
)
_PLAIN: Final = re.compile("[^0-9A-Za-z\u4e00-\u9fff]+")
# %~ before a hash: escapes have two hexadecimal digits behind %, so none looks like it.
_HASHED_NAME: Final = re.compile("[0-9A-Za-z\u4e00-\u9fff]{0,24}%~[0-9a-f]{20}")


def role_folder(persona: str) -> str:
    """The folder's name for a persona, whose name may be any text; empty for no persona.

    Different personas have different folders. What cannot stand in a folder's name is written as in
    an address (``/`` as ``%2F``), and a name that is too long, or that some disks would spell in
    another way, ends with a hash.
    """
    escaped = _UNFIT.sub(_percent, persona)
    as_it_is = unicodedata.normalize("NFC", escaped) == escaped
    if as_it_is and len(escaped.encode()) <= _MAX_BYTES:
        return escaped
    return f"{_PLAIN.sub('', persona)[:_READABLE]}%~{_digest(persona)[:20]}"


def persona_of(folder: str) -> str:
    """Returns the persona whose folder it is, empty for none; of a name with a hash the folder."""
    try:
        raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), folder.encode())
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeError:
        return ""


def _is_role_folder(folder: str) -> bool:
    whole = folder == NO_PERSONA or _HASHED_NAME.fullmatch(folder) is not None
    return whole or role_folder(persona_of(folder)) == folder


def _percent(match: re.Match[str]) -> str:
    # Of a device's name, too, every character: fewer rules.
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
