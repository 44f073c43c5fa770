"""The frame of a question: the words that say what kind of thing is asked for. Pure.

名字 in 猫叫什么名字, "company" in "which company does she work for": who told it said the name
alone, so these words are not demanded of an answer. The patterns are those of the language, a
question word and the noun that belongs to it; the same noun anywhere else (他改名字了吗, "the
company called me") is what the question is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .question_frames_chinese import chinese_frame
from .question_frames_english import english_frame

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_LATIN = re.compile(r"\b(?:wh(?:at|ich|o|ose|ere|en)|how|remember|know|recall|tell|remind|forgot)",
                    re.IGNORECASE)  # fmt: skip


def without_frame(text: str, cut: Callable[[str], Sequence[str]], *, bare: bool = False) -> str:
    """``text`` with blanks where its frame stands; as long as it was.

    Args:
        cut: A clause of Han characters to its words, in order; together they are the clause.
        bare: Only where it says nothing but the kind of answer: 名字, 几点; not 调料 in 哪种调料.
    """
    found = list(english_frame(text)) if _LATIN.search(text) else []
    for clause in _HAN.finditer(text):
        start = clause.start()
        found += [
            ((start + first, start + last), is_bare)
            for (first, last), is_bare in chinese_frame(cut(clause[0]))
        ]
    letters = list(text)
    for (first, last), is_bare in found:
        if is_bare or not bare:
            letters[first:last] = " " * (last - first)
    return "".join(letters)
