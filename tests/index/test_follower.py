"""An index follows what lives, whatever becomes of it: nothing old answers, nothing new is lost, no
loop is held, and what fails is told once and mends itself."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import Catalogue, key_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.recallable_memories import (
    RecallableMemories,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.unread_turns import Unread, UnreadTurns
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed, IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index import follower
from astrbot_plugin_scoped_memory.llm_memory.index.calls import Calls
from astrbot_plugin_scoped_memory.llm_memory.index.cut_texts import CutTexts
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import (
    Fingerprint,
    Vector,
    Vectors,
)
from astrbot_plugin_scoped_memory.llm_memory.index.passages import Passages
from astrbot_plugin_scoped_memory.llm_memory.index.pending_records import PendingRecords
from astrbot_plugin_scoped_memory.llm_memory.index.ports import BROKEN, IndexRecord, Page
from astrbot_plugin_scoped_memory.llm_memory.index.records import WordQuery
from astrbot_plugin_scoped_memory.llm_memory.index.semantic import Semantic
from astrbot_plugin_scoped_memory.llm_memory.index.word_index import WordIndex
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key, NoteChunk
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, SHARED, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import Supervisor
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk, MemoryStore
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding
from astrbot_plugin_scoped_memory.tests.support.stalls import LoopSteps

pytestmark = pytest.mark.unit

AT = datetime(2026, 11, 21, tzinfo=UTC)
SEEN = ScopeFilter((PUBLIC,))
NOTE = NoteChunk("n-000001", SHARED, "a.md", ("备份",), "第1步先停机", 1, 1, AT)
SAID, EDITED, REFUSED = "奶奶对花生过敏", "药放在蓝色抽屉里", "周三要交物业费"


def stored(number: int, text: str = SAID, scope: Scope = PUBLIC, **more: Any) -> StoredMemory:
    return StoredMemory(scope, "entities.md", Memory(f"m-{number:010d}", text, AT, **more))


def books(many: int) -> list[StoredMemory]:
    return [stored(number, f"第{number}本书在架上") for number in range(many)]


class Notes(dict[Key, NoteChunk]):
    """A note book of which the disk may be absent."""

    scanned = True
    all = dict.values

    def follow_with(self, follower: object) -> None:
        """Nobody changes them here."""


class Store(MemoryStore):
    """Of which methods may fail until all is removed; ``told`` notes what they were called with."""

    def __init__(self, disk: Disk | None = None) -> None:
        super().__init__(disk)
        self.told: list[tuple[str, int]] = []
        self.faults: dict[str, IndexUnavailable] = {}

    def _note(self, name: str, count: int = 0) -> None:
        self.told.append((name, count))
        if name in self.faults:
            raise self.faults[name]

    def load(self, fingerprint: Fingerprint, most: int) -> Iterator[Page]:
        self._note("load")
        return super().load(fingerprint, most)

    def write(self, records: Sequence[IndexRecord], vectors: Vectors) -> None:
        self._note("write", len(records))
        super().write(records, vectors)

    def drop(self, keys: Collection[Key] | None) -> None:
        self._note("remove" if keys is None else "drop", len(keys or ()))
        super().drop(keys)
        if keys is None:
            self.faults.clear()

    def query(self, *asked: Any, **more: Any) -> Any:
        time.sleep(0.2 * ("query" in self.faults))  # it is told too late
        self._note("query")
        return super().query(*asked, **more)


@dataclass
class House:
    """What lives, and both indexes over it."""

    root: Path
    disk: Disk = field(default_factory=Disk)
    catalogue: Catalogue = field(default_factory=Catalogue)
    notes: Notes = field(default_factory=Notes)
    notices: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board = NoticeBoard(lambda notice: self.notices.append(notice.code))
        self.store = Store(self.disk)
        pending, self.unread = PendingRecords(self.catalogue), UnreadTurns()
        passages = Passages(self.catalogue, self.notes, pending, self.unread)  # type: ignore[arg-type]
        self.vectors = Semantic(passages, self.store, self.board, QUICK)
        tokenizer = Tokenizer(use_jieba=False)
        self.cut = CutTexts(self.root / "words.sqlite")
        self.words = WordIndex(passages, Words(tokenizer), self.cut, tokenizer, self.board, QUICK)
        self.living = RecallableMemories(self.catalogue, [self.vectors, self.words])

    @asynccontextmanager
    async def following(self, embedder: FakeEmbedder | None = None) -> AsyncIterator[House]:
        behind = Supervisor(self.board, lambda _: 0.01)
        behind.start("words", self.words.follow)
        behind.start("vectors", lambda: self.vectors.run(embedder or FakeEmbedder()))
        try:
            yield self
        finally:
            await behind.close()
            await self.words.close()
            await self.vectors.close()

    async def settled(self) -> None:
        """Both hold what lives, but for what cannot be embedded."""
        await until_true(lambda: self.vectors.in_step and self.words.in_step)

    async def by_words(self, text: str) -> list[Key]:
        found = await self.words.search(WordQuery(text, text), SEEN, 5)
        return [match.key for match in found.found]

    async def by_meaning(self, text: str) -> list[Key]:
        _, near = await self.vectors.neighbours(text, SEEN, 5)
        return [one.key for one in near.found]

    def rows(self) -> dict[Key, tuple[IndexRecord, Vector]]:
        """What the store holds, of whatever model."""
        return {key: row for rows in self.disk.collections.values() for key, row in rows.items()}


class Picky(FakeEmbedder):
    """Cannot take one text, and no text at all while it is ``failing_documents``."""

    async def embed_documents(self, texts: Sequence[str]) -> Any:
        rows = await super().embed_documents(texts)
        return [None if REFUSED in text else row for text, row in zip(texts, rows, strict=True)]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_what_is_acknowledged_is_found_at_once_by_words(house: House) -> None:
    """While nothing is written: the disk hangs, and the embedder is gone. One of the questions
    takes it in; where none can, the owner is told."""
    stuck, embedder, put = threading.Event(), Picky(), Mock(wraps=house.words._words.put)
    house.words._words.put = put  # type: ignore[method-assign]
    house.cut.put = lambda *_: stuck.wait()  # type: ignore[method-assign, assignment]
    embedder.failing_documents = True
    async with house.following(embedder):
        await house.settled()
        for number in range(3):
            house.living.take(stored(number))
            for found in await asyncio.gather(*(house.by_words(SAID) for _ in "123")):
                assert key_of(stored(number)) in found
            assert house.vectors.lacks(key_of(stored(number)))
        assert put.call_count == 3
        house.words._pace = replace(QUICK.pace, query_seconds=0.01)
        async with house.words._writing:
            house.living.take(stored(3))
            await asyncio.gather(*(house.by_words(SAID) for _ in "123"), return_exceptions=True)
        assert "lexical_off" in house.notices
        stuck.set()


@pytest.mark.parametrize("hangs", ["forget", "keep_only"])
async def test_words_wait_for_no_disk_that_forgets(house: House, hangs: str) -> None:
    stuck, begun = threading.Event(), threading.Event()
    house.catalogue.load([stored(2)])
    house.unread.put(turn := Unread("t", "", stored(1), SAID))
    async with house.following():
        await house.settled()

        def wait(*_: object, **__: object) -> None:
            begun.set()
            stuck.wait()

        setattr(house.cut, hangs, wait)
        purge = asyncio.create_task(house.words.clear_traces())
        await asyncio.sleep(0)
        house.unread.drop("t")
        await until_true(begun.is_set)
        for number in (3, 4):
            house.living.take(stored(number))
            assert key_of(stored(number)) in await house.by_words(SAID)
            await asyncio.sleep(0.05)
        assert key_of(stored(1)) not in await house.by_words(SAID)
        house.unread.put(turn)
        assert key_of(stored(1)) in await house.by_words(SAID)
        house.unread.drop("t")
        stuck.set()
        await asyncio.gather(purge, return_exceptions=True)
        await house.settled()
        assert key_of(stored(1)) not in await house.by_words(SAID)


async def test_what_is_edited_leaves_nothing_of_its_old_words(house: House) -> None:
    """At once, though the new ones cannot be embedded now, or ever."""
    embedder, one, other = Picky(), stored(1), stored(2, "备用钥匙在花盆下")
    async with house.following(embedder):
        house.living.take(one)
        house.living.take(other)
        await house.settled()
        embedder.failing_documents = True
        house.living.take(stored(1, EDITED))
        await until_true(lambda: [*house.rows()] == [key_of(other)])
        assert await house.by_meaning(SAID) == [key_of(other)]
        assert house.vectors.lacks(key_of(one))
        embedder.failing_documents = False
        for text in (SAID, REFUSED):
            house.living.take(stored(2, text))
        await until_true(lambda: [*house.rows()] == [key_of(one)])
        await until_true(lambda: house.vectors.backlog == 1)
        assert await house.by_words(REFUSED) == [key_of(other)]
        house.living.take(stored(2, EDITED))
        await house.settled()
        assert len(house.rows()) == 2
        assert "钥匙" not in str(house.cut._file.rows("SELECT tokens FROM cut"))
        calls = embedder.calls
        house.living.take(stored(2, EDITED, strength=90))
        await house.settled()
    assert embedder.calls == calls, "what says the same is not embedded again"


async def test_a_start_compares_with_what_was_kept(house: House) -> None:
    """Nothing is embedded twice, nothing stale or gone stays. Of notes that cannot be read nobody
    knows that they are gone."""
    embedder = FakeEmbedder()
    house.catalogue.load(books(3))
    house.notes[key_of(NOTE)] = NOTE
    async with house.following(embedder):
        await house.settled()
    again = House(house.root, house.disk)
    again.notes.scanned = False
    again.catalogue.load([stored(0, "第0本书在架上"), stored(1, EDITED)])
    calls = embedder.calls
    async with again.following(embedder):
        await again.settled()
        kept = {key_of(stored(0)), key_of(stored(1)), key_of(NOTE)}
        assert (again.rows().keys(), embedder.calls) == (kept, calls + 1)
        assert files_holding(house.root, "停机")
        again.notes.scanned = True
        again.vectors.recheck()
        again.words.recheck()
        await until_true(lambda: len(again.rows()) == 2)
        await until_true(lambda: not files_holding(house.root, "停机"))
        assert files_holding(house.root, "蓝色")


class Switched(FakeEmbedder):
    """A service that gets another ``model`` under its name, and says so when it is asked."""

    model = prepared = "old"

    async def prepare(self) -> Fingerprint:
        self.prepared = self.model
        return Fingerprint(self.model, self.dim)

    def one(self, text: str) -> Vector:
        return np.roll(super().one(text), 0 if self.model == "old" else 100)

    def _check(self) -> None:
        super()._check()
        if self.prepared != self.model:
            raise EmbeddingFailed("model_changed: another one answers")


async def switched(house: House, embedder: Switched) -> None:
    embedder.model = "new"
    with pytest.raises(EmbeddingFailed):
        await house.by_meaning(SAID)


async def test_a_turn_that_is_hidden_while_all_is_compared_is_found_when_it_shows(
    house: House,
) -> None:
    shown = [True]

    async def judge(_: Sequence[Unread]) -> None:
        shown[0] = True

    house.unread.set_filter(lambda _: shown[0], judge)
    house.unread.put(Unread("t", "", stored(1), SAID))
    shown[0] = False  # something was corrected, and no turn is looked through yet
    embedder = Switched()
    async with house.following(embedder):
        await house.settled()
        await switched(house, embedder)
        await until_true(lambda: Fingerprint("new", 256) in house.disk.collections)
        await house.settled()
        await house.unread.review()
        await house.settled()
        assert await house.by_words(SAID) == [key_of(stored(1))]
        assert await house.by_meaning(SAID) == [key_of(stored(1))]
        assert not files_holding(house.root, "花生"), "it is on disk in its queue alone"


@pytest.mark.parametrize("dim", [256, 128])
async def test_no_vector_of_a_service_that_changed_its_model_is_kept(
    house: House, dim: int
) -> None:
    house.catalogue.load(books(3))
    embedder = Switched()
    async with house.following(embedder):
        await house.settled()
        embedder.dim = dim
        await switched(house, embedder)
        await until_true(lambda: Fingerprint("new", dim) in house.disk.collections)
        await house.settled()
        for number in range(3):
            (_, row) = house.rows()[key_of(stored(number))]
            assert float(row @ embedder.one(f"第{number}本书在架上")) > 0.99
    assert house.notices == []


async def test_what_an_earlier_model_says_late_is_not_kept(house: House) -> None:
    """It was asked for a draft when another embedder took its place."""
    said, old, new = asyncio.Event(), FakeEmbedder("old"), Switched()
    new.model = "new"
    embed = old.embed_documents
    task = asyncio.create_task(house.vectors.run(old))
    await until_true(lambda: house.vectors.in_step)

    async def late(texts: Sequence[str]) -> Sequence[Vector | None]:
        await said.wait()
        return await embed(texts)

    old.embed_documents = late  # type: ignore[method-assign]
    draft = asyncio.create_task(house.vectors.vectors([stored(1)]))
    await asyncio.sleep(0.05)
    task.cancel()
    async with house.following(new):
        await house.settled()
        said.set()
        with pytest.raises(IndexUnavailable):
            await draft
        house.living.take(stored(1))
        await house.settled()
        ((_, row),) = house.rows().values()
        assert float(row @ new.one(SAID)) > 0.99


@pytest.mark.parametrize("big", [False, True])
async def test_a_broken_store_is_written_anew_three_times_an_hour(house: House, big: bool) -> None:
    house.vectors.most_bytes *= not big
    house.catalogue.load([stored(number) for number in range(3)])
    async with house.following():
        await house.settled()
        for _ in range(3 - big):
            house.store.faults["drop"] = IndexUnavailable("bad block", code=BROKEN)
            house.living.drop(stored(2))
            await house.settled()
            assert len(await house.by_meaning(SAID)) == len(house.rows()) == 2
            house.living.take(stored(2))
            await house.settled()
        if big:
            house.store.faults["query"] = IndexUnavailable("bad block", code=BROKEN)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(house.by_meaning(SAID), 0.05)
            await until_true(lambda: house.vectors.in_step and not house.store.faults)
        assert house.notices == ["index_rebuilt"] * 3
        house.store.faults["drop"] = IndexUnavailable("bad block", code=BROKEN)
        house.living.drop(stored(2))
        await until_true(lambda: house.notices[3:] == ["index_off"])
        assert len(await house.by_meaning(SAID)) == 2 + big, "what is there answers all the same"
        house.store.faults.clear()
        await house.settled()
        assert not house.board.standing()


@pytest.mark.parametrize(("code", "notice"), [("in_use", "index_off"), ("full", "index_full")])
async def test_what_blames_no_store_is_waited_for(house: House, code: str, notice: str) -> None:
    house.catalogue.load([stored(1)])
    house.store.faults["load" if code == "in_use" else "write"] = IndexUnavailable("", code=code)
    async with house.following():
        await until_true(lambda: house.notices == [notice])
        await until_true(lambda: house.words.in_step)
        house.store.faults.clear()
        await house.settled()
        assert (len(house.rows()), house.board.standing()) == (1, ())
    assert "remove" not in dict(house.store.told)


@pytest.mark.parametrize("lost", ["disk", "embedder"])
async def test_what_is_forgotten_meanwhile_clears_no_notice(house: House, lost: str) -> None:
    memories = books(5)
    house.catalogue.load(memories)
    embedder = FakeEmbedder()
    async with house.following(embedder):
        await house.settled()
        embedder.failing_documents = lost == "embedder"
        if lost == "disk":
            house.store.faults["write"] = IndexUnavailable("", code="full")
        house.living.take(stored(9))
        for one in memories:
            await until_true(lambda: len(house.board.standing()) == 1)
            house.living.drop(one)
            await until_true(lambda: not house.vectors.leaving)
            await asyncio.sleep(0.05)
        assert len(house.notices) == 1
        embedder.failing_documents = False
        house.store.faults.clear()
        await house.settled()
        await until_true(lambda: not house.board.standing())


async def test_what_hangs_is_told_and_closed_in_time(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "CALL_SECONDS", 0.05)
    monkeypatch.setattr(follower, "_CLOSING_SECONDS", 0.05)
    stuck = threading.Event()
    for part, name in ((house.store, "write"), (house.store, "close"), (house.cut, "put")):
        setattr(part, name, lambda *_: stuck.wait())
    house.catalogue.load([stored(1)])
    async with asyncio.timeout(20):
        async with house.following():
            await until_true(lambda: {*house.notices} == {"index_off", "lexical_off"})
            assert await house.by_words(SAID)
    stuck.set()


async def test_what_a_call_raises_that_was_given_up_is_not_printed() -> None:
    stuck, printed, calls = threading.Event(), list[object](), Calls()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: printed.append(told))

    def fails() -> None:
        stuck.wait()
        raise IndexUnavailable("too late")

    with pytest.raises(IndexUnavailable):
        await calls.run(0.01, fails)
    stuck.set()
    await calls.run(10, gc.collect)
    await asyncio.sleep(0)
    gc.collect()
    assert printed == []


async def test_no_comparison_holds_the_loop_and_no_deed_costs_more_than_its_own(
    house: House,
) -> None:
    """Everything lives elsewhere than what was kept says."""
    async with house.following():
        await house.settled()
        house.words._held = {Key("家人", f"m-{number:010d}"): "" for number in range(50_000)}
        with LoopSteps() as steps:
            house.words.recheck()
            await house.settled()
        assert steps.most < 20_000
        memories = [stored(number) for number in range(5_000)]
        for one in memories:
            house.living.take(one)
        await house.settled()
        looked_at = sum(isinstance(one, Key) for one in gc.get_objects())
        assert looked_at < 4_000, "a full collection holds the interpreter for each"
        house.store.told.clear()
        for one in memories:
            house.living.drop(one)
            house.living.take(replace(one, scope=Scope("家人")))
        await house.settled()
        for what in ("drop", "write"):
            assert sum(count for name, count in house.store.told if name == what) == len(memories)


async def test_words_alone_leave_of_a_model_what_is_not_forgotten(house: House) -> None:
    house.catalogue.load([stored(1), stored(2)])
    async with house.following():
        await house.settled()
    again = House(house.root, house.disk)
    again.catalogue.load([stored(1), stored(2)])
    again.unread.put(Unread("t", "", stored(4), SAID))  # waits since before the start
    alone = asyncio.create_task(again.vectors.run(None))
    await until_true(lambda: again.vectors.words_alone)
    assert (again.vectors.state, again.vectors.label) == ("lexical", "lexical")
    again.living.take(stored(3))
    await asyncio.sleep(0.05)
    assert (len(again.rows()), again.vectors.backlog) == (2, 0)
    again.living.take(stored(1, EDITED))
    again.unread.drop(["t"])
    await until_true(lambda: not again.vectors.leaving)
    assert [*again.rows()] == [key_of(stored(2))], "the provider may be back at the next start"
    assert "load" not in dict(again.store.told)
    alone.cancel()


@pytest.mark.parametrize("most", [None, 0])
async def test_a_purge_writes_the_store_anew_from_what_is_held(
    house: House, most: int | None
) -> None:
    """Also where the store alone holds it: it is asked then, and not the arrays."""
    if most is not None:
        house.vectors.most_bytes = most
    embedder = FakeEmbedder()
    house.catalogue.load([stored(1), stored(2, EDITED)])
    async with house.following(embedder):
        await house.settled()
        await until_true(lambda: most is None or house.vectors._asks_store)
        house.living.drop(stored(2, EDITED))
        await house.settled()
        calls, house.store.told = embedder.calls, []
        arrays, asked = house.vectors._arrays, list[bool]()
        put, pages = arrays.put, arrays.pages
        arrays.put = lambda *some: asked.append(house.vectors._asks_store) or put(*some)  # type: ignore[method-assign, func-returns-value]
        arrays.pages = lambda size: (purge.cancel(), pages(size))[1]  # type: ignore[method-assign]
        purge = asyncio.create_task(house.vectors.clear_traces())
        await asyncio.wait([purge])
        assert (len(house.rows()), purge.cancelled()) == (1, True), "a night that is cut off"
        assert asked == [True] * (most == 0), "arrays that hold a part are not asked"
        await house.words.clear_traces()
        await house.settled()
        assert ("remove", 0) in house.store.told
        assert (house.rows().keys(), embedder.calls) == ({key_of(stored(1))}, calls)
        assert await house.by_meaning(SAID) == [key_of(stored(1))]


async def test_a_purge_beside_a_changed_model_leaves_the_new_one_nothing_old(house: House) -> None:
    house.catalogue.load(books(1100))
    embedder = Switched()
    async with house.following(embedder):
        await house.settled()
        write, begun = house.store.write, threading.Event()

        def slow(records: Sequence[IndexRecord], vectors: Vectors) -> None:
            begun.set()
            time.sleep(0.3)
            write(records, vectors)

        house.store.write = slow  # type: ignore[method-assign]
        purge = asyncio.create_task(house.vectors.clear_traces())
        await until_true(begun.is_set)
        embedder.failing_documents = True
        await switched(house, embedder)
        await purge
        await until_true(lambda: house.vectors.state == "building")
        assert [*house.disk.collections] == [Fingerprint("new", 256)]
        assert not house.rows()


@pytest.mark.parametrize("by", ["a purge", "a purge of a big store", "a write"])
@pytest.mark.parametrize(
    "codes",
    [[BROKEN], ["full", BROKEN, "full"], [BROKEN, "full", BROKEN], [BROKEN, "a bug", "full"]],
)
async def test_a_fault_while_the_store_is_written_anew_loses_no_vector(
    house: House, by: str, codes: list[str]
) -> None:
    if "big" in by:
        house.vectors.most_bytes = 0
    house.catalogue.load(books(100))
    embedder = FakeEmbedder()
    async with house.following(embedder):
        await house.settled()
        calls, left, write = embedder.calls, codes.copy(), house.store.write

        def failing(records: Sequence[IndexRecord], vectors: Vectors) -> None:
            if left:
                code = left.pop(0)
                raise IndexUnavailable("", code=code) if code != "a bug" else RuntimeError(code)
            write(records, vectors)

        house.store.write = failing  # type: ignore[method-assign]
        if "purge" in by:
            with pytest.raises(IndexUnavailable):
                await house.vectors.clear_traces()
        house.living.take(stored(999, EDITED))
        await until_true(lambda: not left)
        await house.settled()
        assert (len(house.rows()), embedder.calls - calls) in ((101, 1), (101, 2))


async def test_a_draft_is_embedded_once_and_questions_do_not_disguise_what_was_said(
    house: House,
) -> None:
    embedder, asking = FakeEmbedder(), stored(1, asks=("谁不能吃花生",))
    async with house.following(embedder):
        await house.settled()
        (draft,) = await house.vectors.vectors([asking])
        embedder._check = house.vectors._recent.clear  # type: ignore[method-assign]
        house.living.take(asking)
        await house.settled()
        assert embedder.calls == 2, "its words once, its questions once"
        (plain,) = await house.vectors.vectors([asking])
        assert float(plain @ draft) == pytest.approx(1.0, abs=1e-3)
        ((_, row),) = house.rows().values()
        wanted = draft + embedder.one("谁不能吃花生")
        assert float(row @ wanted) == pytest.approx(float(np.linalg.norm(wanted)), abs=1e-3)
