"""Reads one role's soul from the disk, and changes nothing: what is in force, proposals, verdicts,
and whether all of it is as it was written."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NoReturn

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.data_models import NO_TIME, Refused
from ..models.soul import (
    REFLECTION,
    Finding,
    SoulDenied,
    SoulEvaluation,
    SoulLine,
    SoulLog,
    SoulProposal,
    SoulRequest,
    SoulText,
    SoulVerified,
    SoulVersion,
    SoulView,
)
from ..models.vault_layout import SOUL_CHAIN, SOUL_PAGE
from ..storage.soul_heads import SoulHead, SoulHeads
from ..texts import Said
from ..vault.pages import Page
from .chain import Chain, digest, read_chain
from .rules.history import History
from .rules.proposal_file import proposal_of
from .rules.soul_text import rules_of
from .rules.verdict_file import verdict_of
from .soul_files import PROPOSALS, VERSIONS, SoulFiles, proposal_name, verdict_name, version_name

NOT_TEXT: Final = Finding("encoding", Said("soul_rule.encoding"))


class Stopped(Exception):
    """Nothing was changed; ``told`` says why."""

    def __init__(
        self,
        reason: str,
        detail: str = "",
        findings: tuple[Finding, ...] = (),
        verdict: SoulEvaluation | None = None,
    ) -> None:
        super().__init__(f"{reason}: {detail}")
        findings = verdict.findings if verdict else findings
        denied = SoulDenied(reason, detail=detail, findings=findings, verdict=verdict)
        self.told = denied if findings or verdict else Refused(reason, detail=detail)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a role's soul stands.

    Attributes:
        raw: The bytes in force, None where no file has them any more.
        page: SOUL.md as it was read, None if it is gone or ``shut``.
        shut: Why SOUL.md cannot be read.
        head: The chain's last line, as the state has it.
    """

    role: str
    chain: Chain
    history: History
    version: SoulVersion
    raw: bytes | None
    page: Page | None = None
    shut: str = ""
    head: SoulHead | None = None

    @property
    def text(self) -> str:
        """What is in force, empty for nothing."""
        return (self.raw or b"").decode(errors="replace")

    @property
    def by_hand(self) -> bool:
        """SOUL.md holds what no version has. Before the first version it is a note."""
        if self.page is None or not self.version.number:
            return bool(self.shut and self.version.number)
        known = {line.sha256 for line in self.history.versions.values()}
        return digest(self.page.raw) not in known | {self.version.sha256}


