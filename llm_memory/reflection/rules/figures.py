"""What of a text must be as it was said: numbers, days, times of day, addresses and names. Pure.

Each is brought into one form, so that 三千 and 3000, 下周三 and its date, 七点 and 19:00 are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import pairwise
from typing import Final, Literal

from ...text.dates.expressions import find_times, is_weekly
from ...text.dates.words import MONTHS, WEEKDAYS
from ...text.numerals import ENGLISH_NUMBERS, number
from ...text.overlap import holds
from ...text.scripts import fold
from ...text.stop_words import ENGLISH
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
_WORDS: Final = ENGLISH_NUMBERS | {
    "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "half": 0.5,
}  # fmt: skip
_PARTS: Final = {"半": 30, "一刻": 15, "三刻": 45, "half": 30, "quarter": 15, "": 0}
_WEEK, _MONTH = 8, 32
"""Days."""
_NO_NAMES: Final = ENGLISH | MONTHS.keys() | WEEKDAYS.keys() | {"user", "speaker"}

type Days = tuple[date, date]
type Forms = frozenset[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and its words. ``says``: its forms, to whoever looks for it in what was said;
    ``needs``: one of these was said where it may be told. ``days``: the first and the last one."""

    kind: Literal["token", "weekday", "day", "clock", "number"]
    words: str
    says: Forms = frozenset()
    needs: Forms = frozenset()
    days: Days | None = None


def plain(text: str) -> str:
    """Returns a text in one width, case and script."""
    told = fold(text)
    told = told.replace("’", "'").replace("百分之", "")
    told = GROUNDING["no_apostrophe"].sub(r"\1n't", told)
    told = GROUNDING["slashed"].sub(r"\1月\2日", told)
    told = GROUNDING["and_a_part"].sub(_with_part, told)
    return re.sub(r"(?<=[0-9]{3})[ -](?=[0-9]{3})", "", told)


def _with_part(match: re.Match[str]) -> str:
    whole, part = number(match[1]), "".join(f"{number(digit)}" for digit in match[3])
    return match[0] if whole is None else f"{whole}.{part}{match[2]}"


def figures(text: str, said_at: datetime) -> list[Figure]:
    """Returns the figures of a text that was said at that local time, but for names."""
    left, found = plain(text), list[Figure]()

    def take(figure: Figure | None, first: int, last: int) -> None:
        nonlocal left
        if figure is not None:
            found.append(figure)
            left = f"{left[:first]}{' ' * (last - first)}{left[last:]}"

    def take_all(*patterns: str) -> None:
        for pattern in patterns:
            for match in GROUNDING[pattern].finditer(left):
                take(_READERS[pattern](match), *match.span())

    take_all("token")
    for span in find_times(GROUNDING["month"].sub(lambda match: match[0].title(), left), said_at):
        if not span.vague and not is_weekly(span.words):
            day = Figure("day", span.words.casefold(), days=(span.start, span.end))
            take(day, span.first, span.last)
    take_all("weekday", *_CLOCKS)
    return [*found, *_numbers(left)]


def _token(match: re.Match[str]) -> Figure | None:
    if not GROUNDING["structured"].search(match[0]) or GROUNDING["measured"].fullmatch(match[0]):
        return None
    form = frozenset({("token", _bare(match[0]))})
    return Figure("token", match[0], form, form)


def _weekday(match: re.Match[str]) -> Figure:
    day = WEEKDAYS[match[1] or match[2]]
    said = ("weekday", day)
    return Figure("weekday", match[0], frozenset({said}), frozenset({said, ("day of week", day)}))


