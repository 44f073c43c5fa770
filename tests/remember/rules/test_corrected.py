"""What a text says again of what a person has corrected, what it takes back, and what it only
resembles."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.deeds import Deed, DeedKind
from astrbot_plugin_scoped_memory.llm_memory.remember.rules import corrected
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.contradiction import contradicts
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.corrected import (
    Removed,
    marks_of,
    named,
    says,
    without,
)
from astrbot_plugin_scoped_memory.tests.support.memories import memory

pytestmark = pytest.mark.unit

SAID = datetime(2026, 11, 21, 9, tzinfo=UTC)


def removed(words: str) -> Removed:
    """A forgotten statement of a person."""
    said = words, SAID, SAID + timedelta(hours=1), "p", "小明"
    return Removed(Deed(DeedKind.FORGOTTEN, "家人", "m-1", *said), str)


PEANUTS = "奶奶对花生过敏"
TIDIED = "小林把上线的流程和检查清单都整理好了"
TRIP = "小明上周去北京出差住了三天见了客户"
ANOTHER_STATEMENT = [
    # the same of another person
    ("我对花生过敏", "我女儿对花生过敏"),
    ("我对花生过敏", "小明的同桌对花生过敏"),
    ("小明住在杭州", "小明的妹妹住在杭州"),
    ("小明住在杭州", "小明的室友小刚住在杭州"),
    ("小明 likes tea", "小明's sister likes tea"),
    ("I am allergic to peanuts", "My son is allergic to peanuts"),
    (PEANUTS, "爷爷对花生过敏"),
    # another statement
    (PEANUTS, "奶奶对花生不过敏"),
    (PEANUTS, "奶奶以前对花生过敏"),
    (PEANUTS, "奶奶对花粉过敏"),
    ("奶奶住302室", "奶奶住301室"),
    ("小明喜欢小红", "小红喜欢小明"),
    # few words in a clause about something else
    ("去北京", "小明下周二去北京出差"),
    ("买牛奶", "小明今天买牛奶时遇到了老同学"),
]
SAME_STATEMENT = [
    (PEANUTS, "我奶奶对花生严重过敏"),
    (PEANUTS, "妈妈说奶奶对花生过敏"),
    (PEANUTS, "奶奶对花生过敏。"),
    (PEANUTS, "小明的奶奶对花生过敏"),
    (PEANUTS, "奶奶一吃花生就过敏"),
    (PEANUTS, "奶奶对花生过敏，一颗也吃不得"),
    (PEANUTS, "要记得的是：奶奶对花生很过敏"),
    ("小明住在杭州", "小明现在住在杭州西湖区"),
    ("买牛奶", "小明要买牛奶"),
    ("密码是 hunter2", "小明说密码是 hunter2"),
]
ANOTHER_THING_OF_THE_SAME_PERSON = [
    ("会话用 Redis 存在内网的机器上", "缓存用 MySQL 存在内网的机器上"),
    ("Lina带我们去河边钓了一篓鲫鱼", "Marco带我们去河边钓了一篓鲫鱼"),
    ("I parked the car behind the Lidl in Ghent", "I parked the car behind the Aldi in Bruges"),
    # a comment that goes with anything
    ("我们在海底捞吃了一顿火锅，这是好事", "妈妈学会包粽子了，这是好事"),
    ("周日去植物园看了郁金香，那真叫人开心", "小宝终于学会骑自行车了，那真叫人开心"),
    (
        "We took the ferry to Bruges on Sunday, that was fun",
        "Priya passed her driving test at the third try, that was fun",
    ),
]
OTHER_WORDS_OF_THE_SAME_PERSON = [
    (PEANUTS, "奶奶一吃花生就过敏"),
    (PEANUTS, "花生过敏"),
    ("会话用 Redis 存在内网的机器上", "内网的机器上用 Redis 存会话"),
    ("会话用 Postgres 存在内网的机器上", "会话都用 PostgreSQL 存在内网机器上"),
    ("奶奶一吃 peanut 就会浑身发痒", "奶奶一吃 peanuts 就浑身都发痒"),
    ("我们在海底捞吃了火锅，大家都说很好吃", "我们吃火锅去了海底捞"),
    # a clause that says something by itself, in a longer text about something else
    (f"{TRIP}，门锁密码是 7731", f"{TIDIED}，门锁密码是 7731"),
    (f"{TRIP}，他想换工作", f"{TIDIED}，他想换工作"),
    ("小红上周请了三天假，她怀孕了", f"{TIDIED}，她怀孕了"),
    (
        "We stayed three days in Berlin to meet the client, the door code is 7731",
        "Priya tidied the release steps and the whole check list, the door code is 7731",
    ),
    ("I parked the car behind the Lidl in Ghent", "behind the Lidl in Ghent is my car"),
]


@pytest.mark.parametrize(
    ("pairs", "own", "said"),
    [
        (ANOTHER_STATEMENT, False, False),
        (SAME_STATEMENT, False, True),
        (ANOTHER_THING_OF_THE_SAME_PERSON, True, False),
        (OTHER_WORDS_OF_THE_SAME_PERSON, True, True),
    ],
)
def test_what_a_text_says_again_of_what_was_forgotten(
    pairs: list[tuple[str, str]], own: bool, said: bool
) -> None:
    """``own``: the person who said it says the other text, too."""
    for words, text in pairs:
        person = "p" if own else None
        assert says(named(text, "小明"), SAID, [removed(words)], person) is said, (words, text)


def test_a_clause_is_compared_with_no_statement_that_it_cannot_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Thousands of corrections name the same person; each comparison costs."""
    compared: list[Any] = []
    holds = corrected.says_one
    monkeypatch.setattr(
        corrected, "says_one", lambda *asked: (compared.append(asked), holds(*asked))[1]
    )
    many = [removed(f"小明第{number}次去的餐厅是{number}号店") for number in range(100, 200)]
    text = "小明爱吃面，小明第150次去的餐厅是150号店。小明周六去爬山"
    assert without(text, SAID, many) == "小明爱吃面，小明周六去爬山"
    assert {one.deed.words for _, one, _ in compared} == {many[50].deed.words}


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("new", "old", "certain"),
    [
        # a negation, or another number or date at the end
        ("数据库端口是 6432", "数据库端口是 5432", True),
        ("The staging port is 6432", "The staging port is 5432", True),
        ("我们周五不发布", "我们周五发布", True),
        ("We do not deploy on Fridays", "We deploy on Fridays", True),
        ("发布日期是 3 月 8 日", "发布日期是 3 月 1 日", True),
        ("项目用 Python 3.12", "项目用 Python 3.11", True),
        ("例会是明天", "例会是 2026-12-04", True),
        # another thing, or the same once more
        ("301 房间的灯坏了", "302 房间的灯坏了", False),
        ("v1 的接口在 8001 端口", "v2 的接口在 8002 端口", False),
        ("支付模块的负责人是李雷", "登录模块的负责人是韩梅梅", False),
        ("张三有 2 个孩子", "李四有 2 个孩子", False),
        ("小明是程序员", "小明是上海人", False),
        ("默认分支是 main", "默认分支是 master", False),
        ("2026-11-20 开了周会", "2026-11-27 开了周会", False),
        ("数据库端口是 5432，别忘了", "数据库端口是 5432", False),
        ("", "数据库端口是 5432", False),
    ],
)
def test_what_contradicts_another_statement_for_certain(new: str, old: str, certain: bool) -> None:
    before = memory(old, at=NOW - timedelta(days=1))
    assert contradicts(memory(new, at=NOW), before) is certain


@pytest.mark.parametrize("count", [1, 60])
def test_a_text_is_hashed_as_often_however_many_statements_are_purged(count: int) -> None:
    hashed: list[str] = []

    def sealed(words: str) -> Removed:
        known = Removed(removed(words).deed, mark)
        return Removed(replace(known.deed, words="", marks=marks_of(known)), mark)

    def mark(text: str) -> str:
        hashed.append(text)
        return text

    many = [sealed(f"小明有{number}号钥匙") for number in range(count)]
    hashed.clear()
    text = f"小明爱吃面，小明有{count - 1}号钥匙。小明周六去爬山"
    assert without(text, SAID, many) == "小明爱吃面，小明周六去爬山"
    assert len(hashed) < 20
