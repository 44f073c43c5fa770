"""Which languages an embedding model reads: measured on a few pairs."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from ...errors import EmbeddingFailed
from ...text.scripts import Script, normalise, runs

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    from numpy.typing import NDArray

    from .ports import Vectors


class Language(StrEnum):
    """Told apart by script, which is all that a model for one of them needs to know."""

    CHINESE = "zh"
    ENGLISH = "en"


_PROBES = (
    (Language.CHINESE, "给老人家做饭要避开什么食材", "奶奶对花生过敏，吃了会起疹子"),
    (Language.CHINESE, "周会是几点开", "公司每周五下午三点开会"),
    (Language.CHINESE, "图书馆哪天不开门", "市图书馆每逢星期一闭馆"),
    (Language.CHINESE, "他平时喝什么咖啡", "小明早上习惯喝一杯美式"),
    (Language.CHINESE, "服务器跑在哪个端口", "网站服务监听 8443"),
    (Language.CHINESE, "我的猫叫什么名字", "我家的橘猫叫团团"),
    (Language.CHINESE, "上次去云南玩了哪里", "去年国庆在大理和丽江待了五天"),
    (Language.CHINESE, "他学的是什么乐器", "表弟每个星期六上吉他课"),
    (Language.ENGLISH, "what does Anna like to drink", "Anna prefers green tea over coffee"),
    (Language.ENGLISH, "when is the rent due", "The landlord wants the money on the fifth"),
    (Language.ENGLISH, "which city did we visit last summer", "We spent a week in Lisbon in July"),
    (Language.ENGLISH, "how do I restart the printer", "Hold the printer's power button"),
    (Language.ENGLISH, "what is my cat called", "Our orange cat answers to Dumpling"),
    (Language.ENGLISH, "is grandma allergic to anything", "Peanuts give grandma a rash"),
    (Language.ENGLISH, "what instrument does he play", "My cousin takes guitar lessons"),
    (Language.ENGLISH, "which port does the server use", "The web service listens on 8443"),
)
"""A question and its answer in other words; any other answer of the language is none."""

PROBE_QUERIES = tuple(query for _, query, _ in _PROBES)
PROBE_MEMORIES = tuple(memory for _, _, memory in _PROBES)

_BLIND_ABOVE = 0.3
"""Mean similarity of unrelated texts from which a poor separation means: they all look alike."""

_BLIND_BELOW = 1.5
"""Standard deviations between related and unrelated, up to which a separation is poor."""


def unsupported_languages(queries: Vectors, memories: Vectors) -> frozenset[Language]:
    """Languages whose texts the model cannot tell apart: an English model sees one blur of unknown
    characters in Chinese, where everything would be near everything.

    Takes the probes' unit vectors, shape ``(len(PROBE_QUERIES), dim)`` both, in their order.
    """
    import numpy as np

    unsupported: set[Language] = set()
    for language in Language:
        rows = [i for i, (own, _, _) in enumerate(_PROBES) if own is language]
        similarity: NDArray[np.float32] = queries[rows] @ memories[rows].T
        same = np.eye(len(rows), dtype=bool)
        related, unrelated = float(similarity[same].mean()), float(similarity[~same].mean())
        spread = float(similarity[~same].std())
        if unrelated > _BLIND_ABOVE and related - unrelated <= _BLIND_BELOW * spread:
            unsupported.add(language)
    return frozenset(unsupported)


def check_language(query: str, unsupported: Collection[Language]) -> None:
    """Raises EmbeddingFailed, ``language``, for a query in a language of ``unsupported``."""
    if unsupported:
        language = language_of(query)
        if language in unsupported:
            raise EmbeddingFailed(f"language: this model cannot tell {language} texts apart")


def language_of(text: str) -> Language | None:
    """By Han characters against Latin words; None for a text with neither."""
    han = latin = 0
    for run in runs(normalise(text)):
        if run.script is Script.HAN:
            han += len(run.text)
        elif run.script is Script.LATIN:
            latin += 1
    if not han and not latin:
        return None
    return Language.CHINESE if han >= latin else Language.ENGLISH
