"""What moves a candidate beside its words: the time asked for, who speaks, how strong and new."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import without_times
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import (
    in_time,
    is_first_person,
    is_of,
    salience,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import ids_of
from astrbot_plugin_scoped_memory.llm_memory.text.dates.expressions import TimeSpan, find_times
from astrbot_plugin_scoped_memory.tests.support.memories import NOW, stored

pytestmark = pytest.mark.unit

AHEAD = timedelta(days=400)


def said(text: str = "窗台上有猫", *, at: datetime = NOW, **more: Any) -> StoredMemory:
    more = {"account": "aiocqhttp:1", **more}
    return stored(text, path=f"journal/{at:%Y-%m-%d}.md", at=at, **more)


def times(text: str) -> Sequence[TimeSpan]:
    return find_times(text, NOW)


@pytest.mark.parametrize(
    "text", ["我喜欢什么", "俺的钥匙呢", "咱的车在哪", "what do I like", "is it mine", "I'm where?"]
)
def test_a_question_of_oneself_is_known(text: str) -> None:
    assert is_first_person(text)


@pytest.mark.parametrize(
    "text",
    ["我们喜欢什么", "咱们去哪", "他喜欢什么", "what is it", ""],
)
def test_a_question_of_others_is_none(text: str) -> None:
    assert not is_first_person(text)


def test_what_speaks_of_the_time_meets_it_whenever_it_was_said() -> None:
    asked = times("昨天发生了什么")
    assert in_time(said("2026-11-20 交了房租", at=NOW - AHEAD), asked)
    assert not in_time(said("交了房租", at=NOW - AHEAD), asked)


def test_who_is_unknown_is_not_taken_for_another_who_is_unknown() -> None:
    assert not is_of(said(account="", who=""), ids_of("", {"": "小明"}))


def test_a_person_is_known_under_every_id_that_is_linked() -> None:
    links = {"aiocqhttp:1": "小明", "telegram:5": "小明", "telegram:6": "小红"}
    assert ids_of("telegram:5", links) == {"aiocqhttp:1", "telegram:5", "小明"}
    assert ids_of("telegram:7", links) == {"telegram:7"}
    # An id may be linked to another id instead of a name.
    assert ids_of("aiocqhttp:1", {"telegram:5": "aiocqhttp:1"}) == {"aiocqhttp:1", "telegram:5"}
    assert ids_of("", links) == frozenset()


@given(st.integers(1, 99), st.integers(0, 10**9))
def test_the_stronger_is_more_salient_and_none_beyond_its_bounds(strength: int, uses: int) -> None:
    own, stronger = (salience(said(strength=strength + more), uses) for more in (0, 1))
    assert -1 <= own < stronger <= 1


@given(st.integers(1, 100), st.integers(0, 40))
def test_what_was_useful_is_more_salient_each_time_a_little_less(strength: int, uses: int) -> None:
    never, one, two = (salience(said(strength=strength), uses + n) for n in (0, 1, 2))
    assert never < one < two
    assert two - one < one - never


def test_what_is_asked_apart_from_when_has_no_time_in_it() -> None:
    text = "昨天小明说了什么"
    left = without_times(text, times(text))
    assert "昨天" not in left
    assert "小明说了什么" in left
    assert without_times("小明说了什么", ()) == "小明说了什么"
