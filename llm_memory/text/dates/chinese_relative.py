"""Chinese words that say how far from now: days, weeks, so many of them, and weekdays. Pure."""

from __future__ import annotations

import re

from ..lazy_pattern import LazyPattern
from ..numerals import number
from . import spans as calendar
from .spans import Days, Moment, Rule, alternatives, no_time

_DAY_WORDS = {
    "大前天": -3, "前天": -2, "前日": -2, "前晚": -2, "昨天": -1, "昨日": -1, "昨晚": -1,
    "昨夜": -1, "昨早": -1, "昨儿": -1, "今天": 0, "今日": 0, "今早": 0, "今晨": 0, "今晚": 0,
    "今夜": 0, "今儿": 0, "明天": 1, "明日": 1, "明早": 1, "明晨": 1, "明晚": 1, "明儿": 1,
    "后天": 2, "后日": 2, "大后天": 3,
}  # fmt: skip
_VAGUE = {
    "最近": (-14, 0), "近来": (-30, 0), "近期": (-30, 0), "近日": (-14, 0), "不久前": (-30, 0),
    "不久之前": (-30, 0), "前不久": (-30, 0), "刚才": (0, 0), "刚刚": (0, 0), "方才": (0, 0),
    "前几天": (-7, -1), "前些天": (-14, -1), "前些日子": (-60, -3), "前两天": (-4, -1),
    "前阵子": (-60, -3), "前一阵": (-60, -3), "前段时间": (-60, -3), "前一段时间": (-60, -3),
    "这几天": (-3, 3), "这两天": (-2, 2), "这阵子": (-30, 0), "这段时间": (-30, 0),
    "过几天": (1, 7), "过两天": (1, 4), "过阵子": (7, 60), "过段时间": (7, 60), "改天": (1, 14),
    "前几周": (-35, -7), "前几个月": (-180, -30), "前几年": (-2190, -365),
    "前两年": (-1095, -365), "这几年": (-1095, 0), "这两年": (-730, 0), "近年来": (-1825, 0),
}  # fmt: skip
"""Days from today that such words most often mean: our guess, for finding, never for storing."""

_WEEKDAY = "[一二三四五六日天1-7]"
_NO_WEEKDAY = (
    "(?<!一(?=直(?![播飞达接升])|起(?![飞床诉步义立，,。；;、]|就|都)|[般些样致共]|定(?![下好了])))"
    "(?<!二(?=手))(?<!日(?=程|常(?!规)|均|子))(?<![一二三四五六](?=天(?!气|还|没|不|[黑亮])))"
)
"""Behind 周, it begins the next word: 下周一起去, 这周日程, 上周三天都在."""
_WEEKDAYS = {
    **{digit: at for at, digit in enumerate("一二三四五六日")},
    **{digit: at for at, digit in enumerate("1234567")},
    "天": 6,
}
_COUNT = "(?:[0-9]{1,4}|[一二两三四五六七八九十百]{1,5}|半|好?几十?|数十?|十几)"
_HOURS = {"小时": 1.0, "钟头": 1.0, "分钟": 1 / 60, "秒": 1 / 3600, "秒钟": 1 / 3600}
_UNIT_DAYS = {"天": 1, "日": 1, "周": 7, "星期": 7, "礼拜": 7, "月": 30, "年": 365}
_WEEKS = frozenset({"周", "星期", "礼拜"})
_FROM_NOW = LazyPattern(
    '(?:^|[\\s，。！？；：、,.!?;:（(“"]|[我你您他她它咱]|们|大家|[会要将再就在约定说等是到去来]'
    "|大概|可能|打算|准备|计划)$"
)
_LOOK_BACK = 4
_TWO = 2


