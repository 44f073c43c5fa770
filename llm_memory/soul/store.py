"""One role's soul on the disk: read, begun, mended, and changed in an order that a kill cannot mix.

``roles/<role>/SOUL.md`` is what people see; ``soul/<role>/`` has the log and a file of each
version. A version's file comes first, then the log's line: from there on it is so. SOUL.md and the
log's end in the state follow, at this look or the next.

The log has one line of canonical JSON an event, each with the hash of the one before. What was
changed in it later shows: tamper-evident, not tamper-proof. A line's ``prev`` is the SHA-256 of the
line before without its line end, and the first line names the format. What is in force and what
waits is what the lines add up to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import Refused
from ..models.scope import ROLES_FOLDER, SOUL_FOLDER, Place
from ..models.soul import OWNER, SEEDED_BY, Finding, SoulDenied, SoulEvent, SoulLine
from ..models.vault_layout import SOUL_CHAIN, SOUL_PAGE, SOUL_VERSIONS
from ..runtime.identifiers import Clock
from ..storage.files import ABSENT, Stamp, is_link, stamp_of
from ..storage.state_store import SoulHead, SoulHeads
from ..vault.pages import MAX_PAGE, Page, PagesOnDisk

FORMAT: Final = 1
NO_LINE: Final = "0" * 64
"""What the first line has for ``prev``."""
_LONGEST_LOG: Final = 16 * MAX_PAGE
"""Bytes."""


@dataclass
class Soul:
    """What the lines of a log add up to.

    Attributes:
        lines: Those before the first broken one.
        end: The hash of the last of them.
        broken: The first broken line, 0 for none; ``why`` names the file that is wrong.
        versions: The line that put each one in force, by number, from 1 without a gap.
        proposals: The line of each, by number.
        states: Of the proposals: what came of each last.
        applied_at: When a proposal was last applied.
    """

    lines: list[SoulLine] = field(default_factory=list)
    end: str = NO_LINE
    broken: int = 0
    why: str = ""
    versions: dict[int, SoulLine] = field(default_factory=dict)
    proposals: dict[int, SoulLine] = field(default_factory=dict)
    states: dict[int, SoulEvent] = field(default_factory=dict)
    applied_at: datetime | None = None
    _stacks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """For each version those that it lies upon, the first one first, and at the end the one that
    has its bytes: itself, unless a rollback or a veto gave another one back."""
    _vetoed: set[str] = field(default_factory=set)
    """Hashes: what was vetoed comes back under no other number."""

    @property
    def version(self) -> int:
        """The number of the version in force, 0 for none."""
        return len(self.versions)

    @property
    def sha256(self) -> str:
        """The hash of the version in force, empty for none."""
        return self.versions[self.version].sha256 if self.versions else ""

    @property
    def active(self) -> int:
        """The proposal whose text is in force, also after a rollback to it; 0 for none."""
        return self.versions[self._stacks[self.version][-1]].proposal if self.versions else 0

    @property
    def open(self) -> SoulLine | None:
        """The proposal that waits. One that was made from another version than the one in force
        waits for nothing any more."""
        last = self.proposals.get(len(self.proposals))
        waits = last and last.version == self.version and self.states[last.proposal] == "proposed"
        return last if waits else None

    def target(self, number: int = 0) -> int:
        """Returns the version that a rollback gives back, 0 for none.

        Without a number that is the version that the one in force was put over; two rollbacks in a
        row go two steps down. A version that was vetoed, or that has the bytes that are in force,
        is passed over, and is no target by its number either.
        """
        below = self._stacks.get(self.version, ())[:-1]
        wanted = self._stacks.get(number, ())[-1:] if number else below[::-1]
        barred = {self.sha256, *self._vetoed}
        return next((one for one in wanted if self.versions[one].sha256 not in barred), 0)

    def add(self, line: SoulLine) -> None:
        """Take the next line. Raises KeyError for one that cannot follow."""
        if line.event == "proposed":
            self.proposals[line.proposal] = line
        if about := line.proposal or (line.source and self.active):
            self.states[about] = line.event
        if line.event == "applied":
            self.applied_at = line.at
        if line.event == "vetoed" and line.version:
            self._vetoed.add(self.sha256)
        if line.version and line.event != "proposed":
            number, below = self.version + 1, self._stacks.get(self.version, ())
            self._stacks[number] = self._stacks[line.source] if line.source else (*below, number)
            self.versions[number] = line
        self.lines.append(line)


def digest(raw: bytes) -> str:
    """Returns the SHA-256 of bytes as it stands in the log."""
    return hashlib.sha256(raw).hexdigest()


def written(line: SoulLine) -> bytes:
    """Returns the line as it is written, without its line end and what it has none of."""
    fields = {name: value for name, value in asdict(line).items() if value}
    fields["at"] = line.at.isoformat()
    if line.n == 1:
        fields["format"] = FORMAT
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode(errors="replace")  # a name may be any text, half a character as well


def read(raw: bytes, head: SoulHead | None) -> Soul:
    """Returns what the bytes of a log's file add up to. ``head`` is its last known line. What
    stands behind the last line end was never acknowledged, and counts for nothing."""
    soul, pieces = Soul(), raw.split(b"\n")[:-1]
    for number, piece in enumerate(pieces, 1):
        is_known = head is None or number != head.n or digest(piece) == head.sha256
        if not (is_known and _is_added(soul, piece)):
            break
        soul.end = digest(piece)
    if len(soul.lines) < max(len(pieces), head.n if head else 0):
        soul.broken = len(soul.lines) + 1
    return soul


def _is_added(soul: Soul, piece: bytes) -> bool:
    """Takes the line, and returns False for one that is not as we write it, or cannot follow."""
    try:
        fields = json.loads(piece)
        fields.pop("format", None)
        line = SoulLine(**fields | {"at": datetime.fromisoformat(fields["at"])})
        if line.prev != soul.end or line.at.tzinfo is None or written(line) != piece:
            return False
        soul.add(line)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False
    return True


class Stopped(Exception):
    """Nothing was changed; ``told`` says why."""

    def __init__(self, reason: str, detail: str = "", findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(f"{reason}: {detail}")
        denied = SoulDenied(reason, detail=detail, findings=findings)
        self.told = denied if findings else Refused(reason, detail=detail)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a role's soul stands.

    Attributes:
        soul: What the log adds up to.
        file: The log's file, None for none.
        version: In force; as the state has it where the log is broken.
        raw: The bytes in force, None where no file has them any more.
        kept: The bytes of each version, by its number, but of those that no file has any more.
        page: SOUL.md as it was read, None if it is gone or cannot be read.
        head: The log's last line, as the state has it.
    """

    role: str
    soul: Soul
    file: Page | None
    version: int
    raw: bytes | None
    kept: Mapping[int, bytes]
    page: Page | None
    head: SoulHead | None

    @property
    def text(self) -> str:
        """What is in force, empty for nothing."""
        return (self.raw or b"").decode(errors="replace")

    @property
    def by_hand(self) -> bytes | None:
        """What a person has written into SOUL.md: what no version has, and nobody has discarded,
        for an editor that saves its old buffer brings nothing back. Before the first version it is
        a note."""
        known = {line.sha256 for line in self.soul.lines}
        if self.page is None or not self.version or digest(self.page.raw) in known:
            return None
        return self.page.raw if self.page.raw != self.raw else None

    def require_sound(self) -> None:
        """Raises Stopped where the log, or a version's file, is not as it was written."""
        if self.soul.broken:
            raise Stopped("broken", str(self.soul.broken))


