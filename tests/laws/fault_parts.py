"""Parts of an engine that work until a test breaks them, and the ways in which they fail."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    EmbeddingFailed,
    RerankFailed,
    StateUnavailable,
    VaultWriteFailed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.ports import Neighbour, Neighbours
from astrbot_plugin_scoped_memory.llm_memory.index.records import WordMatch, WordMatches
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.words import keys_in
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop, no_thread_starts

RAISES, HANGS, STUBBORN = "raises", "hangs", "hangs whatever is cancelled"
SLOW, TOO_SLOW, HELD, FULL = "is slow", "is too slow", "is another's lock", "is full"
LIES, HALF, PICKY = "lies", "forgets half", "refuses one text"
_SECONDS: Final = {SLOW: 0.15, TOO_SLOW: 0.5}
"""Of each call: the indexes are given .2 of a second, an embedder .48, a reranker .32."""
_UNKNOWN: Final = "m-00000000000000"
_INVENTED: Final = Key("家人", _UNKNOWN)

WAYS: Final = {
    "words": (RAISES, HANGS, SLOW, TOO_SLOW, HELD, FULL, LIES, HALF),
    "vectors": (RAISES, HANGS, SLOW, TOO_SLOW, HELD, FULL, LIES, HALF),
    "embedder": (RAISES, HANGS, STUBBORN, SLOW, TOO_SLOW, LIES, HALF, PICKY),
    "reranker": (RAISES, HANGS, STUBBORN, SLOW, TOO_SLOW, LIES, HALF),
    "state": (RAISES, HANGS, SLOW, HELD),
    "turns": (RAISES, HANGS, SLOW, HELD),
    "ledger": (RAISES, HELD),  # it is asked inside the vault's lock: who hangs there hangs in it
    "vault": (RAISES, HANGS, SLOW, FULL),
    "threads": (RAISES, HANGS),
}
INDEXES: Final = frozenset({"words", "vectors", "embedder", "reranker"})
"""What a recall asks, and does without."""


@dataclass(frozen=True)
class Fault:
    """A part, and how it fails."""

    part: str
    way: str

    def __str__(self) -> str:
        return f"{self.part} {self.way}"


_FAILS: Final = (RAISES, HELD, FULL)
NOTICES: Final = {
    **{("words", way): "lexical_off" for way in _FAILS},
    **{("vectors", way): "index_off" for way in (RAISES, HELD)},
    ("vectors", FULL): "index_full",
    **{("embedder", way): "embedder_failing" for way in (RAISES, LIES, HALF)},
    **{("turns", way): "turns_lost" for way in (RAISES, HELD)},
    **{("vault", way): "vault_unwritable" for way in (RAISES, FULL)},
    ("threads", RAISES): "index_off",
}
AT_ITS_START: Final = {("state", way): "state_unavailable" for way in (RAISES, HELD)}
WHILE_IT_RUNS: Final = {
    ("vectors", HANGS): "index_off",
    # At the start a model may be loaded for as long as it takes.
    **{("embedder", way): "embedder_failing" for way in (HANGS, STUBBORN)},
}


def notice_of(fault: Fault, *, at_the_start: bool) -> str | None:
    """What the owner must be told of it within minutes."""
    more = AT_ITS_START if at_the_start else WHILE_IT_RUNS
    return {**NOTICES, **more}.get((fault.part, fault.way))


FAULTS: Final = [Fault(part, way) for part, ways in WAYS.items() for way in ways]


@dataclass
class Switches:
    """Which parts of one engine fail now."""

    loop: TurnedLoop
    now: dict[str, str] = field(default_factory=dict)
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a part was asked while it failed, by the name of the call."""
    released: asyncio.Event = field(default_factory=asyncio.Event)
    _threads: ExitStack = field(default_factory=ExitStack)

    def break_parts(self, faults: Collection[Fault]) -> None:
        """From now on; of a part that fails in two ways the last one counts."""
        self.released.clear()
        self.now = {fault.part: fault.way for fault in faults}
        match self.now.get("threads"):
            case "raises":
                self._threads.enter_context(no_thread_starts())
            case "hangs":
                self.loop.take_all_workers()

    def repair(self) -> None:
        """All parts work, and whoever hangs goes on."""
        self.now = {}
        self._threads.close()
        self.released.set()
        self.loop.let_go()

    async def pause(self, way: str) -> None:
        """What a call of the loop's waits for before it works."""
        while way in (HANGS, STUBBORN) and not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if way == HANGS:
                    raise
        if way in _SECONDS:
            await asyncio.sleep(_SECONDS[way])


@dataclass(frozen=True)
class _Manner:
    """How one part fails: its own errors, and what fills it."""

    broken: Exception
    held: Exception
    full: Exception | None = None
    filling: frozenset[str] = frozenset()
    untouched: frozenset[str] = frozenset({"close"})
    """A call to close is the last: what becomes of it is nobody's business."""
    instead: str = ""
    """What is called where the part is done without: from then on nothing of it fails."""


