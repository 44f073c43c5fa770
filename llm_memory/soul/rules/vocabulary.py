"""The rule that each axis and direction of manner becomes, of which alone counting has words; and a
wish as a rule."""

from __future__ import annotations

import re
from typing import Final

from ...models.soul import OPPOSITE, Axis, Both, Direction
from ...text.normalising import clean, one_line
from ...texts import Spoken
from .soul_text import HABITS, LENGTH, TONE, rules_of, with_rule

type Manner = tuple[Axis, Direction]

_LINES: Final[dict[Manner, Both]] = {
    ("length", "less"): Both(
        "回答短一些，先说结论。", "Keep answers short, and give the conclusion first."
    ),
    ("length", "more"): Both(
        "回答详细一些，把步骤和理由讲清楚。", "Give fuller answers, with the steps and the reasons."
    ),
    ("formality", "less"): Both("说话随意一些，像朋友聊天一样。", "Speak casually, like a friend."),
    ("formality", "more"): Both("说话正式、礼貌一些。", "Speak more formally and politely."),
    ("emoji", "less"): Both("少用表情符号。", "Use fewer emoji."),
    ("emoji", "more"): Both("可以多用一点表情符号。", "Use emoji a little more often."),
    ("humour", "less"): Both("少开玩笑，认真一些。", "Joke less, and be more serious."),
    ("humour", "more"): Both(
        "气氛轻松的时候，可以幽默一点。", "Add a little humour when the mood is relaxed."
    ),
    ("directness", "less"): Both("话说得委婉一些。", "Put things more gently."),
    ("directness", "more"): Both("有话直说，少绕弯子。", "Be direct, and come to the point."),
    ("language_mix", "less"): Both(
        "不要中英文夹杂着说。", "Do not mix Chinese and English in one sentence."
    ),
    ("language_mix", "more"): Both(
        "中英文可以自然地混着用。", "Chinese and English may be mixed where that is natural."
    ),
    ("initiative", "less"): Both(
        "少追问，没问到的就少给建议。",
        "Ask fewer questions back, and offer advice only when asked.",
    ),
    ("initiative", "more"): Both(
        "可以主动追问一句，或者给点建议。",
        "Now and then ask a question back, or offer a suggestion.",
    ),
}
_SECTIONS: Final = {
    "length": LENGTH,
    "formality": TONE,
    "humour": TONE,
    "directness": TONE,
    "emoji": HABITS,
    "language_mix": HABITS,
    "initiative": HABITS,
}
_BY_LINE: Final = {line: manner for manner, said in _LINES.items() for line in (said.zh, said.en)}
LINES: Final = frozenset(_BY_LINE)
"""Every rule that counting can propose, in both languages."""
_MARK: Final = re.compile(r"^(?:[-*•·]|\d{1,2}[.)、])\s+")


def line_of(axis: Axis, direction: Direction, language: Spoken) -> str:
    """Returns the rule for a direction."""
    return _LINES[axis, direction].text(language)


def manner_of(rule: str) -> Manner | None:
    """Returns the direction that a rule of this vocabulary has, None for any other rule."""
    return _BY_LINE.get(rule)


def worded(text: str, wish: str) -> str:
    """Returns the text of SOUL.md with a wish as one more rule, as it was typed; unchanged for an
    empty wish, and for a direction that stands. A rule of this vocabulary takes the place of the
    opposite one. Whether the rule is allowed is for ``checks``."""
    rule = _MARK.sub("", one_line(clean(wish)))
    if (manner := manner_of(rule)) is None:
        return with_rule(text, HABITS, rule) if rule else text
    axis, direction = manner
    rules = {manner_of(one): one for one in rules_of(text)}
    if manner in rules:
        return text
    return with_rule(text, _SECTIONS[axis], rule, rules.get((axis, OPPOSITE[direction]), ""))
