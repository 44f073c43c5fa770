"""Finds out, once per embedder, how far it may be trusted for which language."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ..errors import EmbeddingFailed
from ..index.embedding.ports import Embedder, Fingerprint, Vector, Vectors
from ..index.ports import TextIndex
from ..index.rules.common_part import apart_from, common_part
from ..index.rules.deduplication import MergeThresholds
from ..log import logger
from ..models.settings import IndexPace
from ..text.scripts import Language
from .ports import TrustBook
from .rules.trust import PROBES, Cohort, Scale, Trust, deviation_of, weight_of

_UNREADABLE = "language"


class WatchedEmbedder:
    """The same embedder; who waits for it hears when it is prepared, and as what."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.prepared = asyncio.Event()
        self.fingerprint: Fingerprint | None = None

    @property
    def label(self) -> str:
        return self._inner.label

    @property
    def merge_thresholds(self) -> MergeThresholds:
        return self._inner.merge_thresholds

    @property
    def colocated_index(self) -> TextIndex | None:
        return self._inner.colocated_index

    async def prepare(self) -> Fingerprint:
        self.fingerprint = await self._inner.prepare()
        self.prepared.set()
        return self.fingerprint

    async def embed_query(self, text: str) -> Vector:
        return await self._inner.embed_query(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return await self._inner.embed_documents(texts)

    async def close(self) -> None:
        await self._inner.close()


class EmbedderTrust:
    """No trust before the examination: until then words alone decide on the order."""

    def __init__(self, book: TrustBook, pace: IndexPace) -> None:
        self._book = book
        self._pace = pace
        self.found: Trust | None = None
        self.model = ""
        """The name of the embedder that was examined."""

    def weight(self, language: Language | None) -> float:
        """The embedder's share for a query in a language, 0 to 1."""
        return 0.0 if self.found is None else self.found.weight(language)

    def scale(self, language: Language | None, vector: Vector | None) -> Scale:
        """What the embedder calls near by chance, for a query in a language and its vector."""
        if self.found is None or vector is None:
            return Scale()
        return self.found.scale(language, vector.tolist())

    def common(self, language: Language | None) -> tuple[float, ...]:
        """What a query in a language shares with all others, for ``apart_from``."""
        return () if self.found is None else self.found.common(language)

    async def run(self, embedder: WatchedEmbedder) -> None:
        """Examine it as soon as it is prepared. Ends when that is done."""
        self.found = None
        failures = 0
        while True:
            await embedder.prepared.wait()
            fingerprint = embedder.fingerprint
            assert fingerprint is not None  # noqa: S101  (set before the event is)
            known = await asyncio.to_thread(self._book.read, fingerprint)
            if known is not None:
                self.found, self.model = known, fingerprint.model
                return
            try:
                papers = {language: await _examined(embedder, language) for language in Language}
            except EmbeddingFailed as error:
                logger.debug("嵌入模型暂时测不了：{}", error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1
                continue
            trust = Trust(
                {language: weight_of(rows) for language, (rows, _) in papers.items()},
                {language: cohort for language, (_, cohort) in papers.items()},
            )
            if embedder.fingerprint == fingerprint:
                self.found, self.model = trust, fingerprint.model
                await asyncio.to_thread(self._book.write, fingerprint, trust)
                return


async def _examined(embedder: Embedder, language: Language) -> tuple[list[list[float]], Cohort]:
    """The similarity of each question to each answer, and the cohort that they are.

    Raises EmbeddingFailed, but not for questions that it cannot read: their rows are empty.
    """
    answers = await embedder.embed_documents([answer for _, answer in PROBES[language]])
    questions: list[Vector | None] = []
    for question, _ in PROBES[language]:
        try:
            questions.append(await embedder.embed_query(question))
        except EmbeddingFailed as error:
            if error.code != _UNREADABLE:
                raise
            questions.append(None)
    return await asyncio.to_thread(_marked, questions, answers)


def _marked(questions: list[Vector | None], answers: Vectors) -> tuple[list[list[float]], Cohort]:
    import numpy as np

    read = [vector for vector in questions if vector is not None]
    common = common_part(np.stack(read)).tolist() if read else []
    rows = [
        [] if vector is None else (answers @ apart_from(vector, common)).tolist()
        for vector in questions
    ]
    centre = tuple(answers.mean(axis=0).tolist())
    return rows, Cohort(centre, deviation_of(rows), tuple(common))
