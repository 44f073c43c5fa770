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
from ..models.scope import SOUL_FOLDER
from ..models.soul import (
    EVALUATION,
    OWNER,
    PLUGIN,
    SEEDED_BY,
    SoulChanged,
    SoulDraft,
    SoulEvaluation,
    SoulEvent,
    SoulLine,
    SoulProposal,
)
from ..runtime.identifiers import Clock
from ..storage.files import ABSENT, ChangedMeanwhile
from ..storage.soul_heads import SoulHead, SoulHeads
from .chain import Chain, digest, written
from .rules.history import History
from .rules.proposal_file import one_line, proposal_bytes
from .rules.verdict_file import verdict_bytes
from .soul_files import DISCARDED, VERSIONS, SoulFiles, proposal_name, verdict_name, version_name
from .soul_reader import SoulReader, Standing, Stopped


class LineFields(TypedDict, total=False):
    """What a line of the chain has beside who, when and what; see SoulLine."""

    proposal: int
    version: int
    source: int
    sha256: str
    eval: str


class SoulStore(SoulReader):
    """Changes what it reads. Every method blocks, one call a role at a time. Raises
    VaultWriteFailed for the disk, and Stopped."""

    def __init__(self, files: SoulFiles, heads: SoulHeads, clock: Clock, seed: bytes) -> None:
        """``seed`` is the first version where there is nothing."""
        super().__init__(files, heads)
        self._clock = clock
        self._seed = seed

    # How it stands

    def look(self, role: str) -> Standing:
        """Returns how it stands, after it was begun or mended where it had to be."""
        standing = self.standing(role)
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
            kept = self.put_aside(role, f"chain-{len(chain.lines) + 1}.torn", chain.torn)
            self._files.cut_chain(role, chain.torn)
        except VaultWriteFailed as error:
            logger.warning("soul_torn_stays", role=role, error=error)
            return standing
        logger.warning("soul_torn", role=role, kept=kept)
        return replace(standing, chain=replace(chain, torn=b""))

    def _begin(self, standing: Standing) -> Standing:
        """Make the first version: of what a person has written, else the seed."""
        try:
            self._heads.require_durable()
        except StateUnavailable as error:
            raise Stopped("not_written", str(error)) from error
        if standing.shut:
            raise Stopped("not_written", standing.shut)
        role, page = standing.role, standing.page
        versions = [f"{VERSIONS}/{name}" for name in self._files.names(role, VERSIONS)]
        first = version_name(1)
        was_begun = versions == [first] and self._files.read(role, first) == self._seed
        if page is None and versions and not was_begun:
            return replace(standing, chain=Chain(broken=1, why="missing"))
        if standing.head:
            logger.warning("soul_chain_gone", role=role, lines=standing.head.n)
        raw, actor = (self._seed, SEEDED_BY) if page is None else (page.raw, OWNER)
        self.put(standing, "seeded", raw, actor)
        return self.standing(role)

    def _mend(self, standing: Standing) -> Standing:
        """Bring SOUL.md and the head to where the chain is."""
        role, raw, page = standing.role, standing.raw, standing.page
        is_done = standing.head is not None and standing.head.n >= len(standing.chain.lines)
        if raw is None or standing.by_hand or (page is not None and page.raw == raw):
            return standing if is_done else self._land(standing, None)
        if is_done:
            logger.warning("soul_restored", role=role)
        try:
            # Noted once, not each time that another program puts the old file back; and not where
            # a change that was cut off comes to its end.
            if is_done and standing.chain.lines[-1].event != "restored":
                number, sha256 = standing.version.number, standing.version.sha256
                fields = LineFields(version=number, sha256=sha256)
                return self.write(standing, "restored", PLUGIN, raw, **fields)
            return self._land(standing, self._files.stage(role, raw))
        except VaultWriteFailed as error:
            logger.warning("soul_not_restored", role=role, error=error)
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
    ) -> SoulChanged:
        """Put a text in force as a new version. What a person has written into SOUL.md stays
        there."""
        page, role = standing.page, standing.role
        stays = standing.by_hand or (page is not None and page.raw == raw)
        # A file that a kill has left without a line is taken if it has these bytes; else it stays,
        # and its number with it.
        free = itertools.count(standing.history.in_force + 1)
        number = next(one for one in free if self._files.add(role, version_name(one), raw))
        fields = LineFields(proposal=proposal, version=number, source=source, sha256=digest(raw))
        changed = self.write(standing, event, actor, None if stays else raw, **fields)
        text = raw.decode(errors="replace")
        return SoulChanged(event, changed.history.version(number), text, standing.text)

    def propose(self, standing: Standing, draft: SoulDraft, author: str) -> SoulProposal:
        """Write a proposal, and its line; a hand edit has none before its verdict. Raises
        UnicodeEncodeError."""
        role, base = standing.role, standing.version.sha256
        number = max(standing.history.states, default=0) + 1
        who, aim = one_line(author), one_line(draft.aim)
        made = SoulProposal(
            draft.base, draft.origin, draft.text, aim, number, base, who, self._now()
        )
        while not self._files.add(role, proposal_name(made.number), proposal_bytes(made)):
            made = replace(made, number=made.number + 1)
        if made.origin != "hand":
            sha256 = digest(proposal_bytes(made))
            fields = LineFields(proposal=made.number, version=made.base, sha256=sha256)
            self.write(standing, "proposed", made.author, **fields)
        return made

    def judge(self, standing: Standing, verdict: SoulEvaluation) -> Standing:
        """Write a verdict, and its line. Raises Stopped, then, for one that does not pass."""
        raw = verdict_bytes(verdict)
        names = (f"{verdict.proposal:04d}-{time}" for time in itertools.count(1))
        name = next(one for one in names if self._files.add(standing.role, verdict_name(one), raw))
        event: SoulEvent = "approved" if verdict.passed is True else "denied"
        fields = LineFields(proposal=verdict.proposal, sha256=digest(raw), eval=name)
        judged = self.write(standing, event, EVALUATION, **fields)
        if verdict.passed is not True:
            raise Stopped("denied", verdict=verdict)
        return judged

    def put_aside(self, role: str, name: str, raw: bytes) -> str:
        """Keep bytes in ``discarded/``. Returns the path below the memory root."""
        path = PurePosixPath(DISCARDED, name)
        others = (path.with_stem(f"{path.stem}-{time}") for time in itertools.count(2))
        names = map(str, itertools.chain([path], others))
        kept = next(one for one in names if self._files.add(role, one, raw))
        return f"{SOUL_FOLDER}/{role}/{kept}"

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
            logger.warning("soul_not_written", role=role, error=error)
            return standing
        chain, history = standing.chain, standing.history
        head = SoulHead(len(chain.lines), chain.end, history.in_force, history.sha256)
        try:
            self._heads.put(role, head)
        except StateUnavailable as error:
            logger.warning("soul_head_not_kept", role=role, error=error)
        return standing

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)
