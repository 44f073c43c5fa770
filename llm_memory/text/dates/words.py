"""What the words for times mean, in both languages: one table each, in lower case. Pure data."""

from __future__ import annotations

import re
from collections.abc import Iterable

UNIT_DAYS = {
    "天": 1, "日": 1, "day": 1, "周": 7, "星期": 7, "礼拜": 7, "week": 7, "fortnight": 14,
    "月": 30, "month": 30, "年": 365, "year": 365,
}  # fmt: skip
UNIT_HOURS = {
    "小时": 1.0, "钟头": 1.0, "分钟": 1 / 60, "秒": 1 / 3600, "秒钟": 1 / 3600,
    "hour": 1.0, "minute": 1 / 60, "min": 1 / 60, "second": 1 / 3600,
}  # fmt: skip
SIDES = {
    "前": -1, "后": 1, "ago": -1, "back": -1, "before now": -1, "earlier": -1, "in": 1,
    "from now": 1, "from today": 1,
}  # fmt: skip
AHEAD = frozenset({"未来", "接下来", "今后", "next", "coming"})
"""Said before a count, where it is from today on: 未来三天, the next two weeks."""
WHICH = {
    "before last": -2, "last": -1, "past": -1, "this past": -1, "this": 0, "the": 0,
    "coming": 0, "this coming": 0, "next": 1, "after next": 2,
}  # fmt: skip
YEAR_WORDS = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}

DAY_WORDS = {
    "大前天": -3, "前天": -2, "前日": -2, "前晚": -2, "昨天": -1, "昨日": -1, "昨晚": -1,
    "昨夜": -1, "昨早": -1, "昨儿": -1, "今天": 0, "今日": 0, "今早": 0, "今晨": 0, "今晚": 0,
    "今夜": 0, "今儿": 0, "明天": 1, "明日": 1, "明早": 1, "明晨": 1, "明晚": 1, "明儿": 1,
    "后天": 2, "后日": 2, "大后天": 3,
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "tonite": 0, "this morning": 0, "this afternoon": 0,
    "this evening": 0, "tomorrow": 1, "tmr": 1, "tmrw": 1, "the day after tomorrow": 2,
    "day after tomorrow": 2,
}  # fmt: skip
VAGUE = {
    "最近": (-14, 0), "近来": (-30, 0), "近期": (-30, 0), "近日": (-14, 0), "不久前": (-30, 0),
    "不久之前": (-30, 0), "前不久": (-30, 0), "刚才": (0, 0), "刚刚": (0, 0), "方才": (0, 0),
    "前几天": (-7, -1), "前些天": (-14, -1), "前些日子": (-60, -3), "前两天": (-4, -1),
    "前阵子": (-60, -3), "前一阵": (-60, -3), "前段时间": (-60, -3), "前一段时间": (-60, -3),
    "这几天": (-3, 3), "这两天": (-2, 2), "这阵子": (-30, 0), "这段时间": (-30, 0),
    "过几天": (1, 7), "过两天": (1, 4), "过阵子": (7, 60), "过段时间": (7, 60), "改天": (1, 14),
    "前几周": (-35, -7), "前几个月": (-180, -30), "前几年": (-2190, -365),
    "前两年": (-1095, -365), "这几年": (-1095, 0), "这两年": (-730, 0), "近年来": (-1825, 0),
    "recently": (-30, 0), "lately": (-30, 0), "these days": (-30, 0), "the other day": (-7, -1),
    "just now": (0, 0), "a while ago": (-60, -1), "a while back": (-60, -1),
    "not long ago": (-30, -1), "a moment ago": (0, 0), "last few days": (-7, 0),
    "past few days": (-7, 0), "last couple of days": (-4, 0), "past couple of days": (-4, 0),
    "next few days": (0, 7), "next couple of days": (0, 4), "last few weeks": (-35, 0),
    "past few weeks": (-35, 0), "next few weeks": (0, 35), "last few months": (-180, 0),
    "past few months": (-180, 0), "last few years": (-1825, 0), "past few years": (-1825, 0),
}  # fmt: skip
"""Days from today that such words most often mean: our guess, for finding, never for storing."""

WEEKDAYS = {
    "一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6, "1": 0, "2": 1, "3": 2,
    "4": 3, "5": 4, "6": 5, "7": 6, "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3,
    "friday": 4, "saturday": 5, "sunday": 6, "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3,
    "thur": 3, "thurs": 3, "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip
MONTHS = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
    "august": 8, "元": 1, "september": 9, "october": 10, "november": 11, "december": 12, "jan": 1,
    "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10,
    "nov": 11, "dec": 12,
}  # fmt: skip
PARTS_OF_DAY = {
    "凌晨": 6, "早上": 12, "早晨": 12, "上午": 12, "中午": 14, "下午": 18, "傍晚": 20, "晚上": 24,
    "夜里": 24, "morning": 12, "noon": 14, "afternoon": 18, "evening": 24, "am": 12, "pm": 24,
}  # fmt: skip
"""The hours at which they are over."""
SEASONS = {
    "春": 3, "夏": 6, "秋": 9, "冬": 12, "spring": 3, "summer": 6, "autumn": 9, "fall": 9,
    "winter": 12,
}  # fmt: skip
"""First months of the northern seasons."""
FEASTS = {
    "元旦": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "愚人节": (4, 1), "五一": (5, 1),
    "劳动节": (5, 1), "六一": (6, 1), "儿童节": (6, 1), "国庆": (10, 1), "万圣节": (10, 31),
    "双十一": (11, 11), "双11": (11, 11), "平安夜": (12, 24), "圣诞": (12, 25),
    "new year's day": (1, 1), "new year's eve": (12, 31), "valentine's day": (2, 14),
    "halloween": (10, 31), "christmas eve": (12, 24), "christmas": (12, 25),
}  # fmt: skip
"""Those of the moon's calendar are left out."""
MONTH_PARTS = {
    "初": 0, "上旬": 0, "中": 1, "中旬": 1, "底": 2, "末": 2, "下旬": 2, "early": 0,
    "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2,
}  # fmt: skip
"""Thirds of a month."""
YEAR_PARTS = {
    "初": (1, 3), "中": (6, 2), "底": (11, 2), "末": (11, 2), "上半年": (1, 6), "下半年": (7, 6),
    "第一季度": (1, 3), "第二季度": (4, 3), "第三季度": (7, 3), "第四季度": (10, 3),
    "early": (1, 3), "beginning": (1, 3), "start": (1, 3), "mid": (5, 4), "middle": (5, 4),
    "late": (10, 3), "end": (10, 3),
}  # fmt: skip
"""First month and number of months."""
ORDINALS = {
    word: at
    for at, word in enumerate(
        """
first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first
twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth
twenty-ninth thirtieth thirty-first
""".split(),  # noqa: SIM905
        start=1,
    )
}


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
