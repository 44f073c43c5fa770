"""One role's soul on the disk: read, begun, mended, and changed in an order that a kill cannot mix.

``roles/<role>/SOUL.md`` is what people see; ``soul/<role>/`` has the log and a file of each
version. A version's file comes first, then the log's line: from there on it is so. SOUL.md and the
log's end in the state follow, at this look or the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import Refused
from ..models.scope import ROLES_FOLDER, SOUL_FOLDER, Place
from ..models.soul import OWNER, SEEDED_BY, Finding, SoulDenied, SoulLine
from ..models.vault_layout import SOUL_CHAIN, SOUL_PAGE, SOUL_VERSIONS
from ..runtime.identifiers import Clock
from ..storage.files import ABSENT, Stamp, is_link, stamp_of
from ..storage.soul_heads import SoulHead, SoulHeads
from ..vault.pages import MAX_PAGE, Page, PagesOnDisk
from .log import Soul, digest, read, written

_LONGEST_LOG: Final = 16 * MAX_PAGE
"""Bytes."""
_PROBES: Final = "probes.md"


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
        page: SOUL.md as it was read, None if it is gone or ``shut``.
        shut: Why SOUL.md cannot be read.
        head: The log's last line, as the state has it.
    """

    role: str
    soul: Soul
    file: Page | None
    version: int
    raw: bytes | None
    page: Page | None
    shut: str
    head: SoulHead | None

    @property
    def text(self) -> str:
        """What is in force, empty for nothing."""
        return (self.raw or b"").decode(errors="replace")

    @property
    def by_hand(self) -> bool:
        """SOUL.md holds what no version has, and nobody has discarded: an editor that saves its old
        buffer brings nothing back. Before the first version it is a note."""
        if self.page is None or not self.version:
            return bool(self.shut and self.version)
        known = {line.sha256 for line in self.soul.lines}
        return self.page.raw != self.raw and digest(self.page.raw) not in known

    def require_sound(self) -> None:
        """Raises Stopped where the log, or a version's file, is not as it was written."""
        if self.soul.broken:
            raise Stopped("broken", str(self.soul.broken))
        if self.soul.newer:
            raise Stopped("newer")


class SoulStore:
    """Every method blocks, one call a role at a time. ``role`` is the folder's name of a persona.
    Raises VaultWriteFailed for what the disk says and for links, StateUnavailable, and Stopped."""

    def __init__(
        self, pages: PagesOnDisk, heads: SoulHeads, clock: Clock, *, memory: Path, seed: bytes
    ) -> None:
        """``memory`` is the memory root, ``seed`` the first version where there is nothing."""
        self._pages = pages
        self._heads = heads
        self._clock = clock
        self._memory = memory
        self._seed = seed

    # How it stands

    def roles(self) -> list[str]:
        """Returns the roles that have a soul. A SOUL.md alone is a note, as it ever was, until
        somebody changes the soul of that role."""
        there = (self._memory / SOUL_FOLDER).glob("*/")
        return sorted(one.name for one in there if Place.of_folder(one.name) and not is_link(one))

    def stamp(self, role: str) -> Stamp:
        """Returns the stamp of SOUL.md, ``ABSENT`` for none."""
        try:
            return stamp_of((self._memory / ROLES_FOLDER / role / SOUL_PAGE).lstat())
        except OSError:
            return ABSENT

    def own_probes(self, role: str) -> str:
        """Returns what the owner wrote into ``probes.md``, empty where it cannot be read."""
        try:
            page = self._pages.read(_folder(role), _PROBES)
        except VaultWriteFailed as error:
            logger.warning("soul_unread", role=role, file=_PROBES, error=error)
            return ""
        return page.raw.decode(errors="replace") if page else ""

    def read(self, role: str) -> Standing:
        """Returns how it stands. Changes nothing."""
        file = self._pages.read(_folder(role), SOUL_CHAIN, most=_LONGEST_LOG)
        page, shut = None, ""
        try:
            page = self._pages.read(_shelf(role), SOUL_PAGE)
        except VaultWriteFailed as error:
            shut = str(error)
        # Where all is gone, and not the log's end alone, it is begun anew.
        is_there = file or page or shut or self._versions(role)
        head = self._heads.get(role) if is_there else None
        soul = read(file.raw if file else b"", role, head)
        version, sha256 = soul.version, soul.sha256
        if head and (soul.broken or soul.newer):  # else a cut tail would undo a veto
            version, sha256 = head.version, head.in_force
        raw = self._bytes(role, version, sha256)
        if raw is None and page is not None and digest(page.raw) == sha256:
            raw = page.raw
        for number, line in soul.versions.items():
            if self._bytes(role, number, line.sha256) is None:
                soul.broken, soul.why = line.n, version_name(number)
                break
        return Standing(role, soul, file, version, raw, page, shut, head)

    def text(self, role: str, line: SoulLine) -> bytes:
        """Returns the bytes of the version that a line put in force."""
        if (raw := self._bytes(role, line.version, line.sha256)) is None:
            raise Stopped("broken", str(line.n))
        return raw

    def _bytes(self, role: str, version: int, sha256: str) -> bytes | None:
        """A version's, if they have this hash."""
        try:
            page = self._pages.read(_folder(role), version_name(version))
        except VaultWriteFailed:  # a link, say
            return None
        return page.raw if page is not None and digest(page.raw) == sha256 else None

    def _versions(self, role: str) -> list[str]:
        names = self._pages.names(_folder(role))
        return [name for name in names if name.startswith(f"{SOUL_VERSIONS}/")]

    # What changes it

    def look(self, role: str) -> Standing:
        """Returns how it stands, after it was begun or mended where it had to be."""
        standing = self.read(role)
        if standing.soul.broken or standing.soul.newer:
            return standing
        return self._mend(standing) if standing.soul.lines else self._begin(standing)

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
        added = written(replace(line, n=number, at=now, role=role, prev=soul.end))
        before = file.raw[: file.raw.rfind(b"\n") + 1] if file else b""
        self._write(role, SOUL_CHAIN, before + added + b"\n", file)
        return self._mend(self.read(role))

    def _write(self, role: str, name: str, raw: bytes, read: Page | None) -> None:
        if not self._pages.write(_folder(role), name, raw, read):
            raise VaultWriteFailed(f"{name}: written meanwhile")

    def _begin(self, standing: Standing) -> Standing:
        """Make the first version: of what a person has written, else the seed."""
        self._heads.require_durable()
        if standing.shut:
            raise Stopped("not_written", standing.shut)
        role, page = standing.role, standing.page
        raw, actor = (page.raw, OWNER) if page else (self._seed, SEEDED_BY)
        versions = self._versions(role)
        if versions and (versions != [version_name(1)] or not self._bytes(role, 1, digest(raw))):
            return replace(standing, soul=Soul(broken=1, why="missing"))  # their log is lost
        return self.write(standing, SoulLine("seeded", actor), raw)

    def _mend(self, standing: Standing) -> Standing:
        """Bring SOUL.md and the log's end in the state to where the log is."""
        role, soul, raw, page = standing.role, standing.soul, standing.raw, standing.page
        head = SoulHead(len(soul.lines), soul.end, soul.version, soul.sha256)
        if raw is None or soul.broken:
            return standing
        try:
            if not standing.by_hand and (page is None or page.raw != raw):
                self._pages.write(_shelf(role), SOUL_PAGE, raw, page)
                standing = replace(standing, page=self._pages.read(_shelf(role), SOUL_PAGE))
            if head != standing.head:
                self._heads.put(role, head)
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