@dataclass(eq=False)
class SoulStore:
    """Every method blocks, one call a role at a time. ``role`` is the folder's name of a persona;
    ``memory`` is the memory root, ``seed`` the first version where there is nothing. Raises
    VaultWriteFailed for what the disk says and for links, StateUnavailable, and Stopped."""

    _pages: PagesOnDisk
    _heads: SoulHeads
    _clock: Clock
    _memory: Path
    _seed: bytes

    def roles(self) -> list[str]:
        """Returns the roles that have a soul. A SOUL.md alone is a note, as it ever was, until
        somebody changes the soul of that role."""
        there = (self._memory / SOUL_FOLDER).glob("*/")
        return sorted(one.name for one in there if Place.of_folder(one.name) and not is_link(one))

    def stamp(self, role: str) -> Stamp:
        """Returns the stamp of SOUL.md, ``ABSENT`` for none."""
        with suppress(OSError):
            return stamp_of((self._memory / ROLES_FOLDER / role / SOUL_PAGE).lstat())
        return ABSENT

    def own_probes(self, role: str) -> str:
        """Returns what the owner wrote into ``probes.md``, empty where it cannot be read."""
        page = self._page(_folder(role), "probes.md")
        return page.raw.decode(errors="replace") if page else ""

    def read(self, role: str) -> Standing:
        """Returns how it stands. Changes nothing."""
        folder = _folder(role)
        file = self._pages.read(folder, SOUL_CHAIN, most=_LONGEST_LOG)
        names = [name for name in self._pages.names(folder) if name.startswith(SOUL_VERSIONS)]
        page = self._page(_shelf(role), SOUL_PAGE)
        # Where all is gone, and not the log's end alone, it is begun anew.
        head = self._heads.get(role) if file or names or page else None
        soul = read(file.raw if file else b"", head)
        if not soul.lines and len(names) > 1:  # a kill leaves one
            soul.broken = 1
        version, sha256 = soul.version, soul.sha256
        if head and soul.broken:  # else a cut tail would undo a veto
            version, sha256 = head.version, head.in_force
        raw = self._bytes(role, version, sha256)
        if raw is None and page is not None and digest(page.raw) == sha256:
            raw = page.raw
        kept = {
            number: found
            for number, line in soul.versions.items()
            if (found := self._bytes(role, number, line.sha256)) is not None
        }
        if lost := next((number for number in soul.versions if number not in kept), 0):
            soul.broken, soul.why = soul.versions[lost].n, version_name(lost)
        return Standing(role, soul, file, version, raw, kept, page, head)

    def _bytes(self, role: str, version: int, sha256: str) -> bytes | None:
        """A version's, if they have this hash."""
        page = self._page(_folder(role), version_name(version))
        return page.raw if page is not None and digest(page.raw) == sha256 else None

    def _page(self, place: Place, name: str) -> Page | None:
        with suppress(VaultWriteFailed):  # a link, say
            return self._pages.read(place, name)
        return None

    def look(self, role: str) -> Standing:
        """Returns how it stands, after it was begun, of what a person has written or else of the
        seed, or mended where it had to be."""
        standing = self.read(role)
        if standing.soul.broken or standing.soul.lines:
            return self._mend(standing)
        page = standing.page
        raw, actor = (page.raw, OWNER) if page else (self._seed, SEEDED_BY)
        return self.write(standing, SoulLine("seeded", actor), raw)

    def write(self, standing: Standing, line: SoulLine, raw: bytes | None = None) -> Standing:
        """Add a line to the log, at its end and now, and ``raw`` as a new version. What a person
        has written into SOUL.md stays there; what a kill has left of this version's number without
        a line is replaced. Returns how it stands then."""
        standing.require_sound()
        role, soul, file = standing.role, standing.soul, standing.file
        if raw is not None:
            line = replace(line, version=soul.version + 1, sha256=digest(raw))
            name = version_name(line.version)
            self._write(role, name, raw, self._pages.read(_folder(role), name))
        number, now = len(soul.lines) + 1, self._clock().replace(microsecond=0)
        added = written(replace(line, n=number, at=now, prev=soul.end))
        before = file.raw[: file.raw.rfind(b"\n") + 1] if file else b""
        self._write(role, SOUL_CHAIN, before + added + b"\n", file)
        return self._mend(self.read(role))

    def _write(self, role: str, name: str, raw: bytes, read: Page | None) -> None:
        if not self._pages.write(_folder(role), name, raw, read):
            raise VaultWriteFailed(f"{name}: written meanwhile")

    def _mend(self, standing: Standing) -> Standing:
        """Bring SOUL.md and the log's end in the state to where the log is."""
        role, soul, raw, page = standing.role, standing.soul, standing.raw, standing.page
        if raw is None or soul.broken:
            return standing
        head = SoulHead(len(soul.lines), soul.end, soul.version, soul.sha256)
        try:
            if head != standing.head:
                self._heads.put(role, head)
            if standing.by_hand is None and (page is None or page.raw != raw):
                self._pages.write(_shelf(role), SOUL_PAGE, raw, page)
                standing = replace(standing, page=self._pages.read(_shelf(role), SOUL_PAGE))
        except (StateUnavailable, VaultWriteFailed) as error:
            logger.warning("soul_not_written", role=role, error=error)
        return standing


def version_name(number: int) -> str:
    """Returns the path of a version's file."""
    return f"{SOUL_VERSIONS}/{number:04d}.md"


def _shelf(role: str) -> Place:
    """Where SOUL.md stands."""
    shelf = Place.of_folder(role)
    if shelf is None or shelf.folder != f"{ROLES_FOLDER}/{role}":
        raise VaultWriteFailed(f"{role}: no folder of a persona")
    return shelf


def _folder(role: str) -> Place:
    """Where the log and the versions stand."""
    shelf = _shelf(role)
    return shelf.soul or shelf  # a role's shelf has one
