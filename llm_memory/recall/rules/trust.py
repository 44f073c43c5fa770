"""How far an embedder may be trusted for a language: a small examination. Pure.

Each pair of ``probes.json`` is a question and its answer in other words; no answer shares a word
with its own question (a test sees to it). So what hashes words, or nothing at all, finds none of
them by merit, and gets no weight beside an index that knows words better. A model that knows the
language finds nearly all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sumprod
from operator import itemgetter

from ...text.scripts import Language

EXAMINATION = 5
"""Its number: with another one, embedders are examined anew."""

_UNEXAMINED = 0.1
"""The deviation that is taken before the examination, where only vectors can answer."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """What an examination told of an embedder in one language: how far it is trusted, and what it
    calls near by chance, from texts that have nothing to do with each other.

    Some questions are near to every text, and some texts to every question. So a similarity is
    measured against the mean of the same question's to a cohort of texts, and against the mean of
    the same text's to a cohort of questions: the normalisations of scores called T-norm and Z-norm
    (Auckenthaler et al. 2000), and S-norm together (Shum et al. 2010). The first mean is the
    similarity to the texts' mean vector; the second is a similarity to the questions' mean vector,
    so that it is enough to take that from the question, see ``apart_from``.

    Attributes:
        weight: 0 to 1.
        centre: The mean vector of the texts, shape ``(dim,)``.
        deviation: The standard deviation of a question's similarities to them.
        common: What is taken from each question, shape ``(dim,)``; empty for nothing.
    """

    weight: float
    centre: tuple[float, ...]
    deviation: float
    common: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trust:
    """What an examination told of an embedder; of an empty one nothing is known."""

    cohorts: Mapping[Language, Cohort] = field(default_factory=dict)

    def weight(self, language: Language | None) -> float:
        """For a query, 0 to 1. What is in neither language gets the least of all weights."""
        return min((cohort.weight for cohort in self._asked(language)), default=0.0)

    def common(self, language: Language | None) -> tuple[float, ...]:
        """What questions of a language share, for ``apart_from``; empty for a query in neither."""
        return () if language is None else self.cohorts[language].common if self.cohorts else ()

    def chance(self, language: Language | None, vector: Sequence[float]) -> tuple[float, float]:
        """Mean and standard deviation of a query's similarities to what has nothing to do with it,
        by its unit vector, shape ``(dim,)``. What is in neither language is measured by the
        greatest of all means; a deviation of 0 says that nothing can be compared."""
        asked = [one for one in self._asked(language) if len(one.centre) == len(vector)]
        means = ((sumprod(vector, cohort.centre), cohort.deviation) for cohort in asked)
        return max(means, key=itemgetter(0), default=(0.0, 0.0 if self.cohorts else _UNEXAMINED))

    def _asked(self, language: Language | None) -> list[Cohort]:
        return [one for name, one in self.cohorts.items() if language in (None, name)]
