"""What lives, by the meaning of its words: vectors in memory, which a store keeps for the next
start.

They are searched in memory. Of more than ``MOST_BYTES`` of vectors the store itself is asked.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from ..catalogue.catalogue import key_of
from ..catalogue.rules.passage_text import asks_text, embedded_passage
from ..errors import EmbeddingFailed, IndexUnavailable
from ..models.passages import Key, Passage
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..models.status import Notice
from ..runtime.lifecycle import shielded
from ..runtime.notice_board import NoticeBoard
from ..text.normalising import content_hash
from .arrays import np
from .calls import BUSY
from .embedding.failures import OF_THE_TEXT
from .embedding.ports import Embedder, Fingerprint, Vector
from .follower import EMBEDDING, Fault, Follower
from .passages import Passages
from .ports import BROKEN, PAGE, IndexRecord, Neighbours, VectorStore
from .rules.common_part import apart_from
from .vectors import VectorArrays

WORDS_ALONE: Final = "lexical"
"""The label and the state where there is no embedder: what the setting calls it."""
MOST_BYTES: Final = 256 << 20
CHANGED: Final = "model_changed"
_TOO_MANY: Final = "too_many"
_REWRITES: Final = 3
_REWRITES_SECONDS: Final = 3600.0
"""A store is begun anew so many times within so long; what breaks it then is not mended by that."""
_ON_THIS_MACHINE: Final = ("bundled", "local:")
_MOST_AHEAD: Final = 4
"""Questions that are embedded before they are asked; some never are."""
_RECENT: Final = 256
"""Texts whose vectors are kept for a moment: a draft is compared first, then stored."""


class Semantic(Follower[tuple[IndexRecord, Vector]]):
    """Owns the store and the embedder in use. ``run`` is its one task.

    Attributes:
        most_bytes: Of vectors in memory.
    """

    codes: ClassVar = {
        "": "index_off",
        "full": "index_full",
        "rebuilt": "index_rebuilt",
        "embedder": "embedder_failing",
    }
    anew = frozenset({CHANGED, _TOO_MANY, BROKEN})

    def __init__(
        self,
        passages: Passages,
        store: VectorStore,
        notices: NoticeBoard,
        settings: EngineSettings,
    ) -> None:
        pace = settings.pace
        super().__init__(passages, notices, pace, batch=pace.batch, close=store.close)
        self._store = store
        self._arrays = VectorArrays()
        self._asks_store = False
        """What is held is too much for arrays."""
        self._embedder: Embedder | None = None
        self._fingerprint: Fingerprint | None = None
        self._prepared = asyncio.Event()
        self._ahead: dict[str, asyncio.Task[Vector]] = {}
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._rewritten: deque[float] = deque(maxlen=_REWRITES)
        self.most_bytes = MOST_BYTES

    @property
    def words_alone(self) -> bool:
        """Whether it was decided to do without vectors."""
        return self.state == WORDS_ALONE

    async def prepared(self, known: Fingerprint | None = None) -> Fingerprint:
        """Wait for the space that vectors lie in, if it is another than the one ``known``."""
        while self._fingerprint is None or self._fingerprint == known:
            await self._prepared.wait()
        return self._fingerprint

    async def run(self, embedder: Embedder | None) -> None:
        """Follow what lives by an embedder until cancelled; None: do without vectors. What an
        earlier model left waits for its return then, but for what is forgotten or edited."""
        if embedder is not self._embedder:  # else the task was begun again
            self._embedder, self._fingerprint = embedder, None
        if embedder is not None:
            self.label = embedder.label
            await self.follow()
        self.label = self.state = WORDS_ALONE
        self._forget()
        self._parked.clear()
        while True:
            self._changed.clear()
            self._waiting.clear()
            try:
                if leaving := [*self._leaving]:
                    await self._do(self._store.drop, leaving)
                    for key in leaving:
                        del self._leaving[key]
                await self._changed.wait()
            except IndexUnavailable:
                await asyncio.sleep(self._pace.retry(sys.maxsize))

    async def _open(self, fault: Fault | None) -> None:
        assert self._embedder is not None  # noqa: S101  (else nothing is followed)
        fingerprint = await self._embedder.prepare()
        async with self._writing:  # a purge writes what is of the former model
            if fingerprint != self._fingerprint:  # no vector of another model answers
                self._fingerprint = fingerprint
                self._forget()
            self._prepared.set()
            self._prepared = asyncio.Event()
            if fault is not None and fault.code == BROKEN:
                await self._begin_anew(fault)
            elif not self._unwritten:
                self._forget()
                await self._keep(partial(self._read, self.most_bytes))
            elif not self._held:  # nothing answers yet: what is broken is told nothing more
                await self._keep(self._write_anew)

    async def _step(self) -> None:
        async with self._writing:
            if self.is_open and self._unwritten:
                await self._keep(self._write_anew)
        await super()._step()

    def _forget(self) -> None:
        """Fresh arrays: what is still under way for another model goes into the old ones."""
        self._arrays, self._held, self._asks_store = VectorArrays(), {}, False
        self._recent.clear()
        self._ahead.clear()
        self._unwritten = False

    async def _read(self, most_bytes: int) -> None:
        """Hold what the store holds, in arrays if its vectors take no more than this."""
        assert self._fingerprint is not None  # noqa: S101  (the embedder was prepared)
        pages = self._store.load(self._fingerprint, most_bytes // (4 * self._fingerprint.dim))
        while page := await self._do(lambda: next(pages, None)):
            records, rows = page
            self._asks_store |= rows is None
            if rows is not None:
                await self._do(self._arrays.put, records, rows)
            self._held.update((record.key, record.content_hash) for record in records)

    async def _keep(self, call: Callable[[], Awaitable[None]]) -> None:
        """What the store is told: one that is broken is begun anew, with all that is held."""
        try:
            await call()
        except IndexUnavailable as error:
            if error.code != BROKEN:
                raise
            await self._begin_anew(error)

    async def _begin_anew(self, broken: Fault) -> None:
        """A store that is of no use as it lies is written anew from what is in memory; the rest is
        embedded again. Raises IndexUnavailable."""
        now = asyncio.get_running_loop().time()
        if len(self._rewritten) == _REWRITES and now - self._rewritten[0] < _REWRITES_SECONDS:
            raise IndexUnavailable(str(broken))
        self._rewritten.append(now)
        self._notices.post(Notice("index_rebuilt"))
        if self._asks_store:
            self._forget()
            self._unwritten = True
            raise broken
        try:
            await self._write_anew()
        except IndexUnavailable as error:  # what is in memory answers meanwhile
            code = "fault" if error.code == BROKEN else error.code
            raise IndexUnavailable(str(error), code=code) from error

    async def _write_anew(self) -> None:
        """Leave in the store what is in memory, and no trace of anything else. To its end, also if
        the caller is cancelled: what is not written back is lost when the bot ends."""
        await shielded(self._written_anew())

    async def _written_anew(self) -> None:
        self._unwritten = True
        await self._do(self._store.drop, None)
        await self._read(self.most_bytes)  # nothing: that begins it
        pages = self._arrays.pages(PAGE)
        while page := await self._do(lambda: next(pages, None)):
            await self._do(self._store.write, *page)
        self._unwritten = False

    def _hash(self, passage: Passage) -> str:
        return content_hash(f"{embedded_passage(passage)}\n{asks_text(passage)}")

    async def _derive(
        self, passages: Sequence[Passage]
    ) -> Mapping[Key, tuple[IndexRecord, Vector] | None]:
        """The vector of a memory that answers questions is ``normalise(e(text) + e(questions))``.
        Questions that the embedder cannot take are left out."""
        known = await self._embedded([*map(embedded_passage, passages), *map(asks_text, passages)])
        derived: dict[Key, tuple[IndexRecord, Vector] | None] = {}
        for passage in passages:
            row, asks = known.get(embedded_passage(passage)), known.get(asks_text(passage))
            plain = b""
            if row is not None and asks is not None:
                plain = row.astype("<f2").tobytes()
                row = (row + asks) / np.linalg.norm(row + asks)
            record = IndexRecord(key_of(passage), self._hash(passage), plain)
            derived[record.key] = None if row is None else (record, row)
        return derived

    async def _embedded(self, texts: Iterable[str]) -> dict[str, Vector]:
        """Those that can be embedded. Raises EmbeddingFailed."""
        assert self._embedder is not None  # noqa: S101
        named = {content_hash(text): text for text in texts if text}
        known = {one: self._recent[one] for one in named if one in self._recent}
        if missing := [one for one in named if one not in known]:
            space = self._fingerprint
            rows = await self._embedder.embed_documents([named[one] for one in missing])
            self._check_still(space)
            new = zip(missing, rows, strict=True)
            known |= {one: row for one, row in new if row is not None}
            self._recent |= known
        while len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        return {named[one]: row for one, row in known.items()}

    async def _put(self, rows: Sequence[tuple[IndexRecord, Vector]]) -> None:
        records, vectors = [record for record, _ in rows], np.stack([row for _, row in rows])
        if not self._asks_store:
            await self._do(self._arrays.put, records, vectors)
        await self._keep(partial(self._do, self._store.write, records, vectors))
        if self._arrays.nbytes > self.most_bytes:
            raise IndexUnavailable("too many vectors for memory", code=_TOO_MANY)

    async def _drop(self, keys: Sequence[Key]) -> None:
        await self._do(self._arrays.drop, keys)
        await self._keep(partial(self._do, self._store.drop, keys))

    def _ready(self) -> Embedder:
        if self.state != "ready" or self._embedder is None:
            raise IndexUnavailable(f"index is {self.state}")
        return self._embedder

    def _check_still(self, space: Fingerprint | None) -> None:
        if self._fingerprint is not space:
            raise IndexUnavailable("another model is in use")

    def announce(self, text: str) -> None:
        """``neighbours`` will be asked of this text in a moment: a model on this machine begins
        with it. Elsewhere each call may cost money, and none is made."""
        if self.state == "ready" and self._embedder and self.label.startswith(_ON_THIS_MACHINE):
            while len(self._ahead) >= _MOST_AHEAD:
                self._ahead.pop(next(iter(self._ahead)))
            task = asyncio.ensure_future(self._embedder.embed_query(text))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._ahead[content_hash(text)] = task

    async def neighbours(
        self, text: str, scope_filter: ScopeFilter, k: int, common: Sequence[float] = ()
    ) -> tuple[Vector, Neighbours]:
        """The vector of a query's text apart from ``common``, and its visible neighbours.

        Raises:
            IndexUnavailable: the index is not ready, so that a vector would be of no use.
            EmbeddingFailed: none for this text now.
        """
        embedder, space = self._ready(), self._fingerprint
        try:
            ahead = self._ahead.pop(content_hash(text), None)
            vector = await (ahead or embedder.embed_query(text))
        except EmbeddingFailed as error:
            if error.code not in OF_THE_TEXT:  # the model is well, and words find this one
                self._went_wrong(EMBEDDING, error)
            raise
        self._went_well(EMBEDDING)
        self._check_still(space)
        vector = apart_from(vector, common)
        return vector, await self.nearest(vector, scope_filter, k)

    async def nearest(self, vector: Vector, scope_filter: ScopeFilter, k: int) -> Neighbours:
        """The visible neighbours of a vector. Raises IndexUnavailable."""
        self._ready()
        ask = self._store.query if self._asks_store else self._arrays.nearest
        async with self._asking():
            return await self._ask(partial(ask, vector, scope_filter, k))

    async def vectors(self, passages: Sequence[Passage]) -> list[Vector]:
        """Of what is stored, or about to be: what the texts alone say. Raises IndexUnavailable,
        EmbeddingFailed."""
        self._ready()
        space = self._fingerprint
        held = [key for passage in passages if not self.lacks(key := key_of(passage))]
        async with self._asking():
            known = await self._ask(partial(self._arrays.plain, held))
        texts = {
            key: embedded_passage(one) for one in passages if (key := key_of(one)) not in known
        }
        fresh = await self._embedded(texts.values())
        self._check_still(space)
        try:
            known |= {key: fresh[text] for key, text in texts.items()}
        except KeyError as error:
            raise EmbeddingFailed("no_vector: a text that has none") from error
        return [known[key_of(one)] for one in passages]

    async def clear_traces(self) -> None:
        """Write the store anew: a record that was deleted leaves its id and its vector in its files
        otherwise. Raises IndexUnavailable: they may be there still."""
        if self.words_alone:
            await self._do(self._store.drop, None)
            return
        async with self._writing:
            if self.leaving or self.state != "ready":
                raise IndexUnavailable(f"index is {self.state}", code=BUSY)
            try:
                if self._asks_store:  # for a moment all is in memory
                    self._fault = IndexUnavailable("too many vectors for memory", code=_TOO_MANY)
                    await self._read(sys.maxsize)
                    self._asks_store = False
                await self._write_anew()
            finally:
                self._changed.set()

    async def close(self) -> None:
        """Release the store and the embedder. ``run`` must have ended."""
        await super().close()
        if self._embedder is not None:
            await self._embedder.close()
