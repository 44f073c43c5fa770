"""A soul's governance over a folder, with a judge that says what a test tells it to."""

from __future__ import annotations

import hashlib
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    Both,
    Finding,
    SoulDraft,
    SoulEvaluation,
    SoulEvolution,
    SoulOutcome,
    SoulProposal,
    SoulProposed,
    SoulRequest,
    SoulView,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.governance import Governance
from astrbot_plugin_scoped_memory.llm_memory.soul.governance import Judge as AnyJudge
from astrbot_plugin_scoped_memory.llm_memory.soul.soul_files import SoulFiles
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHeads
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

CAT, DOG = "猫娘", "%none"
ADMIN = person(9, "站长", admin=True)
SEED = "# SOUL\n\n## 语气\n\n## 长短\n".encode()
RULED = "# SOUL\n\n## 语气\n\n- 说话温和一点。\n\n## 长短\n"


class Judge:
    """Passes what ``passes`` says. ``asked`` holds what it was asked."""

    def __init__(self) -> None:
        self.passes: bool | str = True
        self.model = "m"
        self.asked: list[tuple[SoulProposal, str]] = []

    async def __call__(self, proposal: SoulProposal, old: str) -> SoulEvaluation | str:
        self.asked.append((proposal, old))
        if isinstance(self.passes, str):
            return self.passes
        findings = () if self.passes else (Finding("drift", Both("变得太多", "too much"), (3,)),)
        return SoulEvaluation(0, self.passes, findings, model=self.model, calls=2, tokens=70)


class Hands(Governance):
    """What an admin decides, as a test says it."""

    async def veto(self, role: str, number: int, actor: Actor) -> SoulOutcome:
        return await self.change(SoulRequest("veto", number), role, actor, Judge())

    async def rollback(self, role: str, version: int, actor: Actor) -> SoulOutcome:
        return await self.change(SoulRequest("undo", version), role, actor, Judge())

    async def adopt(self, role: str, actor: Actor, judge: AnyJudge) -> SoulOutcome:
        return await self.change(SoulRequest("adopt"), role, actor, judge)

    async def discard(self, role: str, actor: Actor) -> SoulOutcome:
        return await self.change(SoulRequest("discard"), role, actor, Judge())


class Souls:
    """``gov`` over the folders below a root; ``restart`` makes a new one over the same."""

    def __init__(
        self,
        root: Path,
        *,
        evolution: SoulEvolution = SoulEvolution.REVIEW,
        clock: StandingClock | None = None,
    ) -> None:
        self.root = root / "memory"
        self.root.mkdir(parents=True, exist_ok=True)
        self.clock = clock or StandingClock()
        self.judge = Judge()
        self._evolution = evolution
        self.state = SqliteStateStore(root / "state" / "state.sqlite")
        self.restart()

    def restart(self) -> None:
        """As a process does that begins over these files."""
        self.state.close()
        self.state.open()
        self.gov = Hands(
            SoulFiles(self.root),
            SoulHeads(self.state),
            self.clock,
            seed=SEED,
            evolution=self._evolution,
        )

    def page(self, role: str = CAT) -> Path:
        """SOUL.md."""
        return self.root / "roles" / role / "SOUL.md"

    def chain(self, role: str = CAT) -> Path:
        return self.folder(role) / "chain.jsonl"

    def folder(self, role: str = CAT) -> Path:
        return self.root / "soul" / role

    def versions(self, role: str = CAT) -> list[bytes]:
        """The bytes of all of them, by number."""
        return [path.read_bytes() for path in sorted((self.folder(role) / "versions").iterdir())]

    def tree(self, role: str) -> dict[str, tuple[str, int]]:
        """Each file of a role: its hash, and when it was written."""
        tops = (self.root / "roles" / role, self.folder(role))
        return {
            path.relative_to(self.root).as_posix(): (
                hashlib.sha256(path.read_bytes()).hexdigest(),
                path.stat().st_mtime_ns,
            )
            for top in tops
            for path in top.rglob("*")
            if path.is_file()
        }

    async def view(self, role: str = CAT) -> SoulView:
        found = await self.gov.settle(role)
        assert isinstance(found, SoulView), found
        return found

    async def wish(self, text: str, role: str = CAT) -> int:
        """Propose this text. Returns the proposal's number."""
        base = (await self.view(role)).version.number
        draft = SoulDraft(base, "wish", text, "更温和")
        made = await self.gov.propose(role, draft, ADMIN)
        assert isinstance(made, SoulProposed), made
        return made.proposal.number

    async def applied(self, text: str, role: str = CAT) -> int:
        """Propose and apply this text, on another day. Returns the proposal's number."""
        self.clock.forward(days=1)
        number = await self.wish(text, role)
        await self.gov.apply(role, number, ADMIN, self.judge)
        assert (await self.view(role)).text == text
        return number


async def live(souls: Souls) -> None:
    """Have everything happen once that a chain can tell of."""
    gov, judge = souls.gov, souls.judge
    first = await souls.applied(RULED)
    await souls.applied(RULED.replace("温和", "直接"))
    judge.passes = False
    await gov.evaluate(CAT, await souls.wish("# SOUL\n"), judge)
    judge.passes = True
    await gov.rollback(CAT, 0, ADMIN)
    await gov.veto(CAT, first, ADMIN)
    souls.page().write_text("手写的", "utf-8")
    await gov.adopt(CAT, ADMIN, judge)
    souls.page().write_text("又写的", "utf-8")
    await gov.discard(CAT, ADMIN)
    souls.page().unlink()
    await souls.view()
