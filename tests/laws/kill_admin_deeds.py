"""Deeds of the kill table: decisions, notes of a role, and the manner of a persona."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    EnginePaths,
    MemoryDraft,
)
from astrbot_plugin_scoped_memory.llm_memory.models import decisions, soul
from astrbot_plugin_scoped_memory.llm_memory.models.roles import RoleLease, RoleNote
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
from astrbot_plugin_scoped_memory.tests.laws.kill_deed import (
    ADMIN,
    FAMILY,
    SQUARE,
    Deed,
    Opening,
    Tell,
    Window,
    opened,
)
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    Facts,
    id_of,
)
from astrbot_plugin_scoped_memory.tests.support import deciding
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    person,
    running,
)

WORDS, LATER = "检索面用 PostgreSQL", "年会订海边的民宿"


class Decides(Deed):
    """A proposal, or the record of it."""

    to: decisions.RecordFile | None = decisions.RecordFile.DECISIONS
    places = (FAMILY, SQUARE)

    async def before(self, rig: Rig) -> None:
        shared = rig.root / "memory" / "shared"
        shared.mkdir(parents=True)
        (shared / "DECISIONS.md").write_bytes("# 决定\r\n人写的，没有换行".encode())
        draft = MemoryDraft(WORDS, "连接池已经有了。", actor=person(10001), proposed=True)
        await rig.engine.service.remember(draft, conversation_id=FAMILY)

    async def decide(self, rig: Rig, change: decisions.DecisionChange) -> object:
        return await rig.engine.service.decide(change, conversation_id=FAMILY, actor=ADMIN)

    async def facts(self, rig: Rig) -> Facts:
        found = await self.decide(rig, deciding.ListDecisions(everything=True))
        assert isinstance(found, decisions.Decisions)
        listed = Counter((f"{one.state}", f"{one.number}", one.title) for one in found.items)
        text = (rig.root / "memory" / "shared" / "DECISIONS.md").read_bytes().decode()
        assert text.startswith("# 决定\r\n人写的，没有换行")
        lines = Counter(
            ("line", "shared", line) for line in text.split("\n") if line[:5] == "## D-"
        )
        return await super().facts(rig) + listed + lines


class AcceptDecision(Decides):
    async def act(self, rig: Rig, tell: Tell) -> None:
        await self.decide(rig, deciding.Accept(id_of(rig.root, WORDS), to=self.to, unseen=True))


class RejectDecision(Decides):
    async def act(self, rig: Rig, tell: Tell) -> None:
        await self.decide(rig, deciding.Reject(id_of(rig.root, WORDS)))


class WithdrawDecision(AcceptDecision):
    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await AcceptDecision.act(self, rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self.decide(rig, deciding.Withdraw(1, unseen=True))


class DecideHere(AcceptDecision):
    to = None


class SupersedeHere(DecideHere):
    """By a second one, which is marked first."""

    in_steps = True

    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await DecideHere.act(self, rig, lambda *_: None)
        draft = MemoryDraft(LATER, actor=person(10001), proposed=True)
        await rig.engine.service.remember(draft, conversation_id=FAMILY)

    async def act(self, rig: Rig, tell: Tell) -> None:
        change = deciding.Accept(id_of(rig.root, LATER), number=1, unseen=True)
        await self.decide(rig, change)


class WithdrawHere(WithdrawDecision):
    to = None


class NoteRole(Deed):
    places = (FAMILY, replace(FAMILY, persona="backend"))

    async def act(self, rig: Rig, tell: Tell) -> None:
        seat = RoleSeat(EnginePaths.under(rig.root).leases, "backend", rig.clock)
        lease = seat.take("cursor")
        assert isinstance(lease, RoleLease)
        note = RoleNote(lease, "连接池的上限定为 40，压测跑了三百个用例。", "cursor")
        where = replace(FAMILY, persona="backend")
        await rig.engine.service.note_role(note, conversation_id=where)
        seat.release()

    async def facts(self, rig: Rig) -> Facts:
        texts = [path.read_text("utf-8") for path in (rig.root / "memory/roles").rglob("2*.md")]
        count = sum(text.count("连接池的上限") for text in texts)
        return await super().facts(rig) + +Counter({("note", "backend", ""): count})


CAT = "猫娘"
SOFT, SHORT = "说话温和一点。", "少用表情符号。"
_DAY = datetime(2026, 11, 22, 9, tzinfo=UTC)


class Soul(Deed):
    """One change: the old text is in force then or the new one, in memory, in SOUL.md and in the
    chain. ``fresh``: the persona has learned nothing yet. ``waits``: another wish stands open
    before. ``by_hand``: SOUL.md holds a person's words, which are kept whatever becomes of them."""

    torn = True

    def __init__(
        self,
        name: str,
        request: soul.SoulRequest,
        *,
        fresh: bool = False,
        waits: bool = False,
        by_hand: bool = False,
    ) -> None:
        self._name = f"Soul{name}"
        self._request = request
        self._fresh = self.in_steps = fresh  # the first version is made before anything is asked
        self._waits = waits
        self._by_hand = by_hand

    @property
    def name(self) -> str:
        return self._name

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return running(root, follow=False, words=NoWords(), clock=Ticker(_DAY))

    async def prepare(self, root: Path) -> None:
        async with opened(root) as rig:
            if not self._fresh:
                await self.ask(rig, soul.SoulRequest("propose", wish=SOFT))
                await self.ask(rig, soul.SoulRequest("apply"))
            if self._waits:
                await self.ask(rig, soul.SoulRequest("propose", wish=SHORT))
        if self._by_hand:
            text = page_of(root).read_text("utf-8")
            page_of(root).write_text(text.replace(SOFT, f"{SOFT}\n- {SHORT}"), "utf-8")

    async def ask(self, rig: Rig, request: soul.SoulRequest) -> object:
        outcome = await rig.engine.service.souls.ask(request, CAT, ADMIN)
        assert not isinstance(outcome, soul.Refused), outcome
        return outcome

    async def act(self, rig: Rig, tell: Tell) -> None:
        before = await self.view(rig)
        if not self.is_done(before):
            await self.ask(rig, self._request)

    def is_done(self, view: soul.SoulView) -> bool:
        match self._request.action:
            case "propose":
                return view.open is not None
            case "apply":
                return view.open is None
            case "veto" | "undo":
                return not view.rules
        return not view.by_hand

    async def view(self, rig: Rig) -> soul.SoulView:
        view = await rig.engine.service.souls.ask(soul.SoulRequest("show"), CAT, ADMIN)
        assert isinstance(view, soul.SoulView), view
        return view

    async def facts(self, rig: Rig) -> Facts:
        view = await self.view(rig)
        verified = await rig.engine.service.souls.ask(soul.SoulRequest("verify"), CAT, ADMIN)
        assert isinstance(verified, soul.SoulVerified)
        path = page_of(rig.root)
        page = path.read_bytes() if path.exists() else b""
        assert (verified.line, verified.why) == (0, "SOUL.md" if view.by_hand else ""), verified
        assert view.by_hand or page == view.text.encode() or (self._fresh and not page)
        folder = rig.root / "memory" / "soul" / CAT
        kept = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        assert not self._by_hand or any(SHORT.encode() in one for one in (page, *kept))
        found: Facts = Counter({("by hand", CAT, ""): view.by_hand, ("rules", CAT, view.text): 1})
        found["open", CAT, view.open.text if view.open else ""] = 1
        found["injected", CAT, rig.engine.service.souls.injected(CAT)] = 1
        return await super().facts(rig) + found


