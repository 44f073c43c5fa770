"""What is stored must be readable in a month: ``明天`` gets its date behind it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import zip_longest

from ..scripts import simplified
from .expressions import BARE, PERHAPS, Precision, TimeSpan, find_times, is_date

_KEPT = re.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|`[^`\n]{1,500}`"
    r"|[a-z][a-z0-9+.-]{1,15}://[^\s，。）)]{1,2000}|www\.[^\s，。）)]{1,2000}"  # addresses
    r"|[\w.+-]{1,64}@[\w.-]{1,255}"
    r"|[\w./\\-]{0,100}[\w-]\.(?:md|txt|py|js|json|ya?ml|html?|log|docx?|pdf|png|jpe?g|mp[34])\b"
    r"|《[^》\n]{1,80}》",  # titles
    re.DOTALL | re.IGNORECASE | re.ASCII,
)
_BRACKETS = re.compile(r"\s?[（(\[]([^（）()\[\]]{1,60})[）)\]]")
_YEAR = re.compile(r"(?:^|[^0-9])[0-9]{4}(?:-[0-9]{2}| ?年|$)")
_SAME_THING = re.compile(r"[\s（(，,]{0,3}(?:即|也就是|就是|i\.?e\.?,?)?\s?")
_DAY_OF_MONTH = re.compile(
    r"\s(?:the\s)?(?:[0-9]{1,2}(?:st|nd|rd|th)|[0-9]{1,2}/[0-9]{1,2})\b", re.IGNORECASE
)
"""Behind a weekday: a date that is none without it."""
_QUOTES = "\"'“”‘’「」『』"
_SENTENCE = re.compile(r"[^。！？!?；;\n]+")
_AGAIN = re.compile(
    r"[每逢各都总]|一般|通常|平时|平常|固定|经常|常常|习惯|以后|以来|起[，,都就]|开放|闭馆|休息|营业|"
    r"不开|开门|关门|[单双隔]周|"
    r"\b(?:every|each|always|usually|often|never|weekly|normally|closed|open|opens|closes|"
    r"\w+days|weekends)\b",
    re.IGNORECASE,
)
"""Where it is what comes every week that is meant."""
_STANDING = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天末](?:[早晚]上|[上中下]午|傍晚)?的|课|例会|值日|垃圾|"
    r"\b(?:lessons?|class(?:es)?|practice|shift|garbage|trash|bins?)\b",
    re.IGNORECASE,
)
"""What is named by its weekday: 周一的早会."""
_MOVED = re.compile(r"[改换定约推挪延移]|提前")
_OVER = re.compile(
    r"[了过](?![来去夜年节])|刚|\b(?:was|were|did|had|went|came|met|saw|took|got|ate|bought|"
    r"\w{3,}ed)\b",
    re.IGNORECASE,
)
"""Where the last such day is meant as likely as the coming one."""
_UNTIL = re.compile(r"\s?(?:[到至~～–—-]|to|till|until|through)\s?(?:on\s)?", re.IGNORECASE)
"""Between two weekdays: no sooner than the one before."""
_RETURN = re.compile("(?:[早晚]上|[上中下]午|傍晚|才|再|就)?[回返]")
_RETURNED = re.compile(r"\b(?:back|home|return\w*)(?:\son)?\s?$", re.IGNORECASE)
"""Behind a weekday, and before one: whoever returns went before."""
_IN_A_FORM = re.compile(
    r"[^，,。；;、！!？?\n]{0,4}(?:[做干忙学]|完成)[了过]?(?:什么|啥|哪些|多少)(?=[，,。；;、！!？?\s]|$)"
)
_IN_AN_ENGLISH_FORM = re.compile(
    r"\bwhat\s(?:[a-z']{1,9}\s){0,3}(?:did|do|doing|done|finish|finished|work(?:ed)?\son)\s$",
    re.IGNORECASE,
)
"""Behind and before a day of whoever fills in a form each day: 昨天做了什么."""
_DATED = re.compile(r"[（(]\d{4}-\d{2}-\d{2}(?:(?:～| to )\d{4}-\d{2}-\d{2})?[）)]")


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
            unless its sentence tells of every week, or of what is over; behind a date, the first
            such day from that date on: ``下周五去，周日回来``.
    """
    said, text = text, simplified(text)
    kept = [match.span() for match in _KEPT.finditer(text)]
    sentences = _SENTENCE.finditer(text) if weekdays else ()
    once = [one.span() for one in sentences if _is_of_one_week(one[0])]
    parts: list[str] = []
    place = 0
    before: TimeSpan | None = None
    latest = dated = date.min
    spans = find_times(text, now)
    for span, behind in zip_longest(spans, spans[1:]):
        if (
            (span.relative or (BARE.fullmatch(span.words) and _overlaps(span, once)))
            and _is_open(text, span, before, behind)
            and not _is_beside(text, span, before, behind)
            and not _overlaps(span, kept)
        ):
            if before is not None and _follows(text, span, before):
                latest = max(latest, dated)
            coming = span if span.relative else _not_before(span, latest)
            dated = coming.start
            parts += [said[place : span.last], _written(coming)]
            place = span.last
        before = span
        if not span.vague and not BARE.fullmatch(span.words):
            latest = max(latest, span.start)
    return "".join([*parts, said[place:]])


