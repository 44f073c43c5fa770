"""The frame of a Chinese question: what it asks for, in 什么名字, 哪家公司, 几点, 多少钱. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from .lazy_pattern import lazy_pattern

Span = tuple[int, int]

_CLASSIFIER: Final = (
    "[个位家种条只张本部辆间座所趟班件样款类门场片份杯瓶把支枝首篇段句栋幢台套双对根颗匹头道届期路]"
)
_UNIT: Final = (
    "(?:点钟?|号楼?|日|月份?|年级?|岁|次|回|遍|趟|分钟?|秒钟?|小时|天|周|星期|礼拜|楼|层|块钱?|元|毛|斤|"
    "公斤|克|公里|里|米|厘米|平米|度|折|级|成|人|倍|页|章|集|代|口)"
)
_OPEN: Final = (
    r"(?<![为凭干])(?:什么|啥)(?:样儿?的?|(?:种类?|类型|类别)的?)?"
    rf"|哪(?:一|几|两)?(?:些|{_CLASSIFIER})"
    rf"|(?<![好十荐写讲来说举列唱找出])第?几{_CLASSIFIER}"
    rf"|多少{_CLASSIFIER}?"
)
"""Behind it stands the noun that says what kind of thing is asked for."""
_CLOSED: Final = (
    "(?:第|每?(?:周|星期|礼拜)|初)?"
    rf"(?<![好十数前后过近这那])几(?:个?{_UNIT})"
    "|每?(?:周|星期|礼拜)几|初几"
    rf"|多少{_UNIT}"
    "|多(?:大|久|长|远|高|重|宽|深|快|厚|贵|晚|早)(?:的?(?:时间|年纪|岁数|年龄|距离|路))?"
    "|哪(?:一|几)?(?:天|年|月|日|周|号|次|回)"
    "|哪(?:[里儿国省]|个?(?:地方|城市|国家))的?人?"
    "|谁家?"
)
"""It says by itself what kind of thing is asked for."""
_KINDS: Final = (
    "(?:名字|名称|姓名|全名|本名|真名|昵称|外号|小名|英文名|名|公司|单位|部门|企业|行业|职业|工作|岗位|职位|职务|学校|"
    "大学|专业|班级|医院|城市|国家|省份?|地方|地点|地址|住址|位置|方向|路线|线路|小区|楼层|房间|车站|站台?|目的地|"
    "时间|时候|时段|日期|日子|季节|月份|年份|星期|节日|车次|班次|航班|火车|列车|飞机|公交车?|地铁|座位|登机口|"
    "号码|电话|手机号?|账号|编号|尾号|邮箱|颜色|大小|尺码|尺寸|型号|牌子|品牌|款式?|种类|类型|类别|样子|材质|口味|"
    "价格|价钱|价位|钱|费用|年龄|年纪|岁数|身高|体重|生日|属相|星座|血型|关系|身份|数量|次数|频率|原因|理由|结果|"
    "办法|方法|方式|情况|事情?|东西|内容|主题|题目|标题|人)"
)
"""Nouns that name a kind of answer, whatever was spoken of."""
_ASKED = lazy_pattern(f"(?P<closed>{_CLOSED})|(?P<open>{_OPEN})")
_OFTEN = lazy_pattern("多久.{1,6}?(?P<kind>[一1][次回趟遍])")
_NAMING = lazy_pattern("(?P<kind>[起取])(?:了|过|的|个)*(?:什么|啥)")
_DOING = lazy_pattern(
    "(?:哪[里儿家个]|[在去到]了?哪|(?:什么|啥)(?:公司|单位|部门|行业|地方)).{0,6}?"
    "(?P<kind>工作|上班|任职|就职|供职|做事|打工|干活)(?![的地])"
)
_ATTRIBUTE = lazy_pattern(
    "(?P<before>的?)(?P<kind>目的地|[^的]{1,6}?)(?:现在|目前|到底|究竟|一般)*"
    "(?:是|有)(?P<what>(?:什么|啥|哪[个位家种些])(?=[来着呢啊呀吗了]*$)"
    "|谁|哪(?:[里儿](?!人)|天|年|一[天年])|几|多)"
)
_CALLED = lazy_pattern(f"的(?P<kind>{_KINDS})(?:现在|到底|究竟)?叫")
_TOLD = lazy_pattern(
    "(?:知道|记得|告诉|说说|说下|说一下|查查|查下|查一下|问下|问一下|想问|忘了).{0,20}"
    f"[^的](?:的|那[个趟]?)?(?P<kind>{_KINDS})(?:了|吗|么|吧|呢|啊|呀|来着)*$"
)
_KIND = lazy_pattern(_KINDS)
_WITH: Final = frozenset("对给用被把跟和靠拿以从向往")
_NO_NOUN: Final = frozenset(
    """
都 也 还 就 才 是 有 在 要 能 会 可以 让 使 令 被 把 给 对 向 从 到 去 来 了 过 着 呢 吗 吧 啊 呀
呗 的 得 地 最 更 比 比较 很 不 没 没有 好 时候 样 应该 需要 必须 怎么 我 你 他 她 它 我们 你们 他们
她们 谁
""".split()  # noqa: SIM905
)


def chinese_frame(words: Sequence[str]) -> Iterator[tuple[Span, bool]]:
    """Where the frame stands in the characters of a clause, given as its words in order; and
    whether that part of it says nothing but the kind of answer."""
    text = "".join(words)
    ends = list(accumulate(map(len, words)))
    for match in _ASKED.finditer(text):
        yield match.span(), True
        if match["open"]:
            yield from _noun(text, ends, match)
    for pattern in (_OFTEN, _NAMING, _DOING, _CALLED, _TOLD):
        for match in pattern.finditer(text):
            yield match.span("kind"), True
    for match in _ATTRIBUTE.finditer(text):
        yield from _attribute(text, ends, match)


def _noun(text: str, ends: Sequence[int], asked: re.Match[str]) -> Iterator[tuple[Span, bool]]:
    """The noun behind the words that ask, if one stands there."""
    start = asked.end()
    known = _KIND.match(text, start)
    end = max(_word_end(ends, start), known.end() if known else 0)
    noun = text[start:end]
    if not noun or noun in _NO_NOUN:
        return
    alone = end == len(text)
    before = text[asked.start() - 1 : asked.start()]
    if alone and before in _WITH and asked["open"].startswith(("什么", "啥")):
        return  # 对什么过敏, 用什么洗: what is asked stands before the verb
    yield (start, end), _KIND.fullmatch(noun) is not None


def _attribute(text: str, ends: Sequence[int], match: re.Match[str]) -> Iterator[tuple[Span, bool]]:
    """The noun before 是什么; before 是 and another question word only behind 的, where it is
    a person's or a thing's: 展览是哪天 asks about the show, 她的生日是哪天 about her."""
    start, end = match.span("kind")
    owned = match["before"] == "的"
    if not owned:
        if not match["what"].startswith(("什么", "啥")) or text[match.start("what") - 1] == "有":
            return
        start = _word_start(ends, end)
    yield (start, end), _KIND.fullmatch(text[start:end]) is not None


def _word_end(ends: Sequence[int], place: int) -> int:
    """Where the word ends that ``place`` lies in, or begins."""
    return ends[min(bisect_right(ends, place), len(ends) - 1)] if ends else 0


def _word_start(ends: Sequence[int], place: int) -> int:
    """Where the word begins that ends at ``place``, or holds it."""
    before = [end for end in ends if end < place]
    return before[-1] if before else 0
