"""After whatever bot and people did to memories, notes and turns that wait to be read, over
restarts, with an index that lagged behind, was thrown away or put back from an older copy: both
indexes hold, record by record, what they would hold if they were made anew from the files. What
waits to be read is in the index of vectors alone, as far as it may be recalled."""

from __future__ import annotations

import asyncio
import copy
import itertools
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    MemoryDraft,
    Reinforced,
    Rejected,
    RejectReason,
    Stored,
    StoredMemory,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import key_of
from astrbot_plugin_scoped_memory.llm_memory.index.lexical.lexical_index import SqliteLexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.vector.names import parse_id
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.vector_store import Disk, InMemoryVectorStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    plain_words,
    running,
)
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = [pytest.mark.engine, pytest.mark.property]

ROOMS = {"家人": group(777), "公司": group(888), "public": group(999)}
SCOPES = tuple(ROOMS)
NOTES = ("shared/手册.md", "scopes/家人/旅行.md", "scopes/公司/流程.md", "roles/猫娘/SOUL.md")
ADMIN, MING = person(1, "管理员", admin=True), person(10001)
type Step = tuple[str, int, int]
type Copy = tuple[dict[str, bytes], Disk]


def is_paused(outcome: object) -> bool:
    """Whether it was refused because its conversation is paused."""
    return isinstance(outcome, Rejected) and outcome.reason is RejectReason.OFF_THE_RECORD