def stands_weekly(text: str) -> bool:
    """Whether a text that is no event by what is known of it may be so every week."""
    return _STANDING.search(text) is not None


def without_weekday_dates(text: str) -> str:
    """``text`` as it was before its bare weekdays got their dates."""
    parts: list[str] = []
    place = 0
    for match in _DATED.finditer(text):
        before = simplified(text[max(match.start() - 20, 0) : match.start()].rstrip())
        if any(before.endswith(bare[0]) for bare in BARE.finditer(before)):
            parts.append(text[place : match.start()].rstrip(" "))
            place = match.end()
    return "".join([*parts, text[place:]])


def _is_of_one_week(sentence: str) -> bool:
    """False for a sentence that tells of every week, or of what is over."""
    if _AGAIN.search(sentence):
        return False
    return _MOVED.search(sentence) is not None or _OVER.search(sentence) is None


def _overlaps(span: TimeSpan, places: Sequence[tuple[int, int]]) -> bool:
    return any(first < span.last and span.first < last for first, last in places)


def _follows(text: str, span: TimeSpan, before: TimeSpan) -> bool:
    """Whether it is behind the day that was named before: 周一到周三, 周五去，周日回来."""
    between = text[before.last : span.first]
    if _UNTIL.fullmatch(between):
        return True
    returns = _RETURN.match(text, span.last) or _RETURNED.search(between)
    return returns is not None and _MOVED.search(between) is None


def _not_before(span: TimeSpan, latest: date) -> TimeSpan:
    """The same weekday, so many weeks later that it is no sooner than ``latest``."""
    weeks = max(-((span.start - latest).days // 7), 0)
    later = timedelta(weeks=weeks)
    return replace(span, start=span.start + later, end=span.end + later)


def _is_open(text: str, span: TimeSpan, before: TimeSpan | None, behind: TimeSpan | None) -> bool:
    """False for what has its date already, and for what is no day but a name or a guess."""
    around = text[span.first - 1 : span.first], text[span.last : span.last + 1]
    if span.vague or all(sign and sign in _QUOTES for sign in around):  # a title: "Yesterday"
        return False
    if _IN_A_FORM.match(text, span.last) or _IN_AN_ENGLISH_FORM.search(text[: span.first]):
        return False
    inside = _BRACKETS.match(text, span.last)
    if inside and (_YEAR.search(inside[1]) or (is_date(behind) and behind.last <= inside.end())):
        return False
    return not (is_date(before) and _SAME_THING.fullmatch(text, before.last, span.first))


def _is_beside(text: str, span: TimeSpan, *around: TimeSpan | None) -> bool:
    """Whether it belongs to the date before or behind it: tomorrow, 12 June; Friday the 12th."""
    if BARE.fullmatch(span.words):
        return _DAY_OF_MONTH.match(text, span.last) is not None
    for other in around:
        if is_date(other) and not BARE.fullmatch(other.words) and span.start == other.start:
            between = sorted((span.first, span.last, other.first, other.last))[1:3]
            if span.precision is Precision.DAY and PERHAPS.fullmatch(text, *between):
                return True
    return False


def _written(span: TimeSpan) -> str:
    chinese = not span.words.isascii()
    if span.around:
        middle = span.start + (span.end - span.start) / 2
        days = f"{middle} 前后" if chinese else f"around {middle}"
    elif span.precision is Precision.YEAR:
        days = f"{span.start.year:04d}{' 年' if chinese else ''}"
    else:
        days = ("～" if chinese else " to ").join(_ends(span))
    return f"（{days}）" if chinese else f" ({days})"


def _ends(span: TimeSpan) -> list[str]:
    """First and last day, or first and last month where the span has whole months; one if equal."""
    whole = span.start.day == 1 and (
        span.end == date.max or (span.end + timedelta(days=1)).day == 1
    )
    if whole and span.precision is not Precision.DAY:
        ends = [f"{at.year:04d}-{at.month:02d}" for at in (span.start, span.end)]
    else:
        ends = [at.isoformat() for at in (span.start, span.end)]
    return ends[:1] if ends[0] == ends[1] else ends
