"""Finds out, once per embedder, how far it may be trusted for which language."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..errors import EmbeddingFailed
from ..index.embedding.ports import Embedder, Fingerprint, Vector, Vectors
from ..index.rules.common_part import apart_from, common_part
from ..log import logger
from ..models.settings import IndexPace
from ..text.scripts import Language
from .ports import TrustBook
from .rules.trust import PROBES, Cohort, Trust, deviation_of, weight_of

_UNREADABLE = "language"


class EmbedderTrust:
    """No trust before the examination: until then words alone decide on the order."""

    def __init__(self, book: TrustBook, pace: IndexPace) -> None:
        self._book = book
        self._pace = pace
        self.found = Trust()
        self.model = ""
        """The name of the embedder that was examined."""

    async def run(self, embedder: Embedder, prepared: Callable[[], Awaitable[Fingerprint]]) -> None:
        """Examine it as soon as it is prepared. Ends when that is done."""
        self.found = Trust()
        failures = 0
        while True:
            fingerprint = await prepared()
            known = await asyncio.to_thread(self._book.read, fingerprint)
            try:
                found = known or Trust({one: await _examined(embedder, one) for one in Language})
            except EmbeddingFailed as error:
                logger.debug("嵌入模型暂时测不了：{}", error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1
                continue
            if await prepared() == fingerprint:
                self.found, self.model = found, fingerprint.model
                if known is None:
                    await asyncio.to_thread(self._book.write, fingerprint, found)
                return


async def _examined(embedder: Embedder, language: Language) -> Cohort:
    """Raises EmbeddingFailed, but not for questions that it cannot read: none finds its answer."""
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


def _marked(questions: list[Vector | None], answers: Vectors) -> Cohort:
    import numpy as np

    read = [vector for vector in questions if vector is not None]
    common = common_part(np.stack(read)).tolist() if read else []
    rows = [
        [] if vector is None else (answers @ apart_from(vector, common)).tolist()
        for vector in questions
    ]
    centre = tuple(answers.mean(axis=0).tolist())
    return Cohort(weight_of(rows), centre, deviation_of(rows), tuple(common))