class Home:
    """What lies on the disk over several lives of a bot, and one life at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = Disk()
        self.clock = Ticker()
        self.numbers = itertools.count()
        self.forgotten: list[tuple[str, str]] = []
        self.older: Copy | None = None
        self.unread: set[Key] = set()

    @property
    def memory(self) -> Path:
        return self.root / "memory"

    @property
    def index(self) -> Path:
        return self.root / "index"

    async def live(self, steps: list[Step]) -> None:
        """A bot's life; it ends without waiting for the indexes."""
        words = plain_words(self.index / "lexical.sqlite")
        async with running(
            self.root,
            store=InMemoryVectorStore(self.disk),
            words=words,
            clock=self.clock,
            chat=ScriptedChat(),
        ) as rig:
            for what, one, two in steps:
                await getattr(self, what)(rig, one, two)
            everywhere = ScopeFilter((PUBLIC,), everything=True)
            self.unread = {key_of(one) for one in rig.engine.rooms.unread.visible(everywhere)}

    def text(self) -> str:
        return f"小明喜欢第{next(self.numbers)}号球"

    def pick(self, rig: Rig, one: int) -> StoredMemory | None:
        """Some living memory."""
        living = sorted(rig.engine.rooms.catalogue.all(), key=lambda s: (s.scope.name, s.pointer))
        return living[one % len(living)] if living else None

    def path(self, stored: StoredMemory) -> Path:
        return self.memory / "scopes" / stored.scope.name / stored.path

    # The bot

    async def says(self, rig: Rig, one: int, _: int) -> None:
        draft = MemoryDraft(self.text(), actor=MING)
        where = ROOMS[SCOPES[one % 3]]
        outcome = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored) or is_paused(outcome)

    async def says_again(self, rig: Rig, one: int, _: int) -> None:
        if (stored := self.pick(rig, one)) is not None:
            draft = MemoryDraft(stored.memory.judgment, actor=MING)
            where = ROOMS[stored.scope.name]
            outcome = await rig.engine.service.remember(draft, conversation_id=where)
            assert isinstance(outcome, Stored | Reinforced) or is_paused(outcome)

    async def edits(self, rig: Rig, one: int, _: int) -> None:
        if (stored := self.pick(rig, one)) is not None:
            await rig.engine.service.edit(
                stored.memory.memory_id,
                self.text(),
                conversation_id=ROOMS[stored.scope.name],
                actor=ADMIN,
            )

    async def moves(self, rig: Rig, one: int, two: int) -> None:
        if (stored := self.pick(rig, one)) is not None:
            await rig.engine.service.move(
                stored.memory.memory_id,
                SCOPES[two % 3],
                conversation_id=ROOMS[stored.scope.name],
                actor=ADMIN,
            )

    async def forgets(self, rig: Rig, one: int, _: int) -> None:
        if (stored := self.pick(rig, one)) is not None:
            self.forgotten.append((stored.scope.name, stored.memory.memory_id))
            await rig.engine.service.forget(
                stored.memory.memory_id,
                conversation_id=ROOMS[stored.scope.name],
                actor=ADMIN,
            )

    async def restores(self, rig: Rig, one: int, _: int) -> None:
        if self.forgotten:
            name, memory_id = self.forgotten[one % len(self.forgotten)]
            await rig.engine.service.restore(memory_id, conversation_id=ROOMS[name], actor=ADMIN)

    async def tells(self, rig: Rig, one: int, _: int) -> None:
        """By the way: it waits to be read."""
        turn = Turn(MING, self.text(), "好的")
        await rig.engine.service.observe(turn, conversation_id=ROOMS[SCOPES[one % 3]])
        await rig.engine.loop.reflection.follow()

    async def reads(self, rig: Rig, one: int, _: int) -> None:
        """The reader finds nothing in what was said."""
        await rig.engine.loop.reflection.reflect(conversation=ROOMS[SCOPES[one % 3]].umo)

    async def pauses(self, rig: Rig, one: int, two: int) -> None:
        service = rig.engine.service
        change = service.resume if two % 2 else service.pause
        await change(conversation_id=ROOMS[SCOPES[one % 3]], actor=ADMIN)

    async def takes_back(self, rig: Rig, one: int, _: int) -> None:
        """Something that waits to be read is forgotten."""
        name = SCOPES[one % 3]
        seen = ScopeFilter((Scope.parse(name),))
        for told in sorted(
            rig.engine.rooms.unread.visible(seen), key=lambda s: s.memory.created_at
        )[:1]:
            await rig.engine.service.forget(
                told.memory.memory_id, conversation_id=ROOMS[name], actor=ADMIN
            )

    async def looks(self, rig: Rig, _: int, __: int) -> None:
        await rig.engine.reconcile()
        await rig.engine.notes.refresh()

    async def waits(self, rig: Rig, _: int, __: int) -> None:
        """Both indexes have caught up."""
        await self.looks(rig, 0, 0)
        rooms = rig.engine.rooms
        async with asyncio.timeout(30):
            # An index that is worn is soon begun anew.
            while not (rooms.words.in_step and rooms.indexing.in_step) or self.disk.worn:  # noqa: ASYNC110
                await asyncio.sleep(0.002)

    # People

    async def hand_edits(self, rig: Rig, one: int, _: int) -> None:
        if (stored := self.pick(rig, one)) is not None and self.path(stored).exists():
            path = self.path(stored)
            text = path.read_text("utf-8").replace(stored.memory.judgment, self.text())
            path.write_text(text, "utf-8")

    async def hand_deletes(self, rig: Rig, one: int, _: int) -> None:
        if (stored := self.pick(rig, one)) is not None and self.path(stored).exists():
            path = self.path(stored)
            file = parse_file(path.read_text("utf-8"), fallback_time=NOW)
            if (entry := file.find(stored.memory.memory_id)) is not None:
                path.write_text(file.without(entry), "utf-8")

    async def hand_copies(self, rig: Rig, one: int, two: int) -> None:
        if (stored := self.pick(rig, one)) is not None:
            target = self.memory / "scopes" / SCOPES[two % 3] / "抄来的.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("a", encoding="utf-8") as file:
                file.write("\n" + render(stored.memory))

    async def hand_moves_a_file(self, rig: Rig, one: int, two: int) -> None:
        if (stored := self.pick(rig, one)) is not None and self.path(stored).exists():
            target = self.memory / "scopes" / SCOPES[two % 3] / f"搬来的{next(self.numbers)}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            self.path(stored).rename(target)

    async def hand_writes(self, _: Rig, one: int, __: int) -> None:
        path = self.memory / "scopes" / SCOPES[one % 3] / "entities.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n## {self.text()}\n")

    async def notes_something(self, _: Rig, one: int, two: int) -> None:
        path = self.memory / NOTES[one % len(NOTES)]
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if path.exists() else f"# {path.stem}\n"
        lead = f"前言{next(self.numbers)}\n\n" if two % 2 else ""
        path.write_text(f"{lead}{before}\n## 第{next(self.numbers)}节\n\n{self.text()}\n", "utf-8")

    async def moves_a_note(self, _: Rig, one: int, two: int) -> None:
        path, target = (self.memory / NOTES[n % len(NOTES)] for n in (one, two))
        if path.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)

    async def deletes_a_note(self, _: Rig, one: int, __: int) -> None:
        (self.memory / NOTES[one % len(NOTES)]).unlink(missing_ok=True)

    # Between two lives

    def keep_a_copy(self) -> None:
        """Of the indexes, as somebody does who backs up the disk."""
        files = {path.name: path.read_bytes() for path in self.index.iterdir() if path.is_file()}
        self.older = files, copy.deepcopy(self.disk)

    def put_the_copy_back(self) -> None:
        if self.older is not None:
            self.lose_the_index()
            files, self.disk = self.older[0], copy.deepcopy(self.older[1])
            self.index.mkdir(parents=True)
            for name, content in files.items():
                (self.index / name).write_bytes(content)

    def lose_the_index(self) -> None:
        shutil.rmtree(self.index)
        self.disk = Disk()

    def nothing(self) -> None:
        """The index is as it was when the bot ended: it may lack what was said last."""


