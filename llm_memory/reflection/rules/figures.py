"""What of a text must be as it was said: numbers, days, times of day, addresses and names. Pure.

Each is brought into one form, so that 三千 and 3000, 下周三 and its date, 七点 and 19:00 are one.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise
from typing import Final, Literal

from ...text.dates.expressions import BARE, find_times
from ...text.dates.words import MONTHS, WEEKDAYS
from ...text.numerals import ENGLISH_NUMBERS, number
from ...text.overlap import holds
from ...text.stop_words import ENGLISH
from ...text.traditional import simplified
from . import GROUNDING

_UNITS: Final = {
    unit: (counts, factor)
    for counts, factor, units in (
        ("yuan", 1.0, "元 块 圆 rmb yuan"),
        ("dollar", 1.0, "美元 美金 usd dollar dollars bucks"),
        ("time", 1.0, "分钟 min mins minute minutes"),
        ("time", 60.0, "小时 钟头 hour hours hr hrs"),
        ("days", 1.0, "天 day days"),
        ("days", 7.0, "周 星期 礼拜 week weeks"),
        ("months", 1.0, "月 month months"),
        ("months", 12.0, "年 year years"),
        ("mass", 1.0, "克"),
        ("mass", 500.0, "斤"),
        ("mass", 1_000.0, "公斤 千克 kg kilo kilos"),
        ("length", 0.01, "厘米 公分 cm"),
        ("length", 1.0, "米 metres meters"),
        ("length", 1_000.0, "公里 千米 km"),
    )
    for unit in units.split()
}
"""What a unit counts, and how much of it: 60 minutes are an hour."""
_FACTORS: Final = {
    "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000, "k": 1_000, "w": 10_000,
    "hundred": 100, "thousand": 1_000, "million": 1_000_000, "dozen": 12,
}  # fmt: skip
_LONGEST: Final = 15
"""Digits of a number; more of them are an id."""
_CLOCKS: Final = ("clock_zh", "clock_digits", "clock_en", "clock_sharp", "noon")
_PARTS: Final = {"半": 30, "一刻": 15, "三刻": 45, "half": 30, "quarter": 15, "": 0}
_WEEK, _MONTH = 8, 32
"""Days."""
_YEAR: Final = re.compile("[0-9]{4}")
_DIGIT: Final = re.compile("[0-9]")
_ORDINALS: Final = {
    "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12,
}  # fmt: skip
_NO_NAMES: Final = ENGLISH | MONTHS.keys() | WEEKDAYS.keys() | {"user", "speaker"}

type Kind = Literal["token", "weekday", "day", "clock", "number"]
type Days = tuple[date, date]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, its words and what it means: the first and the last day, the minutes of a time of
    day in twelve hours and whether it is ``late``, past noon; or a number, what it ``counts``, and
    how much of it."""

    kind: Kind
    words: str
    value: float = 0.0
    days: Days | None = None
    counts: str = ""
    amount: float = 0.0
    late: bool | None = None


def plain(text: str) -> str:
    """Returns a text in one width, case and script."""
    return _cased(text).casefold()


def _cased(text: str) -> str:
    told = simplified(unicodedata.normalize("NFKC", text)).replace("’", "'").replace("百分之", "")
    told = GROUNDING["no_apostrophe"].sub(r"\1n't", told)
    told = GROUNDING["and_a_part"].sub(_with_part, told)
    return re.sub(r"(?<=[0-9]{3})[ -](?=[0-9]{3})", "", told)


def _with_part(match: re.Match[str]) -> str:
    whole, part = number(match[1]), "".join(f"{number(digit)}" for digit in match[3])
    return match[0] if whole is None else f"{whole}.{part}{match[2]}"


def figures(text: str, said_at: datetime) -> list[Figure]:
    """Returns the figures of a text that was said at that local time, but for names."""
    cased, found = _cased(text), list[Figure]()
    left = cased.casefold()
    cased = cased if len(cased) == len(left) else left

    def take(figure: Figure | None, first: int, last: int) -> None:
        nonlocal left, cased
        if figure is not None:
            found.append(figure)
            blank = " " * (last - first)
            left, cased = (f"{one[:first]}{blank}{one[last:]}" for one in (left, cased))

    for match in GROUNDING["token"].finditer(left):
        if GROUNDING["structured"].search(match[0]) and not GROUNDING["measured"].fullmatch(
            match[0]
        ):
            take(Figure("token", match[0]), *match.span())
    for match in GROUNDING["weekday"].finditer(left):
        found.append(Figure("weekday", match[0], WEEKDAYS[match[1] or match[2]]))
    named = GROUNDING["month"].sub(lambda match: match[0].title(), cased)
    for span in find_times(named, said_at):  # 12 March, and not to march
        if not span.vague and not BARE.fullmatch(span.words):
            day = Figure("day", span.words.casefold(), days=(span.start, span.end))
            take(day, span.first, span.last)
    left = GROUNDING["weekday"].sub(lambda match: " " * len(match[0]), left)
    for pattern in ("slashed", *_CLOCKS):
        for match in GROUNDING[pattern].finditer(left):
            dated = pattern == "slashed"
            take(_slashed(match, said_at) if dated else _clock(match), *match.span())
    return [*found, *_numbers(left)]


