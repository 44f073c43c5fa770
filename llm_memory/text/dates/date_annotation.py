"""What is stored must be readable in a month: ``明天`` gets its date behind it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from ..numerals import narrowed
from ..scripts import simplified
from .expressions import Precision, TimeSpan, find_times, is_date, is_weekly
from .words import TIMES

_QUOTES = "\"'“”‘’「」『』"


def resolve_dates(text: str, now: datetime, *, weekdays: bool = False) -> str:
    """``text`` with the date behind every word that says how far from now.

    ``明天去医院`` becomes ``明天（2026-11-22）去医院``, ``tomorrow`` ``tomorrow (2026-11-22)``; a
    week or a season gets its first and last day or month, ``三个月前`` its month, ``去年`` its
    year. The words stay. Left alone are: full dates, dates without a year and weekdays (a birthday
    on ``5月2号`` comes every year), what is a habit, vague words (``最近``), what has its date
    already, and code, addresses, titles and words in quotes of their own. Resolving twice, at any
    time, is resolving once.

    Args:
        text: What was said at ``now``.
        now: Local time of the speaker.
        weekdays: It tells of one event or task: a bare 周六, 周末, "on Saturday" is the coming one,
            unless its sentence tells of every week, or of what is over, or named a later day
            before: of ``下周五去，周日回来`` the coming Sunday is not meant.
    """
    plain = simplified(text)
    kept = [match.span() for match in TIMES["kept"].finditer(plain)]
    sentences = TIMES["sentence"].finditer(plain) if weekdays else ()
    once = [one.span() for one in sentences if _is_of_one_week(one[0])]
    parts, place, latest = list[str](), 0, date.min
    spans = find_times(text, now)
    for before, span, behind in zip((None, *spans), spans, (*spans[1:], None), strict=False):
        weekly = is_weekly(span.words)
        coming = weekly and span.start >= latest and _overlaps(span, once)
        if (
            (span.relative or coming)
            and _is_open(plain, span, before, behind)
            and not _overlaps(span, kept)
        ):
            parts += [text[place : span.last], _written(span)]
            place = span.last
        if not span.vague:
            latest = max(latest, span.start)
    return "".join([*parts, text[place:]])


def stands_weekly(text: str) -> bool:
    """Whether a text that is no event by what is known of it may be so every week."""
    return TIMES["standing"].search(simplified(text)) is not None


def without_weekday_dates(text: str) -> str:
    """``text`` as it was before its bare weekdays got their dates."""
    for match in reversed(list(TIMES["bare_dated"].finditer(narrowed(text)))):
        text = text[: match.end(1)] + text[match.end() :]
    return text


def _is_of_one_week(sentence: str) -> bool:
    """False for a sentence that tells of every week, of what is over, or has its dates already."""
    again = TIMES["again"].search(sentence) or TIMES["dated"].search(sentence)
    return not again and bool(
        TIMES["moved"].search(sentence) or not TIMES["is_over"].search(sentence)
    )


def _overlaps(span: TimeSpan, places: Sequence[tuple[int, int]]) -> bool:
    return any(first < span.last and span.first < last for first, last in places)


def _is_open(text: str, span: TimeSpan, before: TimeSpan | None, behind: TimeSpan | None) -> bool:
    """False for what has its date already, and for what is no day but a name or a guess."""
    around = text[span.first - 1 : span.first], text[span.last : span.last + 1]
    if span.vague or all(sign and sign in _QUOTES for sign in around):  # a title: "Yesterday"
        return False
    inside = TIMES["brackets"].match(text, span.last)
    return not (
        TIMES["in_a_form"].match(text, span.last)
        or TIMES["in_an_english_form"].search(text[: span.first])
        or (inside and TIMES["names_year"].search(inside[1]))
        or (inside and is_date(behind) and behind.last <= inside.end())
        or (is_weekly(span.words) and TIMES["day_of_month"].match(text, span.last))
        or (is_date(before) and TIMES["same_thing"].fullmatch(text, before.last, span.first))
    )


def _written(span: TimeSpan) -> str:
    """Its date, its first and last day, or its first and last month where it has whole ones."""
    chinese = not span.words.isascii()
    if span.around:
        middle = span.start + (span.end - span.start) / 2
        days = f"{middle} 前后" if chinese else f"around {middle}"
    elif span.precision is Precision.YEAR:
        days = f"{span.start.year:04d}{' 年' if chinese else ''}"
    else:
        to_a_first = span.end == date.max or (span.end + timedelta(days=1)).day == 1
        whole = span.start.day == 1 and to_a_first and span.precision is not Precision.DAY
        length = len("2026-11" if whole else "2026-11-21")
        ends = dict.fromkeys(at.isoformat()[:length] for at in (span.start, span.end))
        days = ("～" if chinese else " to ").join(ends)
    return f"（{days}）" if chinese else f" ({days})"
