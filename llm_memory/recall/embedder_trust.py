"""How far an embedder may be trusted for a language: a small examination, once per model, whose
result is kept in ``index/trust.json``.

Each pair of ``probes.json`` is a question and its answer in other words, of which none is the
same. So what hashes words, or nothing at all, finds none by merit, and gets no weight beside an
index that knows words better. A model that knows the language finds nearly all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import sumprod
from pathlib import Path

from ..errors import EmbeddingFailed, VaultWriteFailed
from ..index.embedding.failures import OF_THE_TEXT
from ..index.embedding.ports import Embedder, Fingerprint, Vector
from ..index.rules.common_part import apart_from
from ..log import logger
from ..models.settings import Pace
from ..storage.files import make_folder, replace_durably, when_free
from ..text.scripts import Language

EXAMINATION = 6
"""Its number: with another one, embedders are examined anew."""
_NOTHING_BELOW, _ALL_FROM = 0.45, 0.7
"""Shares of right answers. Chance gives a twentieth."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """What was told of an embedder in one language: "Similarity" in ``docs/dev/recall.md``.

    Attributes:
        weight: How far it is trusted, 0 to 1.
        centre: The mean vector of texts that have nothing to do with each other, shape ``(dim,)``.
        deviation: The standard deviation of a question's similarities to them.
        common: What is taken from each question, shape ``(dim,)``; empty for nothing.
    """

    weight: float
    centre: tuple[float, ...]
    deviation: float
    common: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Kept:
    examination: int
    of: Fingerprint
    cohorts: Mapping[Language, Cohort]


@dataclass(eq=False)
class _Begun:
    """An examination that goes on where it failed: a service may take few calls a minute."""

    of: Fingerprint
    _cohorts: dict[Language, Cohort] = field(default_factory=dict)
    _questions: dict[str, Vector] = field(default_factory=dict)

    async def all_of(self, embedder: Embedder) -> Mapping[Language, Cohort]:
        """Raises EmbeddingFailed."""
        for language in Language:
            if language not in self._cohorts:
                self._cohorts[language] = await self._examined(embedder, language)
        return self._cohorts

    async def _examined(self, embedder: Embedder, language: Language) -> Cohort:
        pairs = (await asyncio.to_thread(probes))[language]
        try:
            for question, _ in pairs:
                if question not in self._questions:
                    self._questions[question] = await embedder.embed_query(question)
        except EmbeddingFailed as error:
            if error.code not in OF_THE_TEXT:
                raise
            return Cohort(0.0, (), 0.0)
        answers = await embedder.embed_documents([answer for _, answer in pairs])
        rows = [row for row in answers if row is not None]
        questions = [self._questions[question] for question, _ in pairs]
        if len(rows) < len(pairs):
            return Cohort(0.0, (), 0.0)
        return await asyncio.to_thread(_marked, questions, rows)


@cache
def probes() -> dict[Language, list[tuple[str, str]]]:
    """The questions of the examination, each with its answer. Blocks at the first call."""
    found = json.loads(Path(__file__).with_name("probes.json").read_text("utf-8"))
    return {language: [(asked, told) for asked, told in found[language]] for language in Language}


@dataclass(eq=False)
class EmbedderTrust:
    """What an examination told of a ``model``, kept in a file, which is a cache. No trust before
    it, and none in a model from the moment on at which it is another one's turn: until that is
    examined words alone decide on the order."""

    _path: Path
    _pace: Pace
    cohorts: Mapping[Language, Cohort] = field(default_factory=dict)
    model: str = ""

    def weight(self, language: Language | None) -> float:
        """For a query, 0 to 1. What is in neither language gets the least of all weights."""
        return min((cohort.weight for cohort in self._asked(language)), default=0.0)

    def common(self, language: Language | None) -> tuple[float, ...]:
        """What questions of a language share, for ``apart_from``; empty for a query in neither."""
        return self._asked(language)[0].common if language and self.cohorts else ()

    def chance(self, language: Language | None, vector: Sequence[float]) -> tuple[float, float]:
        """Mean and standard deviation of a query's similarities to what has nothing to do with it,
        by its unit vector, shape ``(dim,)``. What is in neither language is measured by the
        greatest of all means; a deviation of 0 says that nothing can be compared."""
        asked = [one for one in self._asked(language) if len(one.centre) == len(vector)]
        means = ((sumprod(vector, cohort.centre), cohort.deviation) for cohort in asked)
        return max(means, key=lambda mean: mean[0], default=(0.0, 0.0))

    def _asked(self, language: Language | None) -> list[Cohort]:
        return [one for name, one in self.cohorts.items() if language in (None, name)]

    async def run(
        self,
        embedder: Embedder,
        prepared: Callable[[Fingerprint | None], Awaitable[Fingerprint]],
    ) -> None:
        """Examine it as soon as it is prepared, and again whenever ``prepared`` tells of another
        space than the one that it is given. Never ends."""
        examined: Fingerprint | None = None
        begun: _Begun | None = None
        failures = 0
        while True:
            fingerprint = await prepared(examined)
            self.cohorts = {}
            known = await asyncio.to_thread(self._known, fingerprint)
            if begun is None or begun.of != fingerprint:
                begun = _Begun(fingerprint)
            try:
                found = known or await begun.all_of(embedder)
            except EmbeddingFailed as error:
                logger.debug("the embedder cannot be examined for now: {}", error)
                await asyncio.sleep(self._pace.retry(failures))
                failures += 1
                continue
            examined, failures = fingerprint, 0
            if await prepared(None) != fingerprint:
                continue  # it may have been the other one that answered
            self.cohorts, self.model = found, fingerprint.model
            if not known:
                await asyncio.to_thread(self._keep, _Kept(EXAMINATION, fingerprint, found))

    def _known(self, fingerprint: Fingerprint) -> Mapping[Language, Cohort] | None:
        """Of this embedder, by the present examination. Blocks; what is unreadable is not known."""
        from pydantic import TypeAdapter

        try:
            kept = TypeAdapter(_Kept).validate_json(when_free(self._path.read_bytes))
        except (OSError, ValueError):
            return None
        is_of = (kept.examination, kept.of) == (EXAMINATION, fingerprint)
        return kept.cohorts if is_of else None

    def _keep(self, kept: _Kept) -> None:
        """Blocks, and raises nothing; what was known of other embedders goes."""
        from pydantic import TypeAdapter

        with contextlib.suppress(OSError, VaultWriteFailed):
            make_folder(self._path.parent)
            replace_durably(self._path, TypeAdapter(_Kept).dump_json(kept, indent=1))


def _marked(questions: Sequence[Vector], told: Sequence[Vector]) -> Cohort:
    """The weight grows with the share of questions whose own answer is the nearest. The deviation
    is that of each question's similarities to the answers of the others, around their own mean."""
    import numpy as np

    common, answers = np.stack(questions).mean(axis=0).tolist(), np.stack(told)
    rows = np.stack([answers @ apart_from(vector, common) for vector in questions]).astype(float)
    is_own = np.eye(len(answers), dtype=bool)
    others = rows[~is_own].reshape(len(answers), -1)
    right = int((rows[is_own] > others.max(axis=1)).sum())
    share = (right / len(answers) - _NOTHING_BELOW) / (_ALL_FROM - _NOTHING_BELOW)
    deviation = float((others - others.mean(axis=1, keepdims=True)).std())
    centre = tuple(answers.mean(axis=0).tolist())
    return Cohort(min(max(share, 0.0), 1.0), centre, deviation, tuple(common))
