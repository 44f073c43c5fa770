"""The numbers of a list as people write them: ``2``, ``1 2``, ``1、2和5``, ``1-3``, 第一条."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_HAN = {"两": 2, **{digit: value for value, digit in enumerate("一二三四五六七八九", start=1)}}
_LEADS = r"(?P<mark>第|#|no\.?|number)?[(\[【]?"
_ENDS = r"(?P<unit>条|條|号|號|项|項)?[.)\]】]?"
_ITEM = re.compile(
    rf"{_LEADS}(?:(?P<digits>[0-9]{{1,4}})|(?P<han>[一二三四五六七八九十两]{{1,3}})){_ENDS}"
)
_HAN_NUMBER = re.compile(r"(?P<tens>[二三四五六七八九]?十)?(?P<ones>[一二三四五六七八九两])?")
_RANGE = re.compile(
    r"(?<=[0-9一二三四五六七八九十条條号號])\s*(?:-|–|—|~|到|至|\bto\b)\s*(?=[#第0-9])"
)
_BETWEEN = re.compile(r"\s*(?:[,、。;/+&]|以及|还有|和|与|跟|及|\band\b)\s*|\s+")
_LOOSE = re.compile(r"(?<=第)\s+|(?<=#)\s+|(?<=no\.)\s+|\s+(?=[条條号號项項])")
_AROUND = " \u3000\"'“”‘’「」『』《》。．.!！?？,，;；:：、"
_A_NUMBER = 2
"""A bare number of more digits names something only if the list has it: 2026 is a word."""


def item_numbers(words: str, shown: Collection[int]) -> tuple[int, ...] | None:
    """Returns the numbers that the words name, each once; None for words that are not numbers.

    Args:
        shown: The numbers of the list.
    """
    plain = unicodedata.normalize("NFKC", words).casefold().strip()
    found: list[int] = []
    for part in parts(_RANGE.sub("~", _LOOSE.sub("", plain))):
        ends = [_number(one, shown) for one in part.split("~")]
        first, last = ends[0], ends[-1]
        if first is None or last is None or len(ends) > 2:
            return None
        found += range(min(first, last), max(first, last) + 1)
    return tuple(dict.fromkeys(found)) or None


def bare(words: str) -> str:
    """Returns the words without quotes around them and signs behind them."""
    return words.strip(_AROUND)


def parts(words: str) -> list[str]:
    """Returns what a list of items consists of, without what joins it."""
    return [part for part in _BETWEEN.split(words) if part]


def _number(item: str, shown: Collection[int]) -> int | None:
    found = _ITEM.fullmatch(item)
    if found is None:
        return None
    marked = bool(found["mark"] or found["unit"])
    if found["han"]:
        return _han_number(found["han"]) if marked else None
    number = int(found["digits"])
    return number if marked or len(found["digits"]) <= _A_NUMBER or number in shown else None


def _han_number(text: str) -> int | None:
    found = _HAN_NUMBER.fullmatch(text)
    if found is None:
        return None
    tens, ones = found["tens"] or "", found["ones"] or ""
    return (_HAN.get(tens[:1], 1) if tens else 0) * 10 + _HAN.get(ones, 0)
