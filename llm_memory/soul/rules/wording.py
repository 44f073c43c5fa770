"""An admin's wish as a new text of SOUL.md: one more rule, as it was typed."""

from __future__ import annotations

import re
from typing import Final

from ...text.normalising import one_line
from .manner_reading import folded
from .soul_text import Section, with_rule
from .vocabulary import manner_of, with_manner

_MARK: Final = re.compile(r"^(?:[-*•·]|\d{1,2}[.)、])\s+")
_SECTIONS: Final = (
    (
        Section.BOUNDARIES,
        re.compile(
            r"隐私|政治|敏感|争论|吵架|拒绝|冒犯|\b(?:privacy|politic|sensitive|argu|declin|refus|offen)"
        ),
    ),
    (
        Section.LENGTH,
        re.compile(
            r"[短长简详]|字数|篇幅|句话|啰嗦|废话|\b(?:short|brief|concise|long|length|detail|wordy|"
            r"sentences|paragraphs)"
        ),
    ),
    (
        Section.TONE,
        re.compile(
            r"语气|口气|口吻|[温柔暖]|亲切|友好|幽默|玩笑|笑话|正式|随意|礼貌|客气|严肃|认真|直接|委婉|耐心|热情"
            r"|\b(?:tone|warm|kind|friendly|humou?r|jok|formal|casual|polite|serious|direct|gentl|"
            r"calm|patien)"
        ),
    ),
)


def worded(text: str, wish: str) -> str:
    """Returns the text with the wish as a rule under the heading that fits; unchanged for an empty
    wish. A wish in the words of the vocabulary takes the place of its opposite. Whether the rule is
    allowed is for ``checks``."""
    rule = _MARK.sub("", one_line(wish))
    if not rule:
        return text
    if (manner := manner_of(rule)) is not None:
        return with_manner(text, *manner, "en" if rule.isascii() else "zh")
    return with_rule(text, _section_of(rule), rule)


def _section_of(rule: str) -> Section:
    seen = folded(rule)
    fits = (section for section, form in _SECTIONS if form.search(seen))
    return next(fits, Section.HABITS)
