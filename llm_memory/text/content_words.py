"""What a text is about, without its small words. Pure."""

from __future__ import annotations

import re
from typing import Final

from .scripts import NARROW, WIDE, fold

__all__ = ["CHANGED", "WIDE", "content", "is_model_worded"]

_STEM: Final = 4
_SMALL_HAN: Final = frozenset(
    "的了呢啊呀哦吧吗嘛是在有和与跟及也都还就又再很太更最不没无别非勿莫这那个些我你他她它们您人说"
    "会能要想把被给对为从到去来让用以后前现已经曾过着得地一改换变成喜欢爱讨厌"
)
_SMALL_WORDS: Final = frozenset(
    """
a an the is are was were be and or to of in on at he she they it i we you his her my now not no has
have had do does did that this with for user like love
""".split()  # noqa: SIM905
)
CHANGED: Final = re.compile(
    r"取消|作废|不[^，。]{0,6}了|[改推挪延换]|提前|还[清了回给]|"
    r"\b(?:cancel\w*|off|instead|moved?|postponed?|resched\w*|paid|back|done|now)\b",
    re.IGNORECASE,
)
"""Said of what is dropped, moved or done with."""
_HALF: Final = 0.5


def content(text: str) -> frozenset[str]:
    """What a text is about: its Han characters and beginnings of words but for the small ones."""
    folded = fold(text)
    wide = {one for one in WIDE.findall(folded) if one not in _SMALL_HAN}
    narrow = NARROW.findall(WIDE.sub(" ", folded))
    return frozenset(wide | {word[:_STEM] for word in narrow if word not in _SMALL_WORDS})


def is_model_worded(text: str, heard: str | None, name: str = "") -> bool:
    """Whether a model says something in a speaker's name that he did not say then.

    A model repeats what it has read, an attack too, to whoever speaks next. So no more than half
    of the text stands in ``heard``, which is what the speaker said; None where no model worded it.
    ``name``: the speaker's, which nobody says of themselves: 我戒烟了 is 阿芳戒烟了.
    """
    if heard is None:
        return False
    wanted = content(text) - content(name) or content(text)
    return bool(wanted) and len(wanted & content(heard)) <= len(wanted) * _HALF
