"""Numbers as people write them: digits of any width, Chinese numerals, English number words."""

from __future__ import annotations

from .scripts import simplified

HAN_DIGITS = "零〇一二两三四五六七八九"
_HAN_VALUES = dict(zip(HAN_DIGITS, (0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9), strict=True))
_SMALL_UNITS = {"十": 10, "百": 100, "千": 1_000}
_BIG_UNITS = {"万": 10_000, "亿": 100_000_000}
HAN_NUMERALS = HAN_DIGITS + "".join(_SMALL_UNITS) + "".join(_BIG_UNITS)

_ENGLISH_ONES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
""".split()  # noqa: SIM905
_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
ENGLISH_NUMBERS = {
    **{word: number for number, word in enumerate(_ENGLISH_ONES)},
    **{word: 10 * number for number, word in enumerate(_ENGLISH_TENS, start=2)},
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
    if not text or any(character not in HAN_NUMERALS for character in text):
        return None
    if all(character in _HAN_VALUES for character in text):
        return int("".join(str(_HAN_VALUES[character]) for character in text))
    total = section = 0
    digit: int | None = None
    after_unit = 0  # the unit just before a digit that may be short for tens, hundreds, ...
    for character in text:
        if character in _HAN_VALUES:
            if digit:  # 三五百, 二三十: two numbers in one
                return None
            digit = _HAN_VALUES[character]
            after_unit = 0 if digit == 0 else after_unit
        elif character in _SMALL_UNITS:
            unit = _SMALL_UNITS[character]
            section += (1 if digit is None or digit == 0 else digit) * unit
            digit, after_unit = None, unit
        else:
            unit = _BIG_UNITS[character]
            total = (total + section + (digit or 0) or 1) * unit
            section, digit, after_unit = 0, None, unit
    if digit and after_unit > 10:
        return total + section + digit * after_unit // 10
    return total + section + (digit or 0)


def number(text: str) -> int | None:
    """The whole number that digits, Chinese numerals or one English number word stand for."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 18 else None
    return han_number(text) if text[:1] in HAN_NUMERALS else ENGLISH_NUMBERS.get(text.lower())