def _slashed(match: re.Match[str], said_at: datetime) -> Figure | None:
    """Returns the day of its kind that is nearest; None for what is no day."""
    year, month, day = said_at.year, int(match["month"]), int(match["day"])
    if day > monthrange(year, month)[1]:
        return None
    near = (date(one, month, day) for one in (year - 1, year, year + 1) if (month, day) != (2, 29))
    nearest = min(near, key=lambda one: abs(one - said_at.date()), default=None)
    return Figure("day", match[0], days=(nearest, nearest)) if nearest else None


def _clock(match: re.Match[str]) -> Figure | None:
    part = match.groupdict("").get
    hour, past = number(part("hour") or "12"), part("past") or ""
    minutes = _PARTS[past] if past in _PARTS else number(past)
    if hour is None or minutes is None or hour > 24:
        return None
    total = 60 * hour - minutes if part("to") == "to" else 60 * hour + minutes
    late = True if hour > 12 or part("pm") or part("after") else None
    early = part("am") or part("before")
    return Figure("clock", match[0].strip(), total % 720, late=False if early else late)


def _numbers(text: str) -> Iterator[Figure]:
    place = 0
    while match := GROUNDING["number"].search(text, place):
        place = match.end()
        if len(match["digits"] or "") > _LONGEST:
            yield Figure("token", match[0])
            continue
        value, behind = _value(match), GROUNDING["counted"].match(text, place)
        if value is None or behind is None:
            continue
        factor, half, unit = behind.groups("")
        value = value * _FACTORS.get(factor, 1) + 0.5 * bool(half)
        counts, of_it = _UNITS.get(unit, ("", 1.0))
        place = behind.end()
        words = text[match.start() : place].strip()
        yield Figure("number", words, value, counts=counts, amount=value * of_it)


def _value(match: re.Match[str]) -> float | None:
    """Returns the value of a number, None for a word that only looks like one."""
    if match["half"]:
        return 0.5
    if match["digits"]:
        return float(match["digits"].replace(",", ""))
    if not match["words"]:
        han = match["han"] or ""
        about = len(han) == 2 and not GROUNDING["round"].search(han)  # 三四个
        return None if about else number(han) or number(han[:-1])  # 二十六一斤
    total = current = 0.0
    for word in re.split(r"[\s-]", match["words"]):
        if word in _FACTORS:
            current = (current or 1) * _FACTORS[word]
            if word != "hundred":
                total, current = total + current, 0.0
        else:
            cardinal = word.removesuffix("th").replace("tie", "ty") if word.endswith("th") else word
            current += _ORDINALS.get(word) or ENGLISH_NUMBERS.get(cardinal, 0)
    return total + current


def _minutes(value: float) -> int:
    """Returns the time of day, in minutes of twelve hours, that 7 or 7.30 may be."""
    return int(value) % 12 * 60 + round(value % 1 * 100)