type Record = tuple[str, tuple[float, ...]]


def vectors(disk: Disk) -> dict[Key, Record]:
    """What the vector index holds: its hash, and where it lies."""
    (rows,) = disk.collections.values()
    return {
        parse_id(name): (str(row.metadata["content_hash"]), tuple(np.round(row.vector, 5).tolist()))
        for name, row in rows.items()
    }


def words_of(path: Path) -> dict[Key, str]:
    """What the index of words holds: the hash of all that is searched."""
    index: SqliteLexicalIndex = plain_words(path)
    index.open()
    try:
        return index.hashes()
    finally:
        index.close()


async def play(lives: list[tuple[list[Step], str]], last: list[Step]) -> None:
    """Life after life, of which the last one catches up, held against one over the files alone."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "old")
        for steps, between in lives:
            await home.live(steps)
            getattr(home, between)()
        await home.live([*last, ("waits", 0, 0)])
        fresh = Home(Path(folder) / "fresh")
        fresh.clock = home.clock
        for name in ("memory", "state"):
            shutil.copytree(home.root / name, fresh.root / name)
        await fresh.live([("waits", 0, 0)])
        assert vectors(home.disk) == vectors(fresh.disk)
        own = words_of(home.index / "lexical.sqlite")
        assert own == words_of(fresh.index / "lexical.sqlite")
        assert home.unread == fresh.unread
        assert home.unread <= vectors(home.disk).keys()
        assert own.keys() == vectors(home.disk).keys() - home.unread


actions = [n for n in vars(Home) if n.startswith(("says", "hand_")) or n.endswith("a_note")]
actions += [
    "edits",
    "moves",
    "forgets",
    "restores",
    "looks",
    "waits",
    "says",
    "notes_something",
]
actions += ["tells", "tells", "reads", "pauses", "takes_back"]
between = st.sampled_from(
    ["nothing", "nothing", "keep_a_copy", "put_the_copy_back", "lose_the_index"]
)
steps = st.lists(
    st.tuples(st.sampled_from(actions), st.integers(0, 5), st.integers(0, 5)), max_size=10
)


SOME: list[Step] = [
    *(("says", number, 0) for number in range(5)),
    *(("notes_something", number, 0) for number in range(3)),
    *(("tells", number, 0) for number in range(6)),
    ("waits", 0, 0),
]
CHANGES: list[Step] = [
    ("hand_edits", 0, 0),
    ("edits", 1, 0),
    ("forgets", 2, 0),
    ("hand_moves_a_file", 2, 1),
    ("notes_something", 0, 1),
    ("moves_a_note", 1, 3),
    ("deletes_a_note", 2, 0),
    ("reads", 0, 0),
    ("pauses", 1, 0),
    ("takes_back", 2, 0),
]
EXAMPLES = {
    "while it runs": ([], [*SOME, *CHANGES]),
    "while it was off": ([([*SOME, *CHANGES], "nothing")], []),
    "and an older index": ([(SOME, "keep_a_copy"), ([*CHANGES, ("waits", 0, 0)],
                                                    "put_the_copy_back")], []),
    "and no index": ([([*SOME, *CHANGES], "lose_the_index")], CHANGES),
}  # fmt: skip


@pytest.mark.parametrize("when", EXAMPLES)
def test_so_they_do_after_one_of_each_change(when: str) -> None:
    asyncio.run(play(*EXAMPLES[when]))


@given(st.lists(st.tuples(steps, between), max_size=2), steps)
@settings(max_examples=max(3, settings().max_examples // 5))
def test_both_indexes_equal_a_fresh_rebuild_of_the_files(
    lives: list[tuple[list[Step], str]], last: list[Step]
) -> None:
    asyncio.run(play(lives, last))
