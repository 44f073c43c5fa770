"""Whatever admins, people with editors and the clock do, in any order and over restarts: the bytes
in force are those that a simple model expects, and what happens to one role touches no other."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulChanged,
    SoulDraft,
    SoulProposed,
    SoulRequest,
    SoulState,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, DOG, SEED, Souls

pytestmark = [pytest.mark.unit, pytest.mark.property]

TEXTS = ("# SOUL\n\n## 语气\n\n- 温和\n", "## 长短\n- 短\n", "- 少表情\r\n", SEED.decode())
"""Few, so that the same bytes come again."""
HANDS = (*(text.encode() for text in TEXTS), b"", b"\xff\xfe", "手写的\n".encode())
OPEN = ("proposed", "approved")


@dataclass
class Made:
    """A version that no rollback made."""

    number: int
    raw: bytes
    proposal: int = 0


type Stack = tuple[Made, ...]


class Role:
    """What one role's soul should be: a stack, whose top is in force. What is applied or adopted
    is laid on it, and a rollback takes off."""

    def __init__(self) -> None:
        self.stack: Stack = (Made(1, SEED),)
        self.number = 1
        self.stacks = {1: self.stack}
        """As it was when each version came into force."""
        self.page: bytes | None = SEED
        self.states: dict[int, SoulState] = {}
        self.texts: dict[int, str] = {}
        self.bases: dict[int, int] = {}
        self.vetoed: set[bytes] = set()
        self.applied = -1

    @property
    def raw(self) -> bytes:
        return self.stack[-1].raw

    @property
    def active(self) -> int:
        return self.stack[-1].proposal

    @property
    def open(self) -> int:
        waits = [n for n in self.bases if self.states[n] in OPEN and self.bases[n] == self.number]
        return max(waits, default=0)

    @property
    def by_hand(self) -> bool:
        return self.page is not None and self.page not in {
            one[-1].raw for one in self.stacks.values()
        }

    def settle(self) -> None:
        if not self.by_hand:
            self.page = self.raw

    def back(self, number: int = 0) -> Stack:
        """What a rollback leaves, empty if it is refused."""
        stack = self.stacks[number] if number else self.stack[:-1]
        while stack and not number and not self.fits(stack):
            stack = stack[:-1]
        return stack if stack and self.fits(stack) else ()

    def fits(self, stack: Stack) -> bool:
        raw = stack[-1].raw
        return raw != self.raw and (len(stack) == 1 or raw not in self.vetoed)

    def put(self, stack: Stack, number: int, leaves: SoulState) -> None:
        keep = self.by_hand
        if self.active:
            self.states[self.active] = leaves
        self.stack, self.number = stack, number
        self.stacks[number] = stack
        if self.active:
            self.states[self.active] = "active"
        if not keep or self.page == self.raw:
            self.page = self.raw


class Story:
    """Two roles that live on one disk, and the model of both."""

    def __init__(self, root: Path) -> None:
        self.souls = Souls(root)
        self.roles = {CAT: Role(), DOG: Role()}
        self.day = 0

    async def act(self, name: str, role: str, one: int, two: int) -> None:
        other = DOG if role == CAT else CAT
        before = self.souls.tree(other)
        if name.startswith("hand_"):
            self.hand(role, self.roles[role], one)
        elif name == "follow":
            await self.souls.gov.follow()
        else:
            self.roles[role].settle()
            await getattr(self, name)(role, self.roles[role], one, two)
        assert name == "follow" or self.souls.tree(other) == before

    def hand(self, role: str, model: Role, one: int) -> None:
        """A person saves the file, or removes it."""
        raw = HANDS[one % len(HANDS)] if one else None
        model.page = raw
        if raw is None:
            self.souls.page(role).unlink(missing_ok=True)
        else:
            self.souls.page(role).write_bytes(raw)

    async def tomorrow(self, *_: object) -> None:
        self.day += 1
        self.souls.clock.forward(days=1)

    async def restart(self, *_: object) -> None:
        self.souls.restart()
        await self.souls.gov.recover()

    async def propose(self, role: str, model: Role, one: int, _: int) -> None:
        text = TEXTS[one % len(TEXTS)]
        draft = SoulDraft(model.number, "wish", text, "目的")
        outcome = await self.souls.gov.propose(role, draft, ADMIN)
        if model.open:
            assert outcome == Refused("open_proposal", detail=str(model.open))
        elif text == model.raw.decode(errors="replace"):
            assert outcome == Refused("same")
        else:
            assert isinstance(outcome, SoulProposed)
            number = outcome.proposal.number
            assert number not in model.states
            model.states[number] = "proposed"
            model.texts[number], model.bases[number] = text, model.number

    async def evolves(self, role: str, model: Role, one: int, _: int) -> None:
        """As a rule: a day later what is proposed passes."""
        await self.tomorrow()
        await self.propose(role, model, one, 0)
        model.settle()
        await self.apply(role, model, 1, 1)

    def pick(self, model: Role, one: int) -> int:
        """Mostly the proposal that waits, or the one in force."""
        first, second = (model.open, model.active) if one % 2 else (model.active, model.open)
        return (first or second or 99) if one < 6 else [99, *model.states][-(one % 5) :][0]

    def waits(self, model: Role, number: int) -> str | None:
        """Why it does not."""
        state = model.states.get(number)
        if state == "denied":
            return "denied"
        if number not in model.bases or state not in OPEN:
            return "no_such"
        return None if model.bases[number] == model.number else "stale"

    def judged(self, model: Role, number: int, passes: bool) -> str | None:
        if model.states[number] == "proposed":
            model.states[number] = "approved" if passes else "denied"
        return None if model.states[number] == "approved" else "denied"

    async def evaluate(self, role: str, model: Role, one: int, two: int) -> None:
        number, self.souls.judge.passes = self.pick(model, one), two % 3 > 0
        outcome = await self.souls.gov.evaluate(role, number, self.souls.judge)
        fault = self.waits(model, number) or self.judged(model, number, two % 3 > 0)
        self.check(outcome, fault)

    async def apply(self, role: str, model: Role, one: int, two: int) -> None:
        number, self.souls.judge.passes = self.pick(model, one), two % 3 > 0
        outcome = await self.souls.gov.apply(role, number, ADMIN, self.souls.judge)
        fault = self.waits(model, number)
        if fault is None and model.by_hand:
            fault = "conflict"
        if fault is None and model.applied == self.day:
            fault = "once_a_day"
        fault = fault or self.judged(model, number, two % 3 > 0)
        self.check(outcome, fault)
        if isinstance(outcome, SoulChanged):
            model.applied = self.day
            made = Made(outcome.version.number, model.texts[number].encode(), number)
            self.changed(model, outcome, (*model.stack, made), "superseded")

    def check(self, outcome: object, fault: str | None) -> None:
        assert isinstance(outcome, Refused) is (fault is not None), (outcome, fault)
        if isinstance(outcome, Refused):
            assert outcome.reason is fault

    def changed(self, model: Role, outcome: SoulChanged, stack: Stack, leaves: SoulState) -> None:
        assert outcome.version.number > model.number
        assert outcome.before == model.raw.decode(errors="replace")
        model.put(stack, outcome.version.number, leaves)
        assert outcome.text == model.raw.decode(errors="replace")

    async def veto(self, role: str, model: Role, one: int, _: int) -> None:
        number = self.pick(model, one)
        outcome = await self.souls.gov.veto(role, number, ADMIN)
        if model.states.get(number) == "active":
            assert isinstance(outcome, SoulChanged)
            below = model.back() or model.stack[:1]
            model.vetoed.add(model.raw)
            self.changed(model, outcome, below, "vetoed")
        elif model.states.get(number) in OPEN:
            assert isinstance(outcome, SoulChanged)
            assert (outcome.proposal, outcome.text) == (number, outcome.before)
            model.states[number] = "vetoed"
        else:
            self.check(outcome, "no_such")

    async def rollback(self, role: str, model: Role, one: int, _: int) -> None:
        version = 0 if one < 6 else [*model.stacks, 99][-(one % 5) :][0]
        outcome = await self.souls.gov.rollback(role, version, ADMIN)
        if version == 99:
            return self.check(outcome, "no_such")
        below = model.back(version)
        self.check(outcome, None if below else "no_target")
        if isinstance(outcome, SoulChanged):
            self.changed(model, outcome, below, "rolled_back")
        return None

    async def adopt(self, role: str, model: Role, _: int, two: int) -> None:
        passes = self.souls.judge.passes = two % 3 > 0
        outcome = await self.souls.gov.adopt(role, ADMIN, self.souls.judge)
        if not model.by_hand:
            self.check(outcome, "nothing_by_hand")
        elif not passes or model.page == b"\xff\xfe":
            self.check(outcome, "denied")
            assert isinstance(outcome, Refused)
            if outcome.verdict:
                model.states[outcome.verdict.proposal] = "denied"
        else:
            assert isinstance(outcome, SoulChanged)
            assert model.page is not None
            made = Made(outcome.version.number, model.page, outcome.version.proposal)
            self.changed(model, outcome, (*model.stack, made), "superseded")

    async def discard(self, role: str, model: Role, *_: int) -> None:
        outcome = await self.souls.gov.discard(role, ADMIN)
        if not model.by_hand:
            return self.check(outcome, "nothing_by_hand")
        assert isinstance(outcome, SoulChanged)
        assert (self.souls.root / outcome.kept).read_bytes() == model.page
        model.page = model.raw
        return None

    async def look(self) -> None:
        """What is in force, in memory and in the files, is what the model says."""
        for role, model in self.roles.items():
            model.settle()
            view = await self.souls.view(role)
            text = model.raw.decode(errors="replace")
            assert (view.text, view.version.number) == (text, model.number)
            assert self.souls.gov.in_force(role) == text
            assert (view.open.number if view.open else 0) == model.open
            assert view.by_hand is model.by_hand
            page = self.souls.page(role)
            assert page.read_bytes() == model.page
            # Never rewritten: each version's file has its bytes.
            written = self.souls.folder(role) / "versions"
            for number, stack in model.stacks.items():
                assert (written / f"{number:04d}.md").read_bytes() == stack[-1].raw
            found = await self.souls.gov.read(SoulRequest("verify"), role, ADMIN)
            assert isinstance(found, SoulVerified)
            assert (found.line, found.why) == (0, "SOUL.md" if model.by_hand else "")


acts = [
    "propose",
    "evaluate",
    "apply",
    "evolves",
    "evolves",
    "evolves",
    "veto",
    "rollback",
    "rollback",
    "adopt",
    "discard",
    "hand_saves",
    "follow",
    "tomorrow",
    "restart",
]
steps = st.tuples(
    st.sampled_from(acts), st.sampled_from((CAT, CAT, DOG)), st.integers(0, 9), st.integers(0, 9)
)


def walk(*names: str) -> list[tuple[str, str, int, int]]:
    """Steps of one role; ``name 7`` has that number, for what it is about."""
    parts = (name.partition(" ") for name in names)
    return [(name, CAT, int(number or 0), 1) for name, _, number in parts]


@example(walk("evolves 0", "evolves 1", "rollback", "rollback", "rollback", "rollback 9"))
@example(walk("evolves 0", "rollback", "evolves 1", "rollback", "rollback"))
@example(walk("evolves 0", "veto", "evolves 1", "rollback", "rollback"))
# A vetoed text is no target, under any number that it has had, and is passed over.
@example(walk("evolves 0", "evolves 1", "rollback", "veto", "rollback 8", "rollback 9"))
@example(walk("evolves 0", "veto", "evolves 0", "evolves 1", "rollback", "rollback 9"))
@example(walk("evolves 0", "hand_saves 6", "rollback", "veto", "adopt", "hand_saves 5", "discard"))
@given(st.lists(steps, min_size=8, max_size=24))
def test_what_is_in_force_is_what_the_model_says(told: list[tuple[str, str, int, int]]) -> None:
    async def run(root: Path) -> None:
        story = Story(root)
        await story.look()
        for step in told:
            await story.act(*step)
            await story.look()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
