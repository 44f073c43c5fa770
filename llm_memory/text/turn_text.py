"""What of a turn may be read later: the words of the person and of the bot, and nothing else.

What is taken out: images and other data in base64, a model's thinking, recalled memories (they must
not be learned again) and what tools answered. All in one pass over the text, or a few: linear.
"""

from __future__ import annotations

import re
from typing import Final

from .normalising import clean, one_line

MOST_CHARS: Final = 4_000
"""Of one side of a turn. What is worth remembering is said in less."""
MOST_NAME: Final = 64
CUT: Final = "……"

_MOST_READ: Final = 200_000
_PASSES: Final = 4
_THINKING: Final = ("think", "thinking", "thought", "reasoning")
_TOOLS: Final = ("(?:tool|function)_(?:call|response|result|output)s?", "scoped_memory")
_TAG: Final = re.compile(rf"<(/?)({'|'.join((*_THINKING, *_TOOLS))})\b[^<>\n]{{0,200}}>", re.I)
_FENCE: Final = re.compile(
    r"^```(?:tool|function)_(?:call|code|output|response|result)s?\b.*?(?:^```[ \t]*$|\Z)",
    re.I | re.M | re.S,
)
_DATA: Final = re.compile(
    r"(?:data:[\w.+/-]{0,100}(?:;[\w=.+-]{1,60}){0,5};base64,|base64://)[A-Za-z0-9+/=_-]*", re.I
)
_CODED: Final = re.compile(r"\[CQ:(?:image|record|video|file|mface)\b[^\[\]\n]*\]", re.I)
_LINES_OF_BASE64: Final = re.compile(
    r"^[ \t]*(?:[A-Za-z0-9+/_-]{60,}={0,2}[ \t]*(?:\n|\Z)[ \t]*){3,}"
    r"(?:[A-Za-z0-9+/_-]{0,120}={0,2}[ \t]*$)?",
    re.M,
)
_RUN_OF_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
_HIT: Final = re.compile(r"^[ \t]*(?:[-*]|\d+[.、])?[ \t]*\[[^\]\n]*[#＃][mn]-[0-9a-z]+\].*$", re.M)
_STATUS: Final = re.compile(r"^(?:🔨 调用工具|📎 返回结果).*$", re.M)
_BLANKS: Final = re.compile(r"[ \t]+\n|\n{3,}")


def spoken(text: str) -> str:
    """The words of one side of a turn, at most ``_MOST_READ`` of its characters looked at.

    Spoken words stay as they are. ``spoken(spoken(x)) == spoken(x)``.
    """
    left = clean(text[:_MOST_READ])
    for _ in range(_PASSES):
        before = left
        left = clean(_BLANKS.sub(_fewer, _without(left)))
        if left == before:
            return left
    # A text that nests what is taken out so deeply says nothing.
    return "" if _TAG.search(left) or _DATA.search(left) else left


def cut(text: str) -> str:
    """At most ``MOST_CHARS`` characters, with a mark where something is missing."""
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - len(CUT)] + CUT


def name_of(name: str) -> str:
    """A speaker's name on one line, of visible characters."""
    return one_line(clean(name))[:MOST_NAME]


def _fewer(match: re.Match[str]) -> str:
    return "\n" if match[0].strip("\n") else "\n\n"


def _without(text: str) -> str:
    text = _FENCE.sub(" ", text)
    text = _without_blocks(text)
    for pattern in (_DATA, _CODED, _LINES_OF_BASE64, _RUN_OF_BASE64, _HIT, _STATUS):
        text = pattern.sub(" ", text)
    return text


def _without_blocks(text: str) -> str:
    """Without ``<tag>…</tag>``; one blank for each, so that what stood around it does not join.

    A block that has no end reaches to the end of the text; thinking only where the text begins with
    it, for a person may speak of such a tag. Thinking that has no beginning began with the text.
    """
    tags = list(_TAG.finditer(text))
    last_end = {tag[2].lower(): tag.start() for tag in tags if tag[1]}
    pieces: list[str] = []
    at = 0
    inside = ""
    begun = False  # something is said before this tag
    for tag in tags:
        name, ends = tag[2].lower(), bool(tag[1])
        if inside:
            if ends and name == inside:
                inside, at = "", tag.end()
            continue
        begun = begun or bool(text[at : tag.start()].strip())
        thinking = name in _THINKING
        closed = ends or last_end.get(name, 0) > tag.start()
        if thinking and begun and not closed:
            continue
        if thinking and ends:  # without a beginning
            pieces.clear()
            begun = False
        else:
            pieces += [text[at : tag.start()], " "]
        inside, at = ("", tag.end()) if ends else (name, len(text))
    return "".join([*pieces, text[at:]])
