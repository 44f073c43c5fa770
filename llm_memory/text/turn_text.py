"""What of a turn may be read later: the words of the person and of the bot, and nothing else.

What is taken out: images and other data in base64, a model's thinking, recalled memories (they must
not be learned again) and what tools answered. All in one pass over the text, or a few: linear.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from .data import PATTERNS
from .normalising import clean, one_line

MOST_CHARS: Final = 4_000
"""Of one side of a turn. What is worth remembering is said in less."""
MOST_NAME: Final = 64
CUT: Final = "……"

_MOST_READ: Final = 200_000
_PASSES: Final = 4
_THINKING: Final = ("think", "thinking", "thought", "reasoning")
_TAKEN_OUT: Final = ("data", "coded", "lines_of_base64", "run_of_base64", "hit", "status")


def spoken(text: str) -> str:
    """The words of one side of a turn, at most ``_MOST_READ`` of its characters looked at.

    Spoken words stay as they are. ``spoken(spoken(x)) == spoken(x)``.
    """
    left = clean(text[:_MOST_READ])
    for _ in range(_PASSES):
        before = left
        left = clean(PATTERNS["turn_blanks"].sub(_fewer, _without(left)))
        if left == before:
            return left
    # A text that nests what is taken out so deeply says nothing.
    nested = PATTERNS["turn_tag"].search(left) or PATTERNS["turn_data"].search(left)
    return "" if nested else left


def cut(text: str) -> str:
    """At most ``MOST_CHARS`` characters, with a mark where something is missing."""
    return text if len(text) <= MOST_CHARS else text[: MOST_CHARS - len(CUT)] + CUT


def name_of(name: str) -> str:
    """A speaker's name on one line, of visible characters."""
    return one_line(clean(name))[:MOST_NAME]


def _fewer(match: re.Match[str]) -> str:
    return "\n" if match[0].strip("\n") else "\n\n"


def _without(text: str) -> str:
    text = _without_blocks(PATTERNS["turn_fence"].sub(" ", text))
    for kind in _TAKEN_OUT:
        text = PATTERNS[f"turn_{kind}"].sub(" ", text)
    return text


def _without_blocks(text: str) -> str:
    """Without ``<tag>…</tag>``; one blank for each, so that what stood around it does not join.

    A block that has no end reaches to the end of the text; thinking only where the text begins with
    it, for a person may speak of such a tag. Thinking that has no beginning began with the text.
    """
    tags = list(PATTERNS["turn_tag"].finditer(text))
    ends = defaultdict[str, list[re.Match[str]]](list)
    for tag in reversed(tags):
        ends[tag[2].lower()] += [tag] if tag[1] else []
    pieces, at, begun = list[str](), 0, False  # begun: something is said before this tag
    for tag in tags:
        name, ahead = tag[2].lower(), ends[tag[2].lower()]
        if tag[1]:
            ahead.pop()
        if tag.start() < at:
            continue
        begun = begun or bool(text[at : tag.start()].strip())
        thinking = name in _THINKING
        if thinking and begun and not (tag[1] or ahead):
            continue
        if thinking and tag[1]:  # without a beginning
            pieces, begun = [], False
        else:
            pieces += [text[at : tag.start()], " "]
        at = tag.end() if tag[1] else ahead[-1].end() if ahead else len(text)
    return "".join([*pieces, text[at:]])
