"""Finds out, once per embedder, how far it may be trusted for which language."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..errors import EmbeddingFailed
from ..index.embedding.ports import Embedder, Fingerprint, Vector, Vectors
from ..index.rules.common_part import apart_from, common_part
from ..log import logger
from ..models.settings import IndexPace
from ..text.scripts import Language
from .rules.trust import Cohort, Trust
from .trust_file import JsonTrustBook

_UNREADABLE = "language"
_NOTHING_BELOW, _ALL_FROM = 0.45, 0.7
"""Shares of right answers. Chance gives a twentieth."""


@cache
def probes() -> dict[Language, list[tuple[str, str]]]:
    """The questions of the examination, each with its answer. Blocks at the first call."""
    found = json.loads(Path(__file__).with_name("probes.json").read_text("utf-8"))
    return {language: [(asked, told) for asked, told in found[language]] for language in Language}


@dataclass(eq=False)
class EmbedderTrust:
    """No trust before the examination: until then words alone decide on the order."""

    _book: JsonTrustBook
    _pace: IndexPace
    found: Trust = field(default_factory=Trust)
    model: str = ""
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
                logger.debug("the embedder cannot be examined for now: {}", error)
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
    pairs = (await asyncio.to_thread(probes))[language]
    answers = await embedder.embed_documents([answer for _, answer in pairs])
    questions: list[Vector | None] = []
    for question, _ in pairs:
        try:
            questions.append(await embedder.embed_query(question))
        except EmbeddingFailed as error:
            if error.code != _UNREADABLE:
                raise
            questions.append(None)
    return await asyncio.to_thread(_marked, questions, answers)


def _marked(questions: list[Vector | None], answers: Vectors) -> Cohort:
    """The weight grows with the share of questions whose own answer is the nearest; one that the
    embedder refuses finds none. The deviation is that of each question's similarities to the
    answers of the others, around their own mean."""
    import numpy as np

    centre = tuple(answers.mean(axis=0).tolist())
    read = [place for place, vector in enumerate(questions) if vector is not None]
    if not read:
        return Cohort(0.0, centre, 0.0)
    asked = np.stack([vector for vector in questions if vector is not None])
    common = common_part(asked).tolist()
    rows = np.stack([answers @ apart_from(vector, common) for vector in asked]).astype(float)
    is_own = np.arange(len(answers)) == np.array(read)[:, None]
    others = rows[~is_own].reshape(len(read), -1)
    right = int((rows[is_own] > others.max(axis=1)).sum())
    share = (right / len(questions) - _NOTHING_BELOW) / (_ALL_FROM - _NOTHING_BELOW)
    deviation = float((others - others.mean(axis=1, keepdims=True)).std())
    return Cohort(min(max(share, 0.0), 1.0), centre, deviation, tuple(common))
