"""What a text says again of what a person has corrected, what it takes back, and what it only
resembles; and a diary is told without it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.day_journal import journal_without
from astrbot_plugin_scoped_memory.llm_memory.models.deeds import Deed, DeedKind
from astrbot_plugin_scoped_memory.llm_memory.remember.rules import corrected
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.contradiction import contradicts
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.corrected import (
    Removed,
    named,
    says,
    without,
)
from astrbot_plugin_scoped_memory.tests.support.memories import memory

pytestmark = [pytest.mark.unit, pytest.mark.property]

SAID = datetime(2026, 11, 21, 9, tzinfo=UTC)


def removed(words: str, who: str = "小明") -> Removed:
    """A forgotten statement of a person."""
    at = SAID + timedelta(hours=1)
    return Removed(Deed(DeedKind.FORGOTTEN, "家人", "m-1", words, SAID, at, "p", who))


def is_said(text: str, words: str, who: str = "小明") -> bool:
    """Whether the person says in the text what was forgotten."""
    return says(named(text, who), SAID, [removed(words, who)], str) is not None


PEANUTS = "奶奶对花生过敏"


@pytest.mark.parametrize(
    ("words", "text", "who"),
    [
        # the same of another person
        ("我对花生过敏", "我女儿对花生过敏", "小明"),
        ("我对花生过敏", "小明的同桌对花生过敏", "小明"),
        ("小明住在杭州", "小明的妹妹住在杭州", "小明"),
        ("小明住在杭州", "小明的室友小刚住在杭州", "小明"),
        ("Tom likes tea", "Tom's sister likes tea", "Tom"),
        ("I am allergic to peanuts", "My son is allergic to peanuts", "Tom"),
        (PEANUTS, "爷爷对花生过敏", "小明"),
        # another statement
        (PEANUTS, "奶奶对花生不过敏", "小明"),
        (PEANUTS, "奶奶以前对花生过敏", "小明"),
        (PEANUTS, "奶奶对花粉过敏", "小明"),
        ("奶奶住302室", "奶奶住301室", "小明"),
        ("小明喜欢小红", "小红喜欢小明", "小明"),
        # few words in a clause about something else
        ("去北京", "小明下周二去北京出差", "小明"),
        ("买牛奶", "小明今天买牛奶时遇到了老同学", "小明"),
    ],
)
def test_what_only_resembles_it_is_another_statement(words: str, text: str, who: str) -> None:
    assert not is_said(text, words, who)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        # another thing
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
    ],
)
def test_of_the_same_person_another_thing_is_another_statement(words: str, text: str) -> None:
    assert says(named(text, "小明"), SAID, [removed(words, "小明").otherwise], str) is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (PEANUTS, "奶奶一吃花生就过敏"),
        (PEANUTS, "花生过敏"),
        ("会话用 Redis 存在内网的机器上", "内网的机器上用 Redis 存会话"),
        ("会话用 Postgres 存在内网的机器上", "会话都用 PostgreSQL 存在内网机器上"),
        ("奶奶一吃 peanut 就会浑身发痒", "奶奶一吃 peanuts 就浑身都发痒"),
        ("我们在海底捞吃了火锅，大家都说很好吃", "我们吃火锅去了海底捞"),
        # a clause that says something by itself, in a longer text about something else
        (
            "小明上周去北京出差住了三天见了客户，门锁密码是 7731",
            "小林把上线的流程和检查清单都整理好了，门锁密码是 7731",
        ),
        (
            "小明上周去北京出差住了三天见了客户，他想换工作",
            "小林把上线的流程和检查清单都整理好了，他想换工作",
        ),
        (
            "小红上周请了三天假，她怀孕了",
            "小林把上线的流程和检查清单都整理好了，她怀孕了",
        ),
        (
            "We stayed three days in Berlin to meet the client, the door code is 7731",
            "Priya tidied the release steps and the whole check list, the door code is 7731",
        ),
        ("I parked the car behind the Lidl in Ghent", "behind the Lidl in Ghent is my car"),
    ],
)
def test_of_the_same_person_other_words_are_the_same_statement(words: str, text: str) -> None:
    assert says(named(text, "小明"), SAID, [removed(words, "小明").otherwise], str) is not None


@pytest.mark.parametrize(
    ("words", "text"),
    [
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
    ],
)
def test_words_around_a_statement_hide_it_not(words: str, text: str) -> None:
    assert is_said(text, words)


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
    assert without(text, SAID, many, str) == "小明爱吃面，小明周六去爬山"
    assert {one.deed.words for _, one, _ in compared} == {many[50].deed.words}


NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def held(new: str, old: str) -> bool:
    return contradicts(memory(new, at=NOW), memory(old, at=NOW - timedelta(days=1)))


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("数据库端口是 6432", "数据库端口是 5432"),
        ("The staging port is 6432", "The staging port is 5432"),
        ("我们周五不发布", "我们周五发布"),
        ("We do not deploy on Fridays", "We deploy on Fridays"),
        ("奶奶对花生不过敏", "奶奶对花生过敏"),
        ("发布日期是 3 月 8 日", "发布日期是 3 月 1 日"),
        ("项目用 Python 3.12", "项目用 Python 3.11"),
        ("预算是 3000 元", "预算是 5000 元"),
        ("The port is 6432", "The port is 5432"),
        ("例会是明天", "例会是 2026-12-04"),
    ],
)
def test_a_negation_or_another_number_or_date_at_the_end_is_certain(new: str, old: str) -> None:
    assert held(new, old)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("301 房间的灯坏了", "302 房间的灯坏了"),
        ("v1 的接口在 8001 端口", "v2 的接口在 8002 端口"),
        ("支付模块的负责人是李雷", "登录模块的负责人是韩梅梅"),
        ("张三有 2 个孩子", "李四有 2 个孩子"),
        ("小明是程序员", "小明是上海人"),
        ("房间 301 漏水", "房间 302 漏水"),
        ("默认分支是 main", "默认分支是 master"),
        ("2026-11-20 开了周会", "2026-11-27 开了周会"),
        ("数据库端口是 5432，别忘了", "数据库端口是 5432"),
        ("", "数据库端口是 5432"),
    ],
)
def test_another_thing_or_the_same_once_more_is_no_conflict(new: str, old: str) -> None:
    assert not held(new, old)


THINGS = st.sampled_from(["支付服务", "登录服务", "staging database", "cache server", "奶奶的药盒"])
PORTS = st.integers(1000, 65535)


@given(one=THINGS, other=THINGS, mine=PORTS, yours=PORTS)
def test_only_the_same_thing_with_another_value_is_certain(
    one: str, other: str, mine: int, yours: int
) -> None:
    found = held(f"{one}的端口是 {mine}", f"{other}的端口是 {yours}")
    assert found == (one == other and mine != yours)


@given(new=st.text(max_size=80), old=st.text(max_size=80))
def test_any_two_texts_are_compared(new: str, old: str) -> None:
    assert held(new, old) in (True, False)
    assert not held(old, old)


LISTED = "2026-11-21（周六）记下了 3 条：小明：住在北京；小红说“养狗”；老王：住在：西城"


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ({"住在北京"}, "2026-11-21（周六）记下了 2 条：小红说“养狗”；老王：住在：西城"),
        ({"养狗", "住在：西城"}, "2026-11-21（周六）记下了 1 条：小明：住在北京"),
        ({"住在北京", "养狗", "住在：西城"}, ""),
        ({"住在", "狗", "", "北京"}, LISTED),
    ],
)
def test_a_journal_is_told_without_the_entries_that_are_corrected(
    gone: set[str], left: str
) -> None:
    assert journal_without(LISTED, gone) == left
    assert journal_without("那天去了北京", gone) is None