def _clock(match: re.Match[str]) -> Figure | None:
    """A time of day is told in minutes of twelve hours, and past noon or not."""
    part = match.groupdict("").get
    hour, past = number(part("hour") or "12"), part("past") or ""
    minutes = _PARTS[past] if past in _PARTS else number(past)
    if hour is None or minutes is None or hour > 24:
        return None
    at = (60 * hour + (-minutes if part("to") == "to" else minutes)) % 720
    early, late = part("am") or part("before"), hour > 12 or part("pm") or part("after")
    hours = {(kind, at // 60 + more) for kind in ("value", "bare") for more in (0, 12)}
    half = False if early else True if late else None
    sure = {("clock", at)} if half is None else {("clock", at, half), ("clock", at, None)}
    says = frozenset({("clock", at), ("clock", at, half), *hours})
    return Figure("clock", match[0].strip(), says, frozenset({("minutes", at), *sure}))


_CLOCKS: Final = ("clock_zh", "clock_digits", "clock_en", "clock_sharp", "noon")
_READERS: Final = {
    "token": _token,
    "weekday": _weekday,
    **dict.fromkeys(_CLOCKS, _clock),
}


def _numbers(text: str) -> Iterator[Figure]:
    place = 0
    while match := GROUNDING["number"].search(text, place):
        place = match.end()
        value, behind = _value(match), GROUNDING["counted"].match(text, place)
        if value is None or behind is None:
            continue
        factor, half, unit = behind.groups("")
        value = value * _FACTORS.get(factor, 1) + 0.5 * bool(half)
        counts, of_it = _UNITS.get(unit, ("", 1.0))
        place = behind.end()
        words = text[match.start() : place].strip()
        amount, bare = ("amount", counts, value * of_it), ("bare", value)
        # 7 and 7.30 may be times of day.
        at = int(value) % 12 * 60 + round(value % 1 * 100)
        says = {amount, ("value", value), ("minutes", at), amount if counts else bare}
        needs = {amount, ("clock", at), bare if counts else ("value", value)}
        yield Figure("number", words, frozenset(says), frozenset(needs))


def _value(match: re.Match[str]) -> float | None:
    """Returns the value of a number, None for a word that only looks like one."""
    if match["half"]:
        return 0.5
    if match["digits"]:
        return float(match["digits"].replace(",", ""))
    if not match["words"]:
        han = match["han"] or ""
        return number(han) or number(han[:-1])  # 二十六一斤
    total = current = 0.0
    for word in re.split(r"[\s-]", match["words"]):
        factor, cardinal = _FACTORS.get(word, 0), word.removesuffix("th").replace("tie", "ty")
        own = _WORDS.get(word) or _WORDS.get(cardinal, 0)
        current = (current or 1) * factor if factor else current + own
        if factor > 100:
            total, current = total + current, 0.0
    return total + current


def _bare(token: str) -> str:
    """Returns an address, a version or an id without what may be left out of it."""
    return GROUNDING["left_out"].sub("", token)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was said, as what figures are looked for in: their ``forms``, and the ``spans`` of days
    that were named. ``days``: on which it was said; ``names_days``: whether words name others."""

    text: str
    forms: Forms
    spans: tuple[Days, ...]
    days: tuple[date, ...]
    names_days: bool

    @classmethod
    def of(cls, said: Sequence[tuple[str, datetime]], known: str) -> Evidence:
        """``said``: texts, and when they were said; ``known``: what was known before."""
        text = plain("\n".join((*(text for text, _ in said), known)))
        found = [one for text, at in said for one in figures(text, at)]
        names_days = any(one.kind in ("day", "weekday") for one in found)
        found += figures(known, said[-1][1])
        spans, days = [one.days for one in found if one.days], {at.date() for _, at in said}
        words = [_bare(word) for word in GROUNDING["token"].findall(text)]
        forms = {
            *(form for one in (*found, *_numbers(text)) for form in one.says),
            *(("token", one) for one in (*words, *map("".join, pairwise(words)))),
            *(
                ("weekday", WEEKDAYS[day])
                for row in GROUNDING["some_weekdays"].findall(text)
                for day in row
            ),
            *(("day of week", day.weekday()) for day in (*days, *(day for day, _ in spans))),
        }
        return cls(text, frozenset(forms), tuple(spans), tuple(days), names_days)

    def unsaid(self, text: str, names: Sequence[str], heard: str) -> list[str]:
        """Returns the words of figures and names of a text that were not said. ``names``: of the
        speakers; ``heard``: where else a name may come from, plain."""
        called = "|".join(map(re.escape, " ".join(names).split()))
        bare = re.sub(called or "$^", "@", text)  # 小明晚上 is not 明晚
        told = (figures(bare, datetime.combine(day, time())) for day in self.days)
        unsaid = ([one.words for one in some if not self._has(one)] for some in told)
        return [*min(unsaid, key=len, default=[]), *self._unnamed(bare, f"{heard}\n{self.text}")]

    def has_day(self, day: date) -> bool:
        """Returns whether a day was named, or something was said on it."""
        named = any(first <= day <= last for first, last in self.spans)
        return named or day in self.days or self._has_days(day, day)

    def _has(self, figure: Figure) -> bool:
        if self.forms & figure.needs:
            return True
        if figure.kind != "number" and holds(self.text, figure.words):
            return True
        return figure.days is not None and self._has_days(*figure.days)

    def _has_days(self, first: date, last: date) -> bool:
        """Returns whether days were named: as they are, a part of them, or one by the day of the
        week or of the month."""
        away = min(abs((first - day).days) for day in self.days)
        return any(first <= start and end <= last for start, end in self.spans) or (
            first == last
            and (
                (("weekday", first.weekday()) in self.forms and away <= _WEEK)
                or (("value", first.day) in self.forms and away <= _MONTH)
                or (first in self.days and not self.names_days)
            )
        )

    def _unnamed(self, text: str, known: str) -> Iterator[str]:
        """Yields names that nobody has said, and what nobody said that a speaker, who is @ in the
        text, is called."""
        told = plain(text)
        for pattern in ("han_name", "placeholder"):
            yield from (name for name in GROUNDING[pattern].findall(told) if name not in known)
        for name in GROUNDING["called"].findall(told):
            own = rf"(?:叫|称|号|喊|我是|名[字叫]?).{{0,4}}{re.escape(name[:2])}"
            if not re.search(own, self.text):
                yield name
        for match in GROUNDING["latin_name"].finditer(text):
            word, first = match[0].casefold(), GROUNDING["begins"].search(text, 0, match.start())
            said = word in _NO_NAMES or re.search(rf"(?<![a-z]){word}", known)
            if not said and (not first or GROUNDING["acts"].match(text, match.end())):
                yield match[0]