class SoulReader:
    """Every method blocks. Raises VaultWriteFailed for what cannot be read, and Stopped for a file
    that is not as the chain has it."""

    def __init__(self, files: SoulFiles, heads: SoulHeads) -> None:
        self._files = files
        self._heads = heads

    def standing(self, role: str) -> Standing:
        """Returns how it stands."""
        head, shut, page = self._head(role), "", None
        file = self._files.read(role, SOUL_CHAIN) or b""
        try:
            page = self._files.page(role)
        except VaultWriteFailed as error:
            shut = str(error)
        is_there = file or page or shut or self._files.names(role, VERSIONS)
        known = head if is_there else None  # all is gone, not the chain's end alone: begun anew
        chain = read_chain(file, role, known)
        history = History(chain.lines)
        if wrong := history.broken:
            chain = Chain(chain.lines[: wrong - 1], broken=wrong, why="event")
        number, sha256 = history.in_force, history.sha256
        if known and (chain.broken or chain.newer):  # else a cut tail would undo a veto
            number, sha256 = known.version, known.in_force
        raw = self._bytes(role, number, sha256)
        if raw is None and page is not None and digest(page.raw) == sha256:
            raw = page.raw
        version = SoulVersion(number, sha256, NO_TIME)
        if (line := history.versions.get(number)) is not None:
            version = history.version(number)
            if raw is None and not chain.broken:
                chain = replace(chain, broken=line.n, why=version_name(number))
        return Standing(role, chain, history, version, raw, page, shut, head)

    def _head(self, role: str) -> SoulHead | None:
        try:
            return self._heads.get(role)
        except StateUnavailable as error:
            logger.warning("soul_head_unread", role=role, error=error)
            return None

    def _bytes(self, role: str, number: int, sha256: str) -> bytes | None:
        """A version's, if they have this hash."""
        raw = self._files.read(role, version_name(number)) if number else None
        return raw if raw is not None and digest(raw) == sha256 else None

    def text(self, standing: Standing, number: int) -> bytes:
        """Returns the bytes of a version that the chain names."""
        if (line := standing.history.versions.get(number)) is None:
            raise Stopped("no_such")
        raw = self._bytes(standing.role, number, line.sha256)
        return raw if raw is not None else _refuse(line)

    def proposal(self, standing: Standing, number: int) -> SoulProposal:
        """Returns a proposal that the chain names."""
        raw = self._files.read(standing.role, proposal_name(number)) or b""
        line, found = standing.history.proposed.get(number), proposal_of(raw)
        if found is None or found.number != number or (line and digest(raw) != line.sha256):
            raise Stopped("broken", str(line.n)) if line else Stopped("no_such")
        return found

    def verdict(self, standing: Standing, number: int) -> SoulEvaluation | None:
        """Returns the newest verdict on a proposal, None if there was none."""
        line = standing.history.verdicts.get(number)
        if line is None:
            return None
        raw = self._files.read(standing.role, verdict_name(line.eval)) or b""
        found = verdict_of(raw)
        return found if found and digest(raw) == line.sha256 else _refuse(line)

    def kept(self, standing: Standing, text: str) -> SoulProposal | None:
        """Returns the proposal that holds what a person has written over the version in force."""
        wanted = ("hand", standing.version.number, text)
        for name in self._files.names(standing.role, PROPOSALS):
            stem = name.removesuffix(".md")
            number = int(stem) if stem.isdecimal() else 0
            with contextlib.suppress(Stopped, VaultWriteFailed):  # no proposal, or a link
                found = self.proposal(standing, number)
                if (found.origin, found.base, found.text) == wanted:
                    return found
        return None

    def recent_rules(self, standing: Standing, since: datetime) -> frozenset[str]:
        """Returns the rules that came into force after that time."""
        versions = standing.history.versions
        before = [number for number, line in versions.items() if line.at <= since]
        base = max(before, default=min(versions, default=0))
        if not base:
            return frozenset()
        former = self.text(standing, base).decode(errors="replace")
        return frozenset(rules_of(standing.text)) - frozenset(rules_of(former))

    # What is asked

    def answer(
        self, request: SoulRequest, standing: Standing
    ) -> SoulView | SoulText | SoulLog | SoulVerified:
        """Returns what somebody asks to see."""
        match request.action:
            case "diff":
                return self._diff(standing, request.number)
            case "log":
                return SoulLog(standing.chain.lines[::-1], standing.chain.broken)
            case "verify":
                return self._verify(standing)
        return self.view(standing)

    def view(self, standing: Standing) -> SoulView:
        """Returns what is in force, what waits, and what is wrong."""
        number = standing.history.open
        line = standing.history.versions.get(standing.version.number)
        view = SoulView(
            standing.role,
            standing.version,
            standing.text,
            rules_of(standing.text),
            by_hand=standing.by_hand,
            by_night=line is not None and line.actor == REFLECTION,
            broken=standing.chain.broken,
            newer=standing.chain.newer,
        )
        if not number:
            return view
        state = standing.history.states[number]
        try:
            proposal = self.proposal(standing, number)
            self.verdict(standing, number)
        except Stopped as error:
            return replace(view, broken=int(error.told.detail))
        return replace(view, open=proposal, state=state)

    def _diff(self, standing: Standing, number: int) -> SoulText:
        """With 0 of the open proposal, else of what a person has written."""
        number = number or standing.history.open
        if number in standing.history.states:
            proposal = self.proposal(standing, number)
            raw, new = self.text(standing, proposal.base), proposal.text
        elif not number and standing.by_hand and standing.page is not None:
            raw, new = standing.raw or b"", standing.page.raw.decode(errors="replace")
        else:
            raise Stopped("no_such" if number else "nothing_waits")
        old = raw.decode(errors="replace").splitlines()
        lines = difflib.unified_diff(old, new.splitlines(), n=1, lineterm="")
        return SoulText(tuple(lines)[2:])

    def _verify(self, standing: Standing) -> SoulVerified:
        role = standing.role
        chain, page = standing.chain, standing.page
        if chain.newer:
            raise Stopped("newer")
        for line in chain.lines:
            if (name := _file_of(line)) and self._hash(role, name) != line.sha256:
                return SoulVerified(line.n, name, len(chain.lines))
        if chain.broken or not chain.lines:
            return SoulVerified(chain.broken, chain.why, len(chain.lines))
        is_same = page is not None and digest(page.raw) == standing.history.sha256
        return SoulVerified(0, "" if is_same else SOUL_PAGE, len(chain.lines))

    def _hash(self, role: str, name: str) -> str:
        try:
            return digest(self._files.read(role, name) or b"")
        except VaultWriteFailed:  # a link, say
            return ""


def or_refused[R](work: Callable[[], R]) -> R | Refused:
    """Returns what the work returns, or in words what stopped it."""
    try:
        return work()
    except Stopped as error:
        return error.told
    except VaultWriteFailed as error:
        return Refused("not_written", detail=str(error))
    except UnicodeEncodeError:
        return SoulDenied("denied", findings=(NOT_TEXT,))


def _file_of(line: SoulLine) -> str:
    """The file whose hash the line has, empty for none."""
    if line.event == "proposed":
        return proposal_name(line.proposal)
    if line.eval:
        return verdict_name(line.eval)
    return version_name(line.version) if line.version else ""


def _refuse(line: SoulLine) -> NoReturn:
    raise Stopped("broken", str(line.n))
