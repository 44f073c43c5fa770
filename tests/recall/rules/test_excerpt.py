"""A preview of a long piece shows the part that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.excerpt import excerpt

pytestmark = pytest.mark.unit

LONG = (
    "第一天到东京。"
    + "逛了很多地方，走了很多路。" * 20
    + "旅馆在鸭川边上，早餐七点。"
    + "晚上回家。" * 50
)


def test_the_sentence_that_was_asked_for_is_shown() -> None:
    shown = excerpt(LONG, "鸭川的旅馆几点早餐", 60)
    assert shown.startswith("…")
    assert "旅馆在鸭川边上，早餐七点。" in shown
    assert len(shown) <= 60


def test_an_english_sentence_is_shown_from_its_beginning() -> None:
    text = "We walked a lot. " * 40 + "The hotel is by the river.\nBreakfast is at 7.30 sharp. " * 2
    assert excerpt(text, "breakfast time", 70).startswith("…Breakfast is at 7.30 sharp.")
    assert excerpt(text, "breakfast sharp", 30).startswith("…Breakfast is at 7.30 sharp.")


def test_without_anything_shared_the_beginning_is_shown() -> None:
    for query in ("", "完全无关", "？"):
        assert excerpt(LONG, query, 60).startswith("第一天到东京。")


def test_a_short_text_is_shown_whole() -> None:
    assert excerpt("# 甲\n  乙", "乙", 60) == "# 甲 乙"


@given(st.text(max_size=300), st.text(max_size=40), st.integers(1, 100))
def test_it_is_one_line_of_the_text_and_no_longer_than_allowed(
    text: str, query: str, limit: int
) -> None:
    shown = excerpt(text, query, limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    bare = "".join(shown.removeprefix("…").removesuffix("…").split())
    assert bare in "".join(text.split())


def test_a_megabyte_without_an_end_takes_no_time() -> None:
    assert len(excerpt("字" * 1_000_000, "字", 240)) == 240
    assert len(excerpt("字。" * 500_000, "猫" * 800, 240)) == 240