def _bare(token: str) -> str:
    """Returns an address, a version or an id without what may be left out of it."""
    return GROUNDING["left_out"].sub("", token)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was said, as what figures are looked for in. ``numbers``: also those of days and times.
    ``days``: on which it was said; ``names_days``: whether words name others."""

    text: str
    figures: tuple[Figure, ...]
    numbers: frozenset[float]
    tokens: frozenset[str]
    days: tuple[date, ...]
    names_days: bool

    @classmethod
    def of(cls, said: Sequence[tuple[str, datetime]], known: str) -> Evidence:
        """``said``: texts, and when they were said; ``known``: what was known before."""
        text = plain("\n".join((*(text for text, _ in said), known)))
        found = [one for text, at in said for one in figures(text, at)]
        names_days = any(one.kind in ("day", "weekday") for one in found)
        found += figures(known, said[-1][1])
        numbers = {value for one in _numbers(text) for value in (one.value, one.amount)}
        clocks = [one.value // 60 for one in found if one.kind == "clock"]
        numbers |= {hour + more for hour in clocks for more in (0, 12)}
        words = [_bare(word) for word in GROUNDING["token"].findall(text)]
        tokens = frozenset((*words, *("".join(pair) for pair in pairwise(words))))
        days = tuple({at.date() for _, at in said})
        return cls(text, tuple(found), frozenset(numbers), tokens, days, names_days)

    def unsaid(self, text: str, names: Sequence[str], heard: str) -> list[str]:
        """Returns the words of figures and names of a text that were not said. ``names``: of the
        speakers; ``heard``: where else a name may come from, plain."""
        bases = [datetime.combine(day, time()) for day in self.days]
        bare = text
        for who in " ".join(names).split():
            bare = bare.replace(who, "@")  # 小明晚上 is not 明晚
        unsaid = [self._unsaid(figures(bare, at)) for at in bases]
        return [*min(unsaid, key=len, default=[]), *self._unnamed(text, names, heard)]

    def _unsaid(self, told: Sequence[Figure]) -> list[str]:
        # The day of the week of a day is that day's.
        own = {one.days[0].weekday() for one in told if one.days is not None}
        left = (one for one in told if one.kind != "weekday" or one.value not in own)
        return [one.words for one in left if not self._has(one)]

    def has_day(self, day: date) -> bool:
        """Returns whether a day was named, or something was said on it."""
        named = any(first <= day <= last for first, last in self._spans)
        figure = Figure("day", day.isoformat())
        return named or day in self.days or self._has_days(figure, day, day)

    @property
    def _spans(self) -> list[Days]:
        return [one.days for one in self.figures if one.days is not None]

    def _has(self, figure: Figure) -> bool:
        same = [one for one in self.figures if one.kind == figure.kind]
        if figure.kind == "number":
            return self._counts(figure, same)
        if holds(self.text, figure.words) or _bare(figure.words) in self.tokens:
            return True
        match figure.kind, figure.days:
            case "day", (first, last):
                return self._has_days(figure, first, last)
            case "weekday", _:
                days = (*self.days, *(day for day, _ in self._spans))
                some = "".join(GROUNDING["some_weekdays"].findall(self.text))
                named = {*(one.value for one in same), *(WEEKDAYS[day] for day in some)}
                return figure.value in named | {day.weekday() for day in days}
            case "clock", _:
                bare = {_minutes(one.value) for one in self.figures if one.kind == "number"}
                halves = {one.late for one in same if one.value == figure.value}
                told = bool(halves & {None, figure.late}) or (bool(halves) and figure.late is None)
                return told or figure.value in bare
        return False

    def _counts(self, figure: Figure, same: Sequence[Figure]) -> bool:
        """Returns whether a number was said: of the same thing, where both tell of what."""
        alike = [one for one in same if one.value == figure.value]
        if any((one.counts, one.amount) == (figure.counts, figure.amount) for one in same):
            return True
        if _minutes(figure.value) in {one.value for one in self.figures if one.kind == "clock"}:
            return True
        other = bool(figure.counts and alike) and all(one.counts for one in alike)
        return figure.value in self.numbers and not other

    def _has_days(self, figure: Figure, first: date, last: date) -> bool:
        """Returns whether days were named: as they are, a part of them, by the day of the week or
        of the month, or in digits."""
        dated = _YEAR.search(figure.words) is not None
        for start, end in self._spans:
            yearly = not dated and (start.month, start.day) == (first.month, first.day)
            if (first <= start and end <= last) or (yearly and end - start == last - first):
                return True
        named = list(_numbers(figure.words))
        if first != last or (len(named) == 1 and not figure.words.isascii()):
            numbers = [one for one in self.figures if one.kind == "number"]
            return bool(named) and all(self._counts(one, numbers) for one in named)
        weekdays = {one.value for one in self.figures if one.kind == "weekday"}
        days = [one for one in self.figures if one.days and _DIGIT.search(one.words)]
        weekdays -= {one.days[0].weekday() for one in days if one.days}
        away = min(abs((first - day).days) for day in self.days)
        return (
            (first.weekday() in weekdays and away <= _WEEK)
            or (first.day in self.numbers and away <= _MONTH)
            or (first in self.days and not self.names_days)
            or holds(self.text, f"{first.month}/{first.day}")
        )

    def _unnamed(self, text: str, names: Sequence[str], known: str) -> Iterator[str]:
        """Yields names that nobody has said, and what nobody said that a speaker is called."""
        told = plain(text)
        known = f"{known}\n{self.text}"
        for pattern in ("han_name", "placeholder"):
            yield from (name for name in GROUNDING[pattern].findall(told) if name not in known)
        for who in " ".join(map(plain, names)).split():
            told = told.replace(who, "@")
        for name in GROUNDING["called"].findall(told):
            own = rf"(?:叫|称|号|喊|我是|名[字叫]?).{{0,4}}{re.escape(name[:2])}"
            if not re.search(own, self.text):
                yield name
        for match in GROUNDING["latin_name"].finditer(text):
            word, first = match[0].casefold(), GROUNDING["begins"].search(text, 0, match.start())
            said = word in _NO_NAMES or re.search(rf"(?<![a-z]){word}", known)
            if not said and (not first or GROUNDING["acts"].match(text, match.end())):
                yield match[0]
