"""What the words for times mean, in both languages, in lower case; and the patterns that find them.

``time_words.json`` and ``time_spans.json`` have a table each. ``sides`` and ``which`` count from
now; ``parts_of_day`` are the hours at which they are over; ``seasons`` the first months of the
northern ones; ``month_parts`` thirds of a month. Of ``year_parts`` it is the first month and the
number of months; of ``feasts`` month and day, those of the moon's calendar left out. ``vague`` are
the days from today that such words most often mean: our guess, for finding, never for storing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from ..data import path_of
from ..lazy_pattern import PatternFile
from ..numerals import ENGLISH_NUMBERS, HAN_NUMERALS

_TABLES: Final[dict[str, dict[str, int]]] = json.loads(
    path_of("time_words.json").read_text("utf-8")
)
_PAIRS: Final[dict[str, dict[str, list[int]]]] = json.loads(
    path_of("time_spans.json").read_text("utf-8")
)
(
    UNIT_DAYS, SIDES, WHICH, YEAR_WORDS, DAY_WORDS, WEEKDAYS, MONTHS, PARTS_OF_DAY, SEASONS,
    MONTH_PARTS, ORDINALS,
) = _TABLES.values()  # fmt: skip
VAGUE, FEASTS, YEAR_PARTS = (
    {word: (first, second) for word, (first, second) in table.items()} for table in _PAIRS.values()
)
UNIT_HOURS = {
    "小时": 1.0, "钟头": 1.0, "分钟": 1 / 60, "秒": 1 / 3600, "秒钟": 1 / 3600,
    "hour": 1.0, "minute": 1 / 60, "min": 1 / 60, "second": 1 / 3600,
}  # fmt: skip
LASTING_HOURS = {
    **UNIT_HOURS, **{unit: 24.0 * days for unit, days in UNIT_DAYS.items()},
    "分": 1 / 60, "刻钟": 1 / 4, "m": 1 / 60, "h": 1.0, "hr": 1.0, "d": 24.0,
}  # fmt: skip
COUNTED_PARTS = {"半": 0.5, "half a": 0.5, "half an": 0.5, "a": 1.0, "an": 1.0}
AHEAD = frozenset({"未来", "接下来", "今后", "next", "coming"})
"""Said before a count, where it is from today on: 未来三天, the next two weeks."""


def plain(words: str) -> str:
    """As the words of the tables are written."""
    return " ".join(words.lower().replace("\u2019", "'").split())


def chinese(words: Iterable[str]) -> str:
    """A pattern for any of the Chinese words, the longest first."""
    return _any(word for word in words if not word.isascii())


def english(words: Iterable[str]) -> str:
    """A pattern for any of the English words, the longest first."""
    found = _any(word for word in words if word.isascii() and not word.isdigit())
    return found.replace(r"\ ", r"\s{1,3}").replace("'", "['\u2019]")


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_LONG_MONTHS = [name for name in MONTHS if len(name) > 4 or name in ("may", "june", "july")]
TIMES: Final = PatternFile(
    "text/data/times.txt",
    zh_feasts=chinese(FEASTS),
    zh_days=chinese(word for word in DAY_WORDS if word[0] not in "前后明"),
    zh_units=chinese([*UNIT_HOURS, *UNIT_DAYS]),
    zh_unit_days=chinese(UNIT_DAYS),
    zh_vague=chinese(VAGUE),
    zh_parts_of_day=chinese(PARTS_OF_DAY),
    en_words=english([*DAY_WORDS, *VAGUE]),
    en_feasts=english(FEASTS),
    en_numbers=english(ENGLISH_NUMBERS),
    en_ordinals=english(ORDINALS),
    en_seasons=english(SEASONS),
    en_weekdays=english(word for word in WEEKDAYS if word.endswith("day")),
    en_long_months=english(_LONG_MONTHS),
    en_short_months=english(name for name in MONTHS if name not in _LONG_MONTHS),
    en_unit_days=english(UNIT_DAYS),
    en_all_units=english([*UNIT_DAYS, *UNIT_HOURS]),
    en_parts_of_day=english(PARTS_OF_DAY),
    han_numerals=HAN_NUMERALS,
    lasting_counts=_any([*COUNTED_PARTS, *ENGLISH_NUMBERS]),
    lasting_units=_any(LASTING_HOURS),
)
