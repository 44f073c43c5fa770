"""Recall: ask the index, scan what it cannot know, and choose."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from ..errors import EmbeddingFailed, IndexUnavailable
from ..models.data_models import StoredMemory
from ..models.recall import Arm, DropReason, Recall, Trace
from ..models.scope import ScopeFilter
from ..models.settings import EngineSettings
from ..policies.overlap import shortlist
from ..policies.ranking import Candidate, above_floor, choose
from ..policies.text import clean, content_hash, embedded_text
from ..ports import Embedder, Vector
from .catalogue import Catalogue
from .indexing_service import IndexingService

CANDIDATES = 50
MAX_QUERY = 800
"""Characters: what is looked for costs time in proportion to its length."""
SHORTLIST = 200
"""Memories that a scan embeds: those that share the most with the query."""
SCAN_LIMIT = 5000
"""The newest memories that a scan looks at: of the reader's own scope, and of the others."""
_CACHED_VECTORS = 2000


class Stopwatch:
    """Milliseconds by stage of one recall."""

    def __init__(self) -> None:
        self._since = time.perf_counter()
        self.milliseconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """The time since the last lap went into this stage."""
        now = time.perf_counter()
        self.milliseconds[stage] = (now - self._since) * 1000
        self._since = now


class MemoryManager:
    """Takes an already resolved scope filter. ``scanner`` is the built-in embedder."""

    def __init__(
        self,
        catalogue: Catalogue,
        indexing: IndexingService,
        scanner: Embedder,
        settings: EngineSettings,
    ) -> None:
        self._catalogue = catalogue
        self._indexing = indexing
        self._scanner = scanner
        self._settings = settings
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self.scope_check_drops = 0

    async def comprehensive_recall(
        self, query: str, scope_filter: ScopeFilter, *, limit: int, token_budget: int
    ) -> Recall:
        """The best visible memories for a query, within limit and budget. Never raises for a
        broken index or embedder: then it scans."""
        query = _bounded(clean(query))
        notes: list[str] = []
        dropped: dict[DropReason, int] = {}
        candidates: list[Candidate] = []
        arm = Arm.NONE
        stages = Stopwatch()
        if query and limit > 0:
            try:
                # Asked for before the index is: what is written into it while it searches would
                # be in neither of the two.
                behind = self._newest(scope_filter, self._indexing.pending)
                candidates, dropped = await self._dense(query, scope_filter, stages)
                arm = Arm.DENSE
                candidates += await self._scan(query, behind)
                stages.lap("scan")
            except (IndexUnavailable, EmbeddingFailed) as error:
                notes.append(str(error))
                stages.lap("index")
                candidates = await self._scan(
                    query, self._newest(scope_filter, self._catalogue.visible(scope_filter))
                )
                stages.lap("scan")
                arm = Arm.SCAN
        hits, lost = choose(
            (c for c in candidates if scope_filter.admits(c.stored.scope.name)),
            limit=limit,
            token_budget=token_budget,
            preview_chars=self._settings.preview_chars,
        )
        stages.lap("choose")
        trace = Trace(
            scopes=scope_filter.names,
            arm=arm,
            candidates=len(candidates),
            dropped=dropped | lost,
            milliseconds=stages.milliseconds,
            notes=tuple(notes),
        )
        return Recall(hits, trace)

    async def _dense(
        self, query: str, scope_filter: ScopeFilter, stages: Stopwatch
    ) -> tuple[list[Candidate], dict[DropReason, int]]:
        vector = await self._indexing.embed(query)
        stages.lap("embed")
        answer = await self._indexing.nearest(vector, scope_filter, CANDIDATES)
        stages.lap("index")
        refused = answer.dropped
        floor = self._settings.relevance_floor
        floor = self._indexing.floor if floor is None else floor
        candidates = []
        gone = 0
        for neighbour in answer.found:
            if not scope_filter.admits(neighbour.key.scope):
                refused += 1
                continue
            stored = self._catalogue.get(neighbour.key)
            if stored is None:
                gone += 1
                continue
            candidates.append(Candidate(stored, above_floor(neighbour.similarity, floor)))
        self.scope_check_drops += refused
        dropped = {DropReason.SCOPE: refused, DropReason.GONE: gone}
        return candidates, {reason: count for reason, count in dropped.items() if count}

    def _newest(
        self, scope_filter: ScopeFilter, memories: Iterable[StoredMemory]
    ) -> list[StoredMemory]:
        """The visible ones. A busy public scope must not push a family's out of sight."""
        own: list[StoredMemory] = []
        others: list[StoredMemory] = []
        for stored in memories:
            if not scope_filter.admits(stored.scope.name):
                continue
            (own if stored.scope == scope_filter.scopes[0] else others).append(stored)
        for part in (own, others):
            if len(part) > SCAN_LIMIT:
                part.sort(key=lambda stored: stored.memory.created_at)
        return own[-SCAN_LIMIT:] + others[-SCAN_LIMIT:]

    async def _scan(self, query: str, memories: Sequence[StoredMemory]) -> list[Candidate]:
        """The memories that share words with the query, compared by the built-in embedder."""
        if not memories:
            return []
        folded = [self._catalogue.folded(stored) for stored in memories]
        places = await asyncio.to_thread(shortlist, query, folded, SHORTLIST)
        try:
            wanted = await self._scanner.embed_query(query)
            vectors = await self._vectors([embedded_text(memories[p].memory) for p in places])
        except EmbeddingFailed:
            return []
        floor = self._scanner.floor
        return [
            Candidate(memories[place], above_floor(float(wanted @ vector), floor))
            for place, vector in zip(places, vectors, strict=True)
        ]

    async def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        names = [content_hash(text) for text in texts]
        known = {name: self._cache[name] for name in names if name in self._cache}
        missing = {n: t for n, t in zip(names, texts, strict=True) if n not in known}
        if missing:
            fresh = await self._scanner.embed_documents(list(missing.values()))
            known.update(zip(missing, fresh, strict=True))
            for name in missing:
                self._cache[name] = known[name]
            while len(self._cache) > _CACHED_VECTORS:
                self._cache.popitem(last=False)
        return [known[name] for name in names]

    def clear(self) -> None:
        """Let go of the kept vectors."""
        self._cache.clear()


def _bounded(query: str) -> str:
    """The beginning and the end of a long message: a question stands at either."""
    if len(query) <= MAX_QUERY:
        return query
    return f"{query[: MAX_QUERY // 2]} {query[-MAX_QUERY // 2 :]}"
