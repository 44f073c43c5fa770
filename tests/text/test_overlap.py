"""The shortlist keeps what could answer and leaves out what shares nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.text.overlap import shortlist
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold

pytestmark = pytest.mark.unit

TEXTS = [
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "Anna is allergic to shellfish",
    "花生酱在冰箱里",
    "😀",
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("给奶奶做饭，菜里能放花生吗", 0),
        ("图书馆哪天不开门", 1),
        ("Does ANNA have allergies", 2),
        ("ｓｈｅｌｌｆｉｓｈ", 2),
        ("冰箱里有什么", 3),
    ],
)
def test_what_shares_the_most_comes_first(query: str, first: int) -> None:
    assert shortlist(query, [fold(text) for text in TEXTS], 10)[0] == first


def test_a_number_is_compared_as_a_whole() -> None:
    texts = [f"第{number}号用户喜欢第{number}种茶" for number in range(1000)]
    assert shortlist("第3号用户喜欢第几种茶", texts, 50)[0] == 3
    assert shortlist("电话13812345678是谁的", ["13812345678", "13812345679"], 5) == [0]


@pytest.mark.parametrize("query", ["", "😀！？", "xyz", "……"])
def test_a_query_that_shares_nothing_has_no_shortlist(query: str) -> None:
    assert shortlist(query, [fold(text) for text in TEXTS], 10) == []


@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=10), st.integers(0, 5))
def test_places_are_different_in_range_and_within_the_limit(
    query: str, texts: list[str], limit: int
) -> None:
    places = shortlist(query, texts, limit)
    assert len(places) <= limit
    assert len(set(places)) == len(places)
    assert all(0 <= place < len(texts) for place in places)


@given(
    st.text(alphabet="奶花生过敏猫狗ab ", min_size=1, max_size=12), st.lists(st.text(), max_size=5)
)
def test_the_same_words_are_always_on_a_long_enough_list(text: str, others: list[str]) -> None:
    if text.strip():
        assert len(others) in shortlist(text, [*others, fold(text)], len(others) + 1)