def _day_word(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.day(moment, _DAY_WORDS[match[0]])


def _week(match: re.Match[str], moment: Moment) -> Days | None:
    """``上周``, ``下周五``, ``上上个星期天``, ``上周末``: weeks of the calendar."""
    weeks = match["which"].count("下") - match["which"].count("上")
    if match["end"]:
        return calendar.weekend(moment, weeks)
    if match["weekday"]:
        return calendar.weekday(moment, weeks, _WEEKDAYS[match["weekday"]])
    return calendar.week(moment, weeks)


def _bare_weekday(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.bare_weekday(moment, _WEEKDAYS[match["weekday"]])


def _bare_weekend(_: re.Match[str], moment: Moment) -> Days | None:
    return calendar.bare_weekend(moment)


def _count_away(match: re.Match[str], moment: Moment) -> Days | None:
    """``3天前``, ``两周后``, ``一年半以前``, ``五分钟前``; ``几天前`` and ``两三天前`` are vague.

    Behind a word that says from when (``手术三天后``) it is counted from there: no time of its own.
    """
    ahead = match["side"] == "后"
    before = match.string[max(match.start() - _LOOK_BACK, 0) : match.start()]
    if ahead and not _FROM_NOW.search(before):
        return None
    sign, unit = (1 if ahead else -1), match["unit"]
    half = 0.5 if match["half"] or match["more"] else 0
    if unit in _HOURS:
        hours = _HOURS[unit] * ((_some(match["count"]) or 3) + half)
        return calendar.day(moment, (moment.hours_away(sign * hours) - moment.local_day).days)
    count = _some(match["count"])
    if count is None:
        near, far = _ends(match["count"])
        ends = sign * near * _UNIT_DAYS[unit], sign * far * _UNIT_DAYS[unit]
        return calendar.span(moment, min(ends), max(ends), vague=True)
    return _away(moment, sign * (count + half), unit)


def _away(moment: Moment, count: float, unit: str) -> Days:
    if unit in _WEEKS or (unit == "月" and abs(count) < 1):
        return calendar.around(moment, round(count * _UNIT_DAYS[unit]))
    if unit == "月" or count % 1:
        months = round(count * (1 if unit == "月" else 12))
        return calendar.month(*calendar.month_from(moment, months), relative=True)
    if unit == "年":
        return calendar.year(moment.local_day.year + int(count), relative=True)
    return calendar.day(moment, round(count))


def _some(count: str) -> float | None:
    """None for a few, and for two numbers in one (``两三``)."""
    if count == "半":
        return 0.5
    two_in_one = len(count) == _TWO and "十" not in count and not count.isascii()
    return None if two_in_one else number(count)


def _ends(count: str) -> tuple[int, int]:
    """``两三`` is two to three, a few one to ten."""
    near, far = (number(digit) for digit in count) if len(count) == _TWO else (None, None)
    return (near, far) if near and far and near < far else (1, 10)


def _range(match: re.Match[str], moment: Moment) -> Days | None:
    """``最近三天``, ``过去两周``, ``未来一个月``: up to today, or from today on."""
    count = _some(match["count"])
    days = round((7 if count is None else count) * _UNIT_DAYS[match["unit"]])
    ends = (0, days) if match["side"] in {"未来", "接下来", "今后"} else (-days, 0)
    return calendar.span(moment, *ends, vague=count is None)


def _vague(match: re.Match[str], moment: Moment) -> Days | None:
    return calendar.span(moment, *_VAGUE[match[0]], vague=True)


_NOT_COUNTED = "(?!次|遍|趟|个(?!月)|人次|张|篇)"
_ACQUIRED = "性|获得|形成|养成|习得|免疫|失调|因素|环境|教育|努力(?!学|工|复|准)"

RULES: tuple[Rule, ...] = tuple(
    (LazyPattern(pattern), make)
    for pattern, make in (
        (f"{alternatives(word for word in _DAY_WORDS if word[0] not in '前后明')}", _day_word),
        # 目前天气, 以前天天: the day before yesterday is in neither.
        ("(?<![目之以眼从先提])前(?:天(?!天(?!气))|日|晚)", _day_word),
        ("(?<![然以之今最先此往背午饭])后(?:天(?!天(?!气)|[黑亮])|日(?!谈))", _day_word),
        (
            "(?<![黎透光声发聪证表鲜文])明(?:天(?!使|天(?!气)|生(?!日)|花板)|[日早晨晚儿])",
            _day_word,
        ),
        (
            "如今(?:天气|日)|明明天(?:气|已|都|还)|昨日重现|今日(?:头条|说法)|明日(?:方舟|之[后子])"
            f"|先天[和与及、]?后天|后天[和与及、]?先天|后天(?:{_ACQUIRED})",
            no_time,
        ),
        (
            "(?<![马晚早以网路身])(?P<which>上{1,2}个?|下{1,2}个?|本|这个?)(?:周|星期|礼拜)"
            f"(?:(?P<end>末)|(?P<weekday>{_WEEKDAY})(?!月){_NOT_COUNTED}"
            f"(?<!日(?=[记报])){_NO_WEEKDAY}|(?![刊边围岁长转密折]))",
            _week,
        ),
        (
            f"(?<![一二两三四五六七八九十几每半整数0-9四])(?:周(?!天)|星期|礼拜)(?P<weekday>{_WEEKDAY})"
            f"(?![报刊围0-9]|日报){_NOT_COUNTED}",
            _bare_weekday,
        ),
        (
            f"(?:周|星期|礼拜){_WEEKDAY}?[到至~-](?:周|星期|礼拜)?{_WEEKDAY}|星期[日天]报|周末(?:版|画报)",
            no_time,
        ),
        ("(?<![每])(?:周末|双休日)", _bare_weekend),
        (
            f"(?<![第0-9.])(?P<count>{_COUNT})(?:来|多)?个?(?P<half>半)?"
            f"(?P<unit>{alternatives([*_HOURS, *_UNIT_DAYS])})(?P<more>半)?"
            "(?:以|之)?(?P<side>前|后)(?![提者台端妻锋言期线置途方列悔续果备门代勤缀遗])",
            _count_away,
        ),
        (
            "(?P<side>最近|近|过去|未来|接下来|今后)的?(?:这|那)?"
            f"(?P<count>{_COUNT})个?(?P<unit>{alternatives(_UNIT_DAYS)})(?!前|后)",
            _range,
        ),
        (f"(?<![附靠])(?:{alternatives(_VAGUE)})(?!好|够|的路|点儿?[。，]|处)", _vague),
    )
)
