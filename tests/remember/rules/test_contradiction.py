"""Which statements take back an older one for certain, which perhaps, which not at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.contradiction import (
    Conflict,
    Said,
    conflict,
)

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def held(new: str, old: str) -> Conflict:
    return conflict(Said(new, NOW), Said(old, NOW - timedelta(days=1)))


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
    assert held(new, old) is Conflict.CERTAIN


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("项目用 pnpm 安装依赖", "项目用 yarn 安装依赖"),
        ("Tests are run with pytest", "Tests are run with unittest"),
        ("小明的狗叫豆豆", "小明的狗叫毛毛"),
        ("生产数据库端口改成 6432 了，因为要过代理", "生产数据库端口是 5432"),
        ("默认分支是 main", "默认分支是 master"),
        ("the default branch is main", "the default branch is master"),
        ("缓存是停用的", "缓存是启用的"),
        ("Response caching is disabled", "Response caching is enabled"),
        ("支付模块的负责人是韩梅梅", "支付模块的负责人是李雷"),
        ("房间 301 漏水", "房间 302 漏水"),
    ],
)
def test_what_may_hold_beside_the_older_one_is_left_to_a_person(new: str, old: str) -> None:
    assert held(new, old) is Conflict.LIKELY


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("301 房间的灯坏了", "302 房间的灯坏了"),
        ("v1 的接口在 8001 端口", "v2 的接口在 8002 端口"),
        ("支付模块的负责人是李雷", "登录模块的负责人是韩梅梅"),
        ("张三有 2 个孩子", "李四有 2 个孩子"),
        ("小明是程序员", "小明是上海人"),
        ("2026-11-20 开了周会", "2026-11-27 开了周会"),
        ("数据库端口是 5432，别忘了", "数据库端口是 5432"),
        ("", "数据库端口是 5432"),
    ],
)
def test_another_thing_or_the_same_once_more_is_no_conflict(new: str, old: str) -> None:
    assert held(new, old) is Conflict.NONE


THINGS = st.sampled_from(["支付服务", "登录服务", "staging database", "cache server", "奶奶的药盒"])
PORTS = st.integers(1000, 65535)


@given(one=THINGS, other=THINGS, mine=PORTS, yours=PORTS)
def test_only_the_same_thing_with_another_value_is_certain(
    one: str, other: str, mine: int, yours: int
) -> None:
    found = held(f"{one}的端口是 {mine}", f"{other}的端口是 {yours}")
    assert (found is Conflict.CERTAIN) == (one == other and mine != yours)


@given(new=st.text(max_size=80), old=st.text(max_size=80))
def test_any_two_texts_are_compared(new: str, old: str) -> None:
    assert held(new, old) in Conflict
    assert held(old, old) is Conflict.NONE
