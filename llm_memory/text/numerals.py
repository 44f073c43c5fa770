"""Numbers as people write them: digits of any width, Chinese numerals, English number words."""

from __future__ import annotations

from .data import lines_of
from .scripts import simplified

HAN_DIGITS = "零〇一二两三四五六七八九"
_HAN_VALUES = dict(zip(HAN_DIGITS, (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_UNITS = {"亿": 100_000_000, "万": 10_000, "千": 1_000, "百": 100, "十": 10}
HAN_NUMERALS = HAN_DIGITS + "".join(reversed(_UNITS))

ENGLISH_NUMBERS = {
    word: int(number) for word, number in map(str.split, lines_of("english_numbers"))
}
"""Single words from zero to ninety."""

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}


def narrowed(text: str) -> str:
    """``simplified``, with full-width letters, digits and signs as ASCII: each character stays at
    its place."""
    return simplified(text).translate(_WIDE)


def han_number(text: str) -> int | None:
    """``二十一`` is 21, ``二〇二六`` 2026, ``三万五`` 35000, ``一百零五`` 105; None for no number.
    A unit with nothing before it counts one: ``过万`` is past 10000.

    A last digit after 百, 千 or 万 counts tens, hundreds, thousands (``三万五``), unless a zero
    stands between (``一百零五``).
    """
    if not text or not {*text} <= {*HAN_NUMERALS}:
        return None
    unit = next((unit for unit in _UNITS if unit in text), "")
    if not unit:
        return int("".join(str(_HAN_VALUES[character]) for character in text))
    before, _, behind = text.rpartition(unit)
    rest, size = behind.lstrip("零〇"), _UNITS[unit]
    if any(len(part) > 1 and _UNITS.keys().isdisjoint(part) for part in (before, rest)) or (
        size < _UNITS["万"] and before and before not in _HAN_VALUES
    ):
        return None  # 三五百, 二三十: two numbers in one
    count, more = han_number(before or "一"), han_number(rest or "零")
    if count is None or more is None or more >= size:
        return None
    more *= size // 10 if rest == behind and rest in _HAN_VALUES else 1
    return (count or 1) * size + more


def number(text: str) -> int | None:
    """The whole number that digits, Chinese numerals or one English number word stand for."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 18 else None
    return han_number(text) if text[:1] in HAN_NUMERALS else ENGLISH_NUMBERS.get(text.lower())
