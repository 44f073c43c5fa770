"""Whether a candidate is relevant at all, and how it ranks: one judge for one question. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ..models.passages import Passage
from .language import Language
from .preference import in_time, named_speaker, salience, speaker_factor, time_factor
from .ranking import Candidate, above_floor
from .time_spans import TimeSpan

LEXICAL_FLOORS = {Language.CHINESE: 0.43, Language.ENGLISH: 0.34}
"""How much of a question a memory must speak of, as a share of its weight. Measured by
``benchmarks/retrieval.py``: docs/benchmarks.md has the curve."""
_OTHER_FLOOR = 0.38
MANY = 100
"""From so many memories on the floors are as measured."""
_FEW = 10
_AMONG_FEW = 0.8
"""What is left of a floor among ten memories, or fewer."""
_IN_TIME = 0.9
"""What is left of the floor for what was said when the question says."""
_OUT_OF_TIME = 2.0
"""What becomes of it for what was said at another time than the one that the question names."""
_BESIDE_WORDS = 0.04
_LEAST = 1e-6
_EMPTY = re.compile(
    "[\\s\\W_]|[那当这](?:一|几)?天|那(?:几)?个?(?:周|星期|月)|大家|群[里聊]|聊天|日记|回顾|帮我|"
    "忙(?=[了些什啥着])|写(?=[了过些什啥的])|早上|上午|中午|下午|傍晚|晚上|夜里|凌晨|"
    "[我你您他她它们咱的了是在吗呢吧啊呀么嘛都就还也又跟和与对给把被有没无过着"
    "说聊谈讲问提到做干发生什怎样哪些谁几多少事情件啥儿内容话题里边上那这个一下请告诉记得"
    "回忆看想起来所及总结]"
    r"|\b(?:what|did|do|does|was|were|is|are|we|you|i|me|us|they|he|she|it|talk|talked|say|said|"
    r"discuss|discussed|happen|happened|about|the|a|an|on|in|at|of|to|and|any|anything|something|"
    r"things?|news|up|tell|remember|recall|have|has|had|been|going|summari[sz]e|can|could|please|"
    r"remind|our|were|doing|done|journal|diary|day|that|this|chat|conversations?|summary|recap|"
    r"morning|afternoon|evening|night)\b",
    re.IGNORECASE,
)


def lexical_floor(language: Language | None, among: int = MANY) -> float:
    """How much of a question a memory must speak of, 0 to 1.

    ``among`` so many that the asker sees. The more there are, the likelier one of them shares words
    with a question by chance, in proportion to the logarithm of their number: among few, less is
    asked for. The floors were measured among hundreds.
    """
    floor = _OTHER_FLOOR if language is None else LEXICAL_FLOORS[language]
    many = min(max(among, _FEW), MANY)
    share = math.log(many / _FEW) / math.log(MANY / _FEW)
    return floor * (_AMONG_FEW + (1.0 - _AMONG_FEW) * share)


def dense_floor(floor: float, *, beside_words: bool) -> float:
    """An embedder's floor, a little higher where words were asked, too: either arm is enough, and
    what each lets through by chance adds up."""
    return floor + _BESIDE_WORDS * (1.0 - floor) if beside_words else floor


def is_about_time_alone(subject: str) -> bool:
    """True for what is left of 昨天聊了什么 without the time: nothing that an entry could hold."""
    return not _EMPTY.sub("", subject)


@dataclass(frozen=True, slots=True)
class Judge:
    """What is asked, as far as it concerns the order and the floor. ``asked_at`` is a POSIX time,
    ``zone`` the asker's."""

    times: Sequence[TimeSpan]
    speaker: str
    asker: Collection[str]
    asked_at: float
    zone: tzinfo | None
    word_floor: float
    dense_floor: float
    by_time: bool = False
    """The question, its times left out, says nothing: 昨天聊了什么."""

    @classmethod
    def of(
        cls,
        query: str,
        passages: Collection[Passage],
        *,
        subject: str,
        times: Sequence[TimeSpan],
        asker: Collection[str],
        now: datetime,
        language: Language | None,
        word_floor: float | None,
        dense_floor: float,
        among: int = MANY,
    ) -> Judge:
        """``passages`` are all candidates: a name in the question is that of one who speaks.
        ``asker``: the ids of who asks of himself.
        ``among`` so many that the asker sees, as far as that matters."""
        floor = lexical_floor(language, among) if word_floor is None else word_floor
        speaker = named_speaker(query, passages)
        by_time = is_about_time_alone(subject)
        return cls(times, speaker, asker, now.timestamp(), now.tzinfo, floor, dense_floor, by_time)

    def candidate(
        self,
        passage: Passage,
        *,
        score: float,
        match: tuple[float, float] | None,
        similarity: float | None,
        uses: int = 0,
    ) -> Candidate:
        """The relevance is that of the arm that is surer.

        Args:
            score: Of both arms together.
            match: Score and coverage of the words' arm, None where it did not find it.
            similarity: Of the embedder, None where it did not.
            uses: How often it was found useful.
        """
        span = in_time(passage, self.times, self.zone)
        floor = self.word_floor
        if span is not None:
            floor *= _IN_TIME
        elif any(not named.vague for named in self.times):
            floor *= _OUT_OF_TIME  # "a few days ago" shuts nobody out
        coverage = 0.0 if match is None else match[1]
        relevance = above_floor(coverage, floor)
        if similarity is not None:
            relevance = max(relevance, above_floor(similarity, self.dense_floor))
        if self.by_time and span is not None:
            relevance = max(relevance, 0.0)
        factors = (
            time_factor(span)
            * speaker_factor(passage, self.speaker, self.asker)
            * salience(passage, self.asked_at, uses)
        )
        return Candidate(
            passage,
            relevance,
            score=max(score, _LEAST) * factors,
            lexical=None if match is None else match[0],
            coverage=coverage,
            similarity=similarity,
            factor=factors,
        )
