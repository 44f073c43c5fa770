"""Rejects texts not worth a memory: too short, a title alone, filler, only code. And tells what
will not last: what is still open, and what holds for now.

Rejecting a text that the speaker wanted kept costs more than keeping a line of chatter: a text is
rejected only if *all* of it is chatter, or a block of code or data.
"""

from __future__ import annotations

import json
import re
from typing import Final

from ...models.data_models import Reason
from ...text.lazy_pattern import lazy_pattern
from ...text.scripts import WIDE, fold

_LEAST = 4
"""A Han character, kana or Hangul syllable counts two, any other letter or digit one."""


# One piece of chatter. Longest first: the rest after a piece must be chatter, too.
_FILLER = lazy_pattern(
    r"(?:"
    r"可能会?|也许|或许|大概|好像|似乎|说不定|没准|我猜|谁知道|不一定|我?也?不太?(?:确定|清楚)|"
    r"我?(?:觉得|感觉)|"
    r"不好意思|没关系|没问题|不客气|不用谢|知道了?啦?|明白了?|了解了?|收到了?|谢谢(?:你们?|您|"
    r"大家|啦|了)?|"
    r"多谢|感谢(?:你|您)?|辛苦了?|早上好|中午好|下午好|晚上好|早安|晚安|午安|你们?好|您好|大家好|"
    r"在吗|"
    r"在不在|再见|拜拜|回头见|好嘞|好呀|好吧|好[的滴哒]?|行吧?|可以的?|是的?|对的?|没事|不用了?|"
    r"真的吗?|这样啊?|那就这样|就这样|随便|不知道|那|笑死(?:我了?)?|23{3,}|6{3,}|"
    r"[嗯哦噢喔啊呃额唔诶欸哎唉哈呵嘿嘻嘛呀吧呢啦了哇的]|"
    r"はい|うん|ええ|ありがとう(?:ございます)?|了解(?:です|しました)?|おはよう|こんにちは|"
    r"(?:no problem|you'?re welcome|you are welcome|thank you(?: (?:so|very) much)?|"
    r"thanks(?: a lot)?|thank u|okey[ -]?dokey|"
    r"good (?:morning|afternoon|evening|night)|see you(?: later)?|got it|i see|sounds good|"
    r"all right|"
    r"never ?mind|of course|no worries|i don'?t know|idk|okay|ok|thx|ty|sure|yes|yeah|yep|yup|"
    r"(?:maybe|perhaps|probably)(?: not)?|who knows|i guess|not sure|it depends|"
    r"nope|no|"
    r"great|cool|fine|nice|good|perfect|awesome|alright|right|hello|hi+|hey+|bye|goodbye|lol|lmao|"
    r"(?:ha){2,}h?|(?:he){2,}|hm+|um+|uh+|oh+|ah+|wow|please|understood|noted|roger|done|well|so|"
    r"and|"
    r"then|k|kk)(?![a-z0-9])"
    r")"
)
_TITLE = re.compile(
    r"\s*#{1,6}\s+[^，。；：:,;!！?？]*|[^，。；,;!！?？]*[：:]\s*|\s*(?:[-=*_]\s?){3,}"
)
_FENCED = re.compile(r"\s*(```|~~~)[^\n]*\n.*\n?\s*\1\s*", re.DOTALL)


def flaw(judgment: str) -> Reason | None:
    """Returns why a text is not worth a memory, None if it is."""
    words = _words(judgment)
    if _is_filler(words):
        return Reason.FILLER
    if _weight(words) < _LEAST or _is_title(judgment):
        return Reason.TOO_SHORT
    return Reason.CODE if _is_code(judgment.strip()) else None


def _words(text: str) -> str:
    """Returns the text in lower case, with a single blank for signs other than apostrophes."""
    folded = fold(text).replace("’", "'")
    kept = (c if c.isalnum() or c == "'" else " " for c in folded)
    return " ".join("".join(kept).split())


def _weight(words: str) -> int:
    letters = words.replace(" ", "").replace("'", "")
    return len(letters) + len(WIDE.findall(letters))


def _is_filler(words: str) -> bool:
    """True if the text consists of pieces of chatter only. One pass; no piece is tried twice."""
    at = 0
    while at < len(words):
        if words[at] == " ":
            at += 1
        elif (match := _FILLER.match(words, at)) is not None:
            at = match.end()
        else:
            return False
    return True


def _is_title(text: str) -> bool:
    """True for Markdown headings, rules and labels with nothing behind them."""
    return all(_TITLE.fullmatch(line) for line in text.strip().split("\n") if line.strip())


def _is_code(text: str) -> bool:
    """True for a fenced block or JSON without any prose. A line of code that somebody asks to have
    remembered is kept."""
    if _FENCED.fullmatch(text):
        return True
    if not text.startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


_MENTIONED: Final = re.compile(r"“[^”]*”|「[^」]*」|\"[^\"]*\"|`[^`]*`")
"""Words that are spoken of, not said."""
_WORDS: Final = {
    "dispute": re.compile(r"待定|\bTB[DC]\b|[?？](?=\s*\Z)", re.IGNORECASE),
    "stale": re.compile(
        r"暂时(?!性)|\b(?:for now|temporarily|for the time being)\b", re.IGNORECASE
    ),
}


def passing(text: str) -> dict[str, str]:
    """Returns why a statement will not last, ``dispute`` or ``stale``, and the words that say
    so."""
    said = _MENTIONED.sub("", text)
    found = {reason: words.search(said) for reason, words in _WORDS.items()}
    return {reason: match[0] for reason, match in found.items() if match is not None}
