"""Chinese dates: years, months, days of a month, alone or together. Pure.

A rule is a pattern and what it makes of a match; None means that the match is taken and is no time.
Every repetition in a pattern is bounded: a hostile text costs no more than a long one.
"""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from ..numerals import number
from . import spans as calendar
from .spans import Days, Moment, Rule, alternatives, no_time

_YEAR = "(?:(?:1[89]|2[01])[0-9]{2}|[一二][零〇一二三四五六七八九]{3})"
_MONTH = "(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
DAY = (
    "(?:[12][0-9]|3[01]|0?[1-9]|二十[一二三四五六七八九]?|三十一?|十[一二三四五六七八九]?"
    "|[一二三四五六七八九])"
)
_NOT_IN_A_NUMBER = (
    "(?:(?<![0-9零〇一二两三四五六七八九十百千几第.:：/-])|(?<=[周期拜][一二三四五六])(?=[0-9]))"
)

_YEAR_WORDS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_SEASONS = {
    "春": calendar.SPRING,
    "夏": calendar.SUMMER,
    "秋": calendar.AUTUMN,
    "冬": calendar.WINTER,
}
_FEASTS = {
    "元旦": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "愚人节": (4, 1), "五一": (5, 1),
    "劳动节": (5, 1), "六一": (6, 1), "儿童节": (6, 1), "国庆": (10, 1), "万圣节": (10, 31),
    "双十一": (11, 11), "双11": (11, 11), "平安夜": (12, 24), "圣诞": (12, 25),
}  # fmt: skip
"""Only behind a year: alone they come every year. Feasts of the moon's calendar are left out."""

_MONTH_PARTS = {"初": 0, "上旬": 0, "中": 1, "中旬": 1, "底": 2, "末": 2, "下旬": 2}
_YEAR_PARTS = {
    "初": (1, 3), "中": (6, 2), "底": (11, 2), "末": (11, 2), "上半年": (1, 6), "下半年": (7, 6),
    "第一季度": (1, 3), "第二季度": (4, 3), "第三季度": (7, 3), "第四季度": (10, 3),
}  # fmt: skip
"""First month and number of months."""

_PART_END = "(?=[，。！？；、,.!?;\\s的就要会我他她去在]|$)"
_MONTH_PART = (
    f"(?P<part>上旬|中旬|下旬|初(?![中次一二三恋始步级])|底(?![薪线层片])|末|中{_PART_END})"
)
_YEAR_PART = f"初(?![中次一二三恋始步级])|底(?![薪线层片特])|末|(?<=年)中{_PART_END}"
_HALF = "上半年|下半年|第[一二三四]季度"
_NOT_A_MONTH = (
    "(?![饼球亮台租薪子色光嫂经老卡票费供季刊考均牙底]|有余|不见"
    "|[0-9一二两三四五六七八九十几]{1,3}[次回遍])"
)
_NOT_A_YEAR = "(?![轻龄纪代画糕华少])"
_MEASURED = "(?![0-9.:：%月号日个多万元块人条次天家件名位分度斤公里张本年点岁-])"

_IN_A_YEAR = (
    f"(?:的?\\s?(?:(?P<month>{_MONTH})\\s?月份?"
    f"(?:的?\\s?(?P<day>{DAY})\\s?[日号]|的?{_MONTH_PART}|{_NOT_A_MONTH}))"
    f"|的?(?P<season>[春夏秋冬])[天季]|的?年?(?P<years_part>{_YEAR_PART})|的?(?P<half>{_HALF})"
    f"|的?(?P<feast>{alternatives(_FEASTS)})|的?(?P<same_day>今天|今日))?"
)


def _number(text: str) -> int:
    found = number(text)
    if found is None:
        raise ValueError(f"no number: {text!r}")
    return found


def _word_year(match: re.Match[str], moment: Moment) -> Days | None:
    """``去年``, ``去年5月2号``, ``明年夏天``, ``今年年底``, ``去年国庆``, ``去年今天``."""
    return _in_year(
        match, moment, moment.local_day.year + _YEAR_WORDS[match["word"]], relative=True
    )


def _told_year(match: re.Match[str], moment: Moment) -> Days | None:
    """``2026年``, ``2026年5月``, ``二〇二六年五月二号``."""
    return _in_year(match, moment, _number(match["year"]), relative=False)


def _short_year(match: re.Match[str], moment: Moment) -> Days | None:
    """``26年5月``: of the century in which it lies nearest."""
    year = int(match["year"])
    year += round((moment.local_day.year - year) / 100) * 100
    return _in_year(match, moment, year, relative=False)


def _in_year(match: re.Match[str], moment: Moment, year: int, *, relative: bool) -> Days | None:
    if match["month"]:
        month = _number(match["month"])
        if match["day"]:
            return calendar.exactly(year, month, _number(match["day"]), relative=relative)
        if match["part"]:
            third = _MONTH_PARTS[match["part"]]
            return calendar.month_part(year, month, third, relative=relative)
        return calendar.month(year, month, relative=relative)
    if match["season"]:
        return calendar.season(year, _SEASONS[match["season"]], relative=relative)
    part = match["years_part"] or match["half"]
    if part:
        return calendar.months(year, *_YEAR_PARTS[part], relative=relative)
    if match["feast"]:
        return calendar.exactly(year, *_FEASTS[match["feast"]], relative=relative)
    if match["same_day"]:
        return calendar.exactly(year, moment.local_day.month, moment.local_day.day, relative=True)
    return calendar.year(year, relative=relative)


