"""Whether a candidate is relevant at all, and how it ranks: one judge for one question. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ...models.passages import Passage
from ...text.dates.spans import TimeSpan
from .evidence import probability
from .ranking import Candidate, above_floor
from .salience import in_time, named_speaker, salience, speaker_factor, time_factor

FLOOR = 0.5
"""As likely an answer as not: see ``evidence``."""
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
    floor: float = FLOOR
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
        floor: float | None,
    ) -> Judge:
        """``passages`` are all candidates: a name in the question is that of one who speaks.
        ``asker``: the ids of who asks of himself.
        ``floor``: The least probability; None takes the one that is shipped."""
        return cls(
            times,
            named_speaker(query, passages),
            asker,
            now.timestamp(),
            now.tzinfo,
            FLOOR if floor is None else floor,
            is_about_time_alone(subject),
        )

    def candidate(
        self,
        passage: Passage,
        *,
        score: float,
        log_odds: float,
        match: tuple[float, float] | None,
        similarity: float | None,
        uses: int = 0,
    ) -> Candidate:
        """A candidate with its relevance, 0 at the floor.

        Args:
            score: Of both arms together.
            log_odds: That it answers: see ``evidence``.
            match: Score and coverage of the words' arm, None where it did not find it.
            similarity: Of the embedder, None where it did not.
            uses: How often it was found useful.
        """
        span = in_time(passage, self.times, self.zone)
        relevance = above_floor(probability(log_odds), self.floor)
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
            coverage=0.0 if match is None else match[1],
            similarity=similarity,
            factor=factors,
        )