class Faulty:
    """Any part. Its calls in threads fail as its switch says; on the loop it only tells what it
    knows."""

    def __init__(self, part: str, inner: Any, switches: Switches) -> None:
        self._part = part
        self._inner = inner
        self._switches = switches
        self._done_without = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or isinstance(found, Faulty):
            return found
        if inspect.iscoroutinefunction(found):
            return self._asked(name, found)
        return self._called(name, found)

    def _called(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        manner = _MANNERS[self._part]

        def called(*args: Any, **kwargs: Any) -> Any:
            way = self._switches.now.get(self._part)
            self._done_without |= name == manner.instead
            spared = name in manner.untouched or self._done_without
            if way is None or spared or self._switches.loop.is_own_thread:
                return call(*args, **kwargs)
            self._switches.hits[self._part, name] += 1
            if way == RAISES:
                raise manner.broken
            if way == HELD:
                raise manner.held
            if way == FULL and name in manner.filling:
                raise manner.full or manner.broken
            answer = None
            if way in _SECONDS and name in _SNAPSHOTS:  # what comes meanwhile is not in the answer
                answer = call(*args, **kwargs)
            if way == HANGS or way in _SECONDS:
                self._switches.loop.rest(_SECONDS.get(way))
            return self._spoilt(way, name, answer or call(*args, **kwargs))

        return called

    def _asked(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        manner = _MANNERS[self._part]

        async def asked(*args: Any, **kwargs: Any) -> Any:
            way = self._switches.now.get(self._part)
            if way is None or name in manner.untouched:
                return await call(*args, **kwargs)
            self._switches.hits[self._part, name] += 1
            if way == RAISES:
                raise manner.broken
            if way == PICKY:
                _refuse(name, *args)
            await self._switches.pause(way)
            return self._spoilt(way, name, await call(*args, **kwargs))

        return asked

    def _spoilt(self, way: str, name: str, answer: Any) -> Any:
        spoil = _SPOILT.get((self._part, way, name))
        return answer if spoil is None else spoil(self._inner, answer)


_SNAPSHOTS: Final = ("query", "search")
REFUSED: Final = "大扫除"


def _refuse(name: str, *asked: Any) -> None:
    """As a model that cannot read one text, and no question."""
    if name == "embed_query":
        raise EmbeddingFailed("language: this model cannot tell zh texts apart")
    if name == "embed_documents" and any(REFUSED in text for text in asked[0]):
        raise EmbeddingFailed("not_finite")


def _everything(index: Any) -> list[Key]:
    """All that it holds, of whatever scope, and what it never held."""
    if isinstance(index, MemoryStore):
        return [*(key for rows in index.disk.collections.values() for key in rows), _INVENTED]
    return [*keys_in(index), _INVENTED]


_SPOILT: Final[dict[tuple[str, str, str], Callable[[Any, Any], Any]]] = {
    ("words", LIES, "search"): lambda index, _: WordMatches(
        tuple(WordMatch(key, 1.0, 1.0, 1.0) for key in _everything(index))
    ),
    ("words", HALF, "search"): lambda _, answer: replace(answer, found=answer.found[::2][1:]),
    ("vectors", LIES, "query"): lambda index, _: Neighbours(
        tuple(Neighbour(key, 0.99) for key in _everything(index))
    ),
    ("vectors", HALF, "query"): lambda _, answer: replace(answer, found=answer.found[1::2]),
    **{
        ("embedder", way, call): spoil
        for call in ("embed_query", "embed_documents")
        for way, spoil in (
            (LIES, lambda _, answer: np.full_like(answer, math.nan)),
            (HALF, lambda _, answer: answer[: len(answer) // 2]),
        )
    },
    ("reranker", LIES, "rerank"): lambda _, answer: [math.nan for _ in answer],
    ("reranker", HALF, "rerank"): lambda _, answer: list(answer)[1::2],
}
"""What a part that lies, or forgets half, answers in the place of what it knows."""


_STATE: Final = _Manner(
    broken=StateUnavailable("disk I/O error"),
    held=StateUnavailable("database is locked"),
    instead="open_in_memory",
)
_MANNERS: Final = {
    "words": _Manner(
        broken=IndexUnavailable("bad block"),
        held=IndexUnavailable("database is locked", code="busy"),
        full=IndexUnavailable("no space left", code="full"),
        filling=frozenset({"put"}),
    ),
    "vectors": _Manner(
        broken=IndexUnavailable("bad block"),
        held=IndexUnavailable("chroma.sqlite3 is locked", code="busy"),
        full=IndexUnavailable("10 MB free", code="full"),
        filling=frozenset({"write"}),
    ),
    "embedder": _Manner(
        broken=EmbeddingFailed("error: 503"),
        held=EmbeddingFailed("error: 429"),
    ),
    "reranker": _Manner(
        broken=RerankFailed("gone"),
        held=RerankFailed("refused"),
    ),
    "state": _STATE,
    "turns": _STATE,
    "ledger": replace(_STATE, untouched=frozenset({"open", "close"})),
    "vault": _Manner(
        broken=VaultWriteFailed("input/output error"),
        held=VaultWriteFailed("resource busy"),
        full=VaultWriteFailed("no space left on device"),
        filling=frozenset(
            {"append", "append_many", "replace", "edit", "archive", "archive_many", "restore"}
            | {"move", "purge", "write_repair", "archive_deleted", "ensure"}
        ),
    ),
}


class Speaking:
    """A reranker that keeps what it was shown: it lies outside of the house."""

    label = "speaking"

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.shown += [(query, text) for text in texts]
        return [len(text) / 100 for text in texts]
