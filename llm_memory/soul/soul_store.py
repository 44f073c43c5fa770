"""One role's soul on the disk: read, begun, mended, and changed in an order that a kill cannot mix.

A version's file comes first, then the chain's line, then SOUL.md, then the head in the state. What
the chain names last is in force: what behind it was cut off is made good at the next look.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TypedDict, Unpack

from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.shelf import SOUL_FOLDER
from ..models.soul import (
    EVALUATION,
    OWNER,
    SEEDED_BY,
    SoulDraft,
    SoulEvaluation,
    SoulEvent,
    SoulLine,
    SoulProposal,
)
from ..models.soul_requests import SoulFault
from ..runtime.identifiers import Clock
from ..storage.files import ABSENT, ChangedMeanwhile
from ..storage.soul_heads import SoulHead, SoulHeads
from .chain import Chain, digest, written
from .rules.history import History
from .rules.proposal_file import one_line, proposal_bytes
from .rules.verdict_file import verdict_bytes
from .soul_files import DISCARDED, VERSIONS, SoulFiles
from .soul_reader import Refused, SoulReader, Standing, proposal_name, verdict_name, version_name


class LineFields(TypedDict, total=False):
    """What a line of the chain has beside who, when and what; see SoulLine."""

    proposal: int
    version: int
    source: int
    sha256: str
    eval: str


class SoulStore:
    """Every method blocks, one call a role at a time. Raises VaultWriteFailed for the disk, and
    Refused."""

    def __init__(self, files: SoulFiles, heads: SoulHeads, clock: Clock, seed: bytes) -> None:
        """``seed`` is the first version where there is nothing."""
        self._files = files
        self._heads = heads
        self._clock = clock
        self._seed = seed
        self._reader = SoulReader(files, heads)

    # How it stands

    def look(self, role: str) -> Standing:
        """Returns how it stands, after it was begun or mended where it had to be."""
        standing = self._reader.standing(role)
        chain = standing.chain
        if chain.broken or chain.newer:
            return standing
        if chain.torn:
            standing = self._set_aside(standing)
        return self._mend(standing) if chain.lines else self._begin(standing)

    def _set_aside(self, standing: Standing) -> Standing:
        """Keep a line that was cut off, and leave the chain as it was before."""
        role, chain = standing.role, standing.chain
        try:
            kept = self._keep(role, f"chain-{len(chain.lines) + 1}.torn", chain.torn)
            self._files.cut_chain(role, chain.torn)
        except VaultWriteFailed as error:
            logger.warning("人格“{}”变更链的最后一行没写完，还留着：{}", role, error)
            return standing
        logger.warning("人格“{}”变更链的最后一行没写完，已放到 {}", role, kept)
        return replace(standing, chain=replace(chain, torn=b""))

    def _begin(self, standing: Standing) -> Standing:
        """Make the first version: of what a person has written, else the seed."""
        try:
            self._heads.require_durable()
        except StateUnavailable as error:
            raise Refused(SoulFault.NOT_WRITTEN, str(error)) from error
        if standing.shut:
            raise Refused(SoulFault.NOT_WRITTEN, standing.shut)
        role, page = standing.role, standing.page
        versions = [f"{VERSIONS}/{name}" for name in self._files.names(role, VERSIONS)]
        first = version_name(1)
        was_begun = versions == [first] and self._files.read(role, first) == self._seed
        if page is None and versions and not was_begun:
            return replace(standing, chain=Chain(broken=1, why="missing"))
        if standing.head:
            logger.warning("人格“{}”的变更链（{} 行）整个不见了，重新开始", role, standing.head.n)
        raw, actor = (self._seed, SEEDED_BY) if page is None else (page.raw, OWNER)
        return self.put(standing, SoulEvent.SEEDED, raw, actor)

    def _mend(self, standing: Standing) -> Standing:
        """Bring SOUL.md and the head to where the chain is."""
        role, raw, page = standing.role, standing.raw, standing.page
        is_done = standing.head is not None and standing.head.n >= len(standing.chain.lines)
        if raw is None or standing.by_hand or (page is not None and page.raw == raw):
            return standing if is_done else self._land(standing, None)
        try:
            if not is_done:  # a change that was cut off comes to its end
                return self._land(standing, self._files.stage(role, raw))
            logger.warning("人格“{}”的 SOUL.md 不见了，或者被旧版盖住了，已放回", role)
            if standing.chain.lines[-1].event is SoulEvent.RESTORED:
                # Noted once, not each time that another program puts the old file back.
                return self._land(standing, self._files.stage(role, raw))
            version = standing.version
            fields = LineFields(version=version.number, sha256=version.sha256)
            return self.write(standing, SoulEvent.RESTORED, OWNER, raw, **fields)
        except VaultWriteFailed as error:
            logger.warning("人格“{}”的 SOUL.md 没能放回：{}", role, error)
            return standing

    # What changes it

    def put(
        self,
        standing: Standing,
        event: SoulEvent,
        raw: bytes,
        actor: str,
        *,
        proposal: int = 0,
        source: int = 0,
    ) -> Standing:
        """Put a text in force as a new version. What a person has written into SOUL.md stays
        there."""
        page = standing.page
        stays = standing.by_hand or (page is not None and page.raw == raw)
        number = self._add_version(standing.role, standing.history.in_force + 1, raw)
        fields = LineFields(proposal=proposal, version=number, source=source, sha256=digest(raw))
        changed = self.write(standing, event, actor, None if stays else raw, **fields)
        return replace(changed, version=changed.history.version(number), raw=raw)

    def discard(self, standing: Standing, actor: str) -> tuple[Standing, str]:
        """Put the version in force over what a person has written. Returns where that is kept."""
        if not standing.by_hand:
            raise Refused(SoulFault.NOTHING_BY_HAND)
        if standing.page is None:
            raise Refused(SoulFault.PAGE_SHUT, standing.shut)
        kept = self._keep(standing.role, f"{self._clock():%Y-%m-%d}.md", standing.page.raw)
        fields = LineFields(sha256=digest(standing.page.raw))
        return self.write(standing, SoulEvent.DISCARDED, actor, standing.raw, **fields), kept

    def propose(self, standing: Standing, draft: SoulDraft, author: str) -> SoulProposal:
        """Write a proposal, and its line. Raises UnicodeEncodeError."""
        made = self.add_proposal(standing, draft, author)
        sha256 = digest(proposal_bytes(made))
        fields = LineFields(proposal=made.number, version=made.base, sha256=sha256)
        self.write(standing, SoulEvent.PROPOSED, made.author, **fields)
        return made

    def add_proposal(self, standing: Standing, draft: SoulDraft, author: str) -> SoulProposal:
        """Write a proposal's file, of which the chain knows nothing yet. Raises
        UnicodeEncodeError."""
        proposal = SoulProposal(
            max(standing.history.states, default=0) + 1,
            draft.base,
            standing.version.sha256,
            one_line(author),
            draft.origin,
            one_line(draft.aim),
            one_line(draft.reason),
            draft.text,
            self._now(),
        )
        while not self._files.add(
            standing.role, proposal_name(proposal.number), proposal_bytes(proposal)
        ):
            proposal = replace(proposal, number=proposal.number + 1)
        return proposal

    def judge(self, standing: Standing, verdict: SoulEvaluation) -> Standing:
        """Write a verdict, and its line. Raises Refused, then, for one that does not pass."""
        raw = verdict_bytes(verdict)
        names = (f"{verdict.proposal:04d}-{time}" for time in itertools.count(1))
        name = next(one for one in names if self._files.add(standing.role, verdict_name(one), raw))
        event = SoulEvent.APPROVED if verdict.passed is True else SoulEvent.DENIED
        fields = LineFields(proposal=verdict.proposal, sha256=digest(raw), eval=name)
        judged = self.write(standing, event, EVALUATION, **fields)
        if verdict.passed is not True:
            raise Refused(SoulFault.DENIED, verdict=verdict)
        return judged

    def _keep(self, role: str, name: str, raw: bytes) -> str:
        """Keep bytes in ``discarded/``. Returns the path below the memory root."""
        path = PurePosixPath(DISCARDED, name)
        for time in itertools.count(1):
            kept = str(path.with_stem(f"{path.stem}-{time}") if time > 1 else path)
            if self._files.add(role, kept, raw) or self._files.read(role, kept) == raw:
                return f"{SOUL_FOLDER}/{role}/{kept}"
        raise AssertionError("there is always a free name")

    def _add_version(self, role: str, number: int, raw: bytes) -> int:
        """Returns the number under which the bytes lie. A file that a kill has left without a line
        is taken, if it has these bytes; else it stays, and its number with it."""
        while not (
            self._files.add(role, version_name(number), raw)
            or self._files.read(role, version_name(number)) == raw
        ):
            number += 1
        return number

    def write(
        self,
        standing: Standing,
        event: SoulEvent,
        actor: str,
        page: bytes | None = None,
        **fields: Unpack[LineFields],
    ) -> Standing:
        """Add a line to the chain: from here on it is so. Then SOUL.md is written, if there is a
        ``page``; what fails of that is done at the next look."""
        role, chain = standing.role, standing.chain
        staged = None if page is None else self._files.stage(role, page)
        now, number = self._now(), len(chain.lines) + 1
        line = SoulLine(number, now, role, event, actor, chain.end, **fields)
        try:
            self._files.append(role, written(line))
        except VaultWriteFailed:
            if staged:
                self._files.drop(staged)
            raise
        lines = (*chain.lines, line)
        chain = Chain(lines, digest(written(line)))
        return self._land(replace(standing, chain=chain, history=History(lines)), staged)

    def _land(self, standing: Standing, staged: Path | None) -> Standing:
        """Put SOUL.md and the head where the chain is."""
        role, page = standing.role, standing.page
        try:
            if staged:
                with contextlib.suppress(ChangedMeanwhile):  # a person has saved: that stays
                    self._files.put_page(role, staged, page.stamp if page else ABSENT)
                standing = replace(standing, page=self._files.page(role))
        except VaultWriteFailed as error:
            logger.warning("人格“{}”的 SOUL.md 没能写：{}", role, error)
            return standing
        chain, history = standing.chain, standing.history
        head = SoulHead(len(chain.lines), chain.end, history.in_force, history.sha256)
        try:
            self._heads.put(role, head)
        except StateUnavailable as error:
            logger.warning("记不下人格“{}”变更链的末尾：{}", role, error)
        return standing

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)
