"""What lives, by its words: in memory, made of texts that were cut into words before or now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import ClassVar, Final

from ..errors import IndexUnavailable
from ..models.passages import Key, Passage
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..runtime.cooperative import cooperative
from ..runtime.notice_board import NoticeBoard
from ..text.tokenizer import Tokenizer
from .calls import BUSY, Calls
from .cut_texts import CutTexts, Tokens, cut, text_key
from .follower import CALL_SECONDS, Fault, Follower
from .passages import Passages
from .records import WordMatches, WordQuery, WordRecord, word_record
from .words import Words

_BATCH: Final = 1000
_TAKEN_IN: Final = 100
"""Passages that wait and take part in a search: each is cut into words first, which takes a third
of a millisecond."""


class WordIndex(Follower[tuple[WordRecord, Tokens]]):
    """Owns the index of words and the texts that were cut for it. Waits for no embedder: it is
    ready as soon as the dictionary is loaded."""

    codes: ClassVar = {"": "lexical_off"}
    anew = frozenset({"no_numpy"})
    may_wait: ClassVar = 0.0

    def __init__(
        self,
        passages: Passages,
        words: Words,
        cut_texts: CutTexts,
        tokenizer: Tokenizer,
        notices: NoticeBoard,
        settings: EngineSettings,
    ) -> None:
        super().__init__(passages, notices, settings.pace, batch=_BATCH, close=cut_texts.close)
        self._words = words
        self._cut_texts = cut_texts
        self._tokenizer = tokenizer
        self._is_tidy = False
        self._in_memory = Calls()  # apart from those that a disk may hold up

    async def search(self, query: WordQuery, scope_filter: ScopeFilter, k: int) -> WordMatches:
        """What shares words with the query; what was acknowledged last is taken in first, however
        long the rest takes. Raises IndexUnavailable."""
        if not self.is_open or self._doubt:  # it may lack what was read a moment ago
            raise IndexUnavailable(f"index of words is {self.state}", code="not_ready")
        if self._waiting:
            async with self._asking():
                await asyncio.shield(asyncio.ensure_future(self._take_newest()))
        async with self._asking():
            return await self._ask(partial(self._words.search, query, scope_filter, k))

    async def _take_newest(self) -> None:
        """Waits for no disk. They are cut anew at the next start."""
        async with self._writing:
            newest = dict(islice(reversed(self._waiting.items()), _TAKEN_IN))
            if not newest:  # it was taken in while this one waited
                return
            rows = await self._ask(partial(cut, [*newest.values()], self._tokenizer, None))
            await self._ask(partial(self._words.put, rows))
            for (key, passage), row in zip(newest.items(), rows, strict=True):
                self._written(key, passage, row)

    async def _open(self, fault: Fault | None) -> None:
        await self._do(self._cut_texts.open)

    async def _rest(self) -> None:
        """Forgets, once, the words of what changed while nothing followed."""
        if self._passages.are_whole and not self._is_tidy:
            self._is_tidy = True
            await self._do(self._forget_others)
        await super()._rest()

    def _forget_others(self, *, at_any_cost: bool = False) -> None:
        held = cooperative(self._held.copy().items())
        living = {(key.scope, content_hash) for key, content_hash in held}
        self._cut_texts.keep_only(living, at_any_cost=at_any_cost)

    def _hash(self, passage: Passage) -> str:
        return word_record(passage).content_hash

    async def _derive(self, passages: Sequence[Passage]) -> Mapping[Key, tuple[WordRecord, Tokens]]:
        """What is not read yet is on disk in its queue alone."""
        unread = [one for one in passages if self._passages.is_unread(one)]
        others = [one for one in passages if not self._passages.is_unread(one)]
        rows = await self._do(cut, unread, self._tokenizer, None)
        rows += await self._do(cut, others, self._tokenizer, self._cut_texts)
        return {row[0].key: row for row in rows}

    async def _put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        await self._in_memory.run(CALL_SECONDS, self._words.put, rows)

    async def _drop(self, keys: Sequence[Key]) -> None:
        await self._in_memory.run(CALL_SECONDS, self._words.drop, keys)

    async def _erase(self, passages: Sequence[Passage]) -> None:
        await self._do(self._forget, passages)

    def _forget(self, passages: Sequence[Passage]) -> None:
        self._cut_texts.forget(text_key(word_record(one)) for one in cooperative(passages))

    async def clear_traces(self) -> None:
        """Leave nothing on disk but the words of what lives. Raises IndexUnavailable: some may be
        left."""
        if self.leaving:
            raise IndexUnavailable(f"{self.leaving} to be forgotten", code=BUSY)
        await self._do(self._forget_others, at_any_cost=True)
