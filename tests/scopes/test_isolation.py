"""Whatever is written, heard, forgotten and remapped: a reader sees its own scope and public,
exactly; of public without what was only heard in private chats of other people."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EngineSettings,
    Expanded,
    Exported,
    Feedback,
    Forgotten,
    Hit,
    IndexState,
    MemoryDraft,
    NotAllowed,
    NotVisible,
    PointerNotVisible,
    Reinforced,
    Restored,
    Stored,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.tests.fakes.embedder import BesideIndex
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)

pytestmark = [pytest.mark.engine, pytest.mark.property]

type Action = tuple[str, ConversationId, int, int]
type Story = list[tuple[dict[str, str], bool, str, list[Action]]]

PLACES = [group(1), group(2), group("2#9"), private(3), private(4), group(5)]
ANCHOR = {"aiocqhttp:GroupMessage:0": "锚"}  # so that no map counts as lost
NAMES = ["家人", "家", "公司", "public-x", "public", "", "家 人"]
TEXTS = [f"大家都记得的那件事情第{number}条" for number in range(3)]
QUERY = "大家都记得的那件事情"
ASKED = "谁还想得起从前"
"""What only questions say."""
PERSONS = [
    person(10001),
    person(10002, "小红"),
    person(3, "小刚"),
    person(4, "小丽"),
    person(10003, "管理员", admin=True),
]
RUNGS = ["words alone", "model", "model beside the index"]
HEARD = [0, 1, 2, 3]
"""Whom reflection learns from: what an admin has asked for, too, would only be vouched for."""


@dataclass
class Entry:
    """What the model knows of a memory."""

    scope: str
    text: str
    who: int
    strength: int = 50
    alive: bool = True
    active: bool = True
    where: str = ""

    @property
    def only_for(self) -> str:
        """The one person who may read it, empty if all who read the scope may."""
        heard = not self.active and ":FriendMessage:" in self.where
        return PERSONS[self.who].person if heard and self.scope == "public" else ""

    def is_read_in(self, where: ConversationId) -> bool:
        """Whether a conversation that reads the scope reads it."""
        return self.only_for in ("", where.umo.replace("FriendMessage:", ""))


@dataclass
class Model:
    """Isolation in a few lines of plain Python."""

    scope_map: Mapping[str, str] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)

    def own(self, where: ConversationId) -> str | None:
        """The scope that a conversation writes; None where the map is wrong about it."""
        for key in (where.umo, where.umo.partition("#")[0]):
            if key in self.scope_map:
                name = self.scope_map[key]
                return name if name and " " not in name else None
        return "public"

    def seen(self, where: ConversationId) -> set[str]:
        """The ids that a conversation sees."""
        scopes = {self.own(where), "public"}
        return {
            m
            for m, entry in self.entries.items()
            if entry.alive and entry.scope in scopes and entry.is_read_in(where)
        }

    def same(self, new: Entry) -> str:
        """The id of what the same person has said in the same words: read by the same people, else
        by all who read the scope."""
        known = {
            entry.only_for: memory_id
            for memory_id, entry in self.entries.items()
            if entry.alive
            and (entry.scope, entry.text, entry.who) == (new.scope, new.text, new.who)
        }
        return known.get(new.only_for) or known.get("", "")


places = st.sampled_from(PLACES)
numbers = st.integers(0, 9)
persons = st.integers(0, len(PERSONS) - 1)
maps = st.dictionaries(
    st.sampled_from([where.umo for where in PLACES]), st.sampled_from(NAMES), max_size=6
)
actions = st.one_of(
    st.tuples(st.just("write"), places, st.integers(0, len(TEXTS) - 1), persons),
    st.tuples(st.just("write"), places, st.integers(0, len(TEXTS) - 1), persons),
    st.tuples(st.just("hear"), places, st.integers(0, len(TEXTS) - 1), st.sampled_from(HEARD)),
    st.tuples(st.just("hear"), places, st.integers(0, len(TEXTS) - 1), st.sampled_from(HEARD)),
    st.tuples(st.just("forget"), places, numbers, persons),
    st.tuples(st.just("restore"), places, numbers, persons),
)
chapters = st.lists(
    st.tuples(maps, st.booleans(), st.sampled_from(RUNGS), st.lists(actions, max_size=8)),
    min_size=1,
    max_size=4,
)


async def hear(rig: Rig, where: ConversationId, text: str, who: int) -> object:
    """What reflection makes of a turn; None where the turn is not kept."""
    service = rig.engine.service
    ticket = await service.observe(Turn(PERSONS[who], text, "嗯"), conversation_id=where)
    if not isinstance(ticket, Ticket):
        return None
    draft = MemoryDraft(text, asks=(ASKED,), active=False, actor=PERSONS[who])
    (outcome,) = (await service.feedback(Feedback(drafts=(draft,)), ticket=ticket)).outcomes
    return outcome


async def write(
    rig: Rig, model: Model, where: ConversationId, text: str, who: int, *, heard: bool = False
) -> None:
    """Remember in both."""
    own = model.own(where)
    draft = MemoryDraft(text, asks=(ASKED,) if who else (), actor=PERSONS[who])
    outcome = (
        await hear(rig, where, text, who)
        if heard
        else await rig.engine.service.remember(draft, conversation_id=where)
    )
    new = Entry(own or "", text, who, active=not heard, where=where.umo)
    same = model.same(new)
    match outcome:
        case Stored(stored):
            assert stored.scope.name == own
            assert not same
            assert stored.memory.memory_id not in model.entries
            model.entries[stored.memory.memory_id] = new
        case Reinforced(stored):
            assert stored.memory.memory_id == same
            known = model.entries[same]
            known.strength = min(known.strength + 5, 100)
            known.active = known.active or new.active
        case _:
            assert own is None


async def act(rig: Rig, model: Model, action: Action) -> None:
    """Do it to both, and compare what they say."""
    what, where, number, who = action
    service, actor, own = rig.engine.service, PERSONS[who], model.own(where)
    if what in ("write", "hear"):
        await write(rig, model, where, TEXTS[number], who, heard=what == "hear")
        return
    if not model.entries:
        return
    memory_id = list(model.entries)[number % len(model.entries)]
    entry = model.entries[memory_id]
    allowed = entry.scope == own and (actor.admin or entry.who == who)
    if what == "forget":
        gone = await service.forget(memory_id, conversation_id=where, actor=actor)
        if memory_id not in model.seen(where):
            assert gone == NotVisible(memory_id)
        elif not allowed:
            assert gone == NotAllowed(memory_id)
        else:
            assert isinstance(gone, Forgotten)
            entry.alive = False
    else:
        back = await service.restore(memory_id, conversation_id=where, actor=actor)
        if entry.alive or entry.scope != own or not entry.is_read_in(where):
            assert back == NotVisible(memory_id)
        elif not allowed:
            assert back == NotAllowed(memory_id)
        else:
            assert isinstance(back, Restored)
            entry.alive = True


def shown(hits: Iterable[Hit]) -> set[str]:
    """The ids of hits, and of what others have said just so: it stands in the same line."""
    return {one.memory_id for hit in hits for one in (hit, *hit.also)}


async def check(rig: Rig, model: Model) -> None:
    """Every reader through every door."""
    service = rig.engine.service
    for where in PLACES:
        expected = model.seen(where)
        recall = await rig.recall(QUERY, where, 60)
        assert shown(recall.hits) == expected
        asked = await rig.recall(ASKED, where, 60)
        assert shown(asked.hits) <= expected
        assert ASKED not in "".join(hit.preview for hit in (*recall.hits, *asked.hits))
        for arm in (Arm.LEXICAL, Arm.DENSE):
            alone = await recall_by(
                rig.engine, {arm}, QUERY, conversation_id=where, limit=60, token_budget=5000
            )
            assert shown(alone.hits) <= expected
            if alone.trace.arm is Arm.LEXICAL:
                assert shown(alone.hits) == expected
        for told in await service.explain(conversation_id=where):
            assert {hit.memory_id for _, hit in told.candidates if hit is not None} <= expected
        newest = await service.newest(conversation_id=where, limit=100)
        assert {stored.memory.memory_id for stored in newest} == expected
        for stored in newest:
            entry = model.entries[stored.memory.memory_id]
            known = (stored.scope.name, stored.memory.judgment, stored.memory.strength)
            assert known == (entry.scope, entry.text, entry.strength)
        assert (await service.describe(conversation_id=where)).visible == len(expected)
        exported = await service.export(conversation_id=where, actor=PERSONS[-1])
        assert isinstance(exported, Exported)
        lines = (rig.root / "exports" / exported.name).read_text("utf-8").splitlines()
        assert {json.loads(line).get("id") for line in lines} - {None} == expected
        for memory_id in model.entries:
            found = await service.expand(f"x.md#{memory_id}", conversation_id=where)
            if memory_id in expected:
                assert isinstance(found, Expanded)
            else:
                assert isinstance(found, PointerNotVisible)


async def live(story: Story) -> None:
    """A bot's life: each chapter begins with a restart, another map and another rung."""
    model, disk, clock = Model(), Disk(), Ticker()
    everything = EngineSettings(relevance_floor=0.0, preview_chars=60)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for scope_map, index_is_lost, rung, todo in story:
            if index_is_lost:
                disk = Disk()
                shutil.rmtree(root / "index", ignore_errors=True)
            model.scope_map = {**ANCHOR, **scope_map}
            store = InMemoryVectorStore(disk)
            async with running(
                root,
                model.scope_map,
                store=store,
                settings=everything,
                clock=clock,
                words_alone=rung == "words alone",
                embedder=BesideIndex(store) if rung == "model beside the index" else None,
            ) as rig:
                for action in todo:
                    await act(rig, model, action)
                await check(rig, model)
                await rig.until_indexed()
                async with asyncio.timeout(60):
                    while (await rig.engine.status()).words is not IndexState.READY:  # noqa: ASYNC110
                        await asyncio.sleep(0.005)
                await check(rig, model)
                assert (await rig.engine.status()).scope_check_drops == 0
        alive = [entry.scope for entry in model.entries.values() if entry.alive]
        async with running(root, ANCHOR, store=InMemoryVectorStore(disk), clock=clock) as rig:
            assert (await rig.engine.status()).by_scope == {n: alive.count(n) for n in set(alive)}


HEARD_AND_FORGOTTEN: list[Action] = [
    ("hear", private(3), 0, 2),
    ("forget", private(3), 0, 2),
    ("restore", group(5), 0, 4),
    ("restore", private(3), 0, 2),
]


@example([({}, False, RUNGS[0], HEARD_AND_FORGOTTEN)])
@given(chapters)
@settings(max_examples=max(5, settings().max_examples // 3))
def test_every_reader_sees_exactly_its_own_scope_and_public(story: Story) -> None:
    asyncio.run(live(story))