def _word_month(match: re.Match[str], moment: Moment) -> Days | None:
    """``上个月``, ``下个月3号``, ``本月底``."""
    away = match["which"].count("下") - match["which"].count("上")
    year, month = calendar.month_from(moment, away)
    if match["day"]:
        return calendar.exactly(year, month, _number(match["day"]), relative=True)
    if match["part"]:
        return calendar.month_part(year, month, _MONTH_PARTS[match["part"]], relative=True)
    return calendar.month(year, month, relative=True)


def _bare_date(match: re.Match[str], moment: Moment) -> Days | None:
    """``5月2号``, ``五月二号``, ``5月2号到5号``."""
    first = calendar.bare_date(moment, _number(match["month"]), _number(match["day"]))
    if first is None or not match["until"]:
        return first
    last = first.start.replace(day=_number(match["until"]))
    return Days(first.start, last, calendar.Precision.SPAN) if last > first.start else first


def _bare_month(match: re.Match[str], moment: Moment) -> Days | None:
    """``五月``, ``5月份``, ``5月底``."""
    part = match["part"]
    third = _MONTH_PARTS[part] if part else None
    return calendar.bare_month(moment, _number(match["month"]), third)


def _bare_day(match: re.Match[str], moment: Moment) -> Days | None:
    """``二十一号``."""
    return calendar.bare_day(moment, _number(match["day"]))


def _bare_part(match: re.Match[str], moment: Moment) -> Days | None:
    """``月初``, ``月底``."""
    third = _MONTH_PARTS[match["part"]]
    near = (calendar.month_from(moment, away) for away in (-1, 0, 1))
    return moment.chosen(calendar.month_part(*own, third) for own in near)


def _bare_years_part(match: re.Match[str], moment: Moment) -> Days | None:
    """``年初``, ``年底``, ``上半年``."""
    part = _YEAR_PARTS[match["years_part"] or match["half"]]
    years = (moment.local_day.year + away for away in (-1, 0, 1))
    return moment.chosen(calendar.months(own, *part) for own in years)


_NOT_A_DAY = (
    "(?![楼线门店房桌文机电汽公馆厅院桥球位码选病员厂矿坑仓柜箱车床座排窗口出站信令铅字航台服区井弄巷"
    "钢染柴油键槽教主男女种方案墙队路街码宿室卡船舰艇牌柱铺屋高铁档粮公称钻人角色])"
)
_BEFORE_A_DAY = "(?<![月座房楼路街巷弄门牌学工尾账车卡编型代单票证排])"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(pattern), make)
    for pattern, make in (
        (
            f"(?<![如过])(?P<word>大前年|去年|[今本明]年){_NOT_A_YEAR}{_IN_A_YEAR}",
            _word_year,
        ),
        (
            f"(?<![如以之从目此])(?P<word>[前后]年){_NOT_A_YEAR}{_IN_A_YEAR}",
            _word_year,
        ),
        (f"(?<![0-9.])(?P<year>{_YEAR})\\s?年{_NOT_A_YEAR}{_IN_A_YEAR}", _told_year),
        (f"(?<![0-9.])(?P<year>[0-9]{{2}})年(?={_MONTH}月){_IN_A_YEAR}", _short_year),
        (
            "(?<![马晚早以网路身天])(?P<which>上{1,2}个?|下{1,2}个?|本|这个?)月"
            f"(?:份?的?(?P<day>{DAY})[日号]|份?的?{_MONTH_PART}|份?{_NOT_A_MONTH})",
            _word_month,
        ),
        (
            f"{_NOT_IN_A_NUMBER}(?P<month>{_MONTH})\\s?月份?的?\\s?(?P<day>{DAY})"
            f"(?:\\s?[日号](?:[到至~～—-](?P<until>{DAY})[日号])?|(?<=[0-9]){_MEASURED})",
            _bare_date,
        ),
        (
            f"{_NOT_IN_A_NUMBER}(?P<month>{_MONTH})月(?:份?的?{_MONTH_PART}|份|{_NOT_A_MONTH}(?!天(?!气)))",
            _bare_month,
        ),
        (f"{_NOT_IN_A_NUMBER}{_BEFORE_A_DAY}(?P<day>{DAY})号{_NOT_A_DAY}", _bare_day),
        (
            f"{_NOT_IN_A_NUMBER}(?<!月)(?P<day>[12]?[0-9]|3[01])日(?![游谈内后前元圆均报均间本记常语系式企韩剧])",
            _bare_day,
        ),
        ("(?<![个每数整满岁])月(?P<part>初|底|末)(?![薪线层片])", _bare_part),
        (
            f"(?<![个每数整满成半周几全0-9一二两三四五六七八九十])年(?P<years_part>{_YEAR_PART})"
            f"|(?P<half>{_HALF})",
            _bare_years_part,
        ),
        ("五月天|八月桂|七月流火|三月三|九月九|六月雪|二月兰", no_time),
    )
)