class SoulMended(Soul, Opening):
    """SOUL.md is gone, or an editor saved an old buffer over it: the bot puts back what is in
    force."""

    def __init__(self, name: str, page: bytes | None) -> None:
        super().__init__(name, soul.SoulRequest("discard"))
        self._page = page

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        if self._page is None:
            page_of(root).unlink()
        else:
            page_of(root).write_bytes(self._page)

    async def act(self, rig: Rig, tell: Tell) -> None:
        pass

    async def play(self, root: Path, window: Window) -> tuple[Facts, Facts]:
        return await Opening.play(self, root, window)


def page_of(root: Path) -> Path:
    """SOUL.md."""
    return root / "memory" / "roles" / CAT / "SOUL.md"


ADMIN_DEEDS: list[Deed] = [
    AcceptDecision(),
    RejectDecision(),
    WithdrawDecision(),
    DecideHere(),
    SupersedeHere(),
    WithdrawHere(),
    NoteRole(),
    Soul("First", soul.SoulRequest("propose", wish=SHORT), fresh=True),
    Soul("Propose", soul.SoulRequest("propose", wish=SHORT)),
    Soul("Apply", soul.SoulRequest("apply"), waits=True),
    Soul("Veto", soul.SoulRequest("veto", 1)),
    Soul("Rollback", soul.SoulRequest("undo")),
    Soul("VetoByHand", soul.SoulRequest("veto", 1), by_hand=True),
    Soul("Adopt", soul.SoulRequest("adopt"), by_hand=True),
    Soul("Discard", soul.SoulRequest("discard"), by_hand=True),
    SoulMended("Gone", None),
]
