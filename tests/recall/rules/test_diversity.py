"""When a text says again what another says: four fifths alike, and no number or denial differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.recall.rules.diversity import Novelty

pytestmark = pytest.mark.unit

LONG = "奶奶每天早晨在公园里打太极拳，打完去菜场买豆浆"


def repeats(text: str, other: str) -> bool:
    return Novelty.of(text).repeats([Novelty.of(other)])


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (LONG, LONG),
        (LONG, LONG + "。"),
        (LONG, LONG.replace("，", " ")),
        (LONG, LONG + "了"),
        ("Grandma drinks green tea every morning", "GRANDMA drinks green tea, every morning!"),
        ("ＡＢＣ会议在三楼", "abc会议在三楼"),
    ],
)
def test_the_same_words_in_other_clothes_are_a_repetition(text: str, other: str) -> None:
    assert repeats(text, other)
    assert repeats(other, text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (LONG, "阿强在杭州开了一家面馆，生意很好"),
        (LONG, "奶奶每天早晨在公园里打太极拳"),
        (f"{LONG}，走3公里", f"{LONG}，走5公里"),
        (f"{LONG}，走35步", f"{LONG}，走3步5步"),
        (LONG, LONG.replace("打完去", "打完不去")),
        (
            "Grandma does drink green tea every morning now",
            "Grandma doesn't drink green tea every morning now",
        ),
        (
            "He never said that the shop is open on Sundays",
            "He said that the shop is open on Sundays",
        ),
    ],
)
def test_other_words_numbers_and_denials_are_none(text: str, other: str) -> None:
    assert not repeats(text, other)
    assert not repeats(other, text)


def test_one_like_it_among_others_is_enough_and_none_is_not() -> None:
    others = [Novelty.of("阿强在杭州开了一家面馆"), Novelty.of(LONG)]
    assert Novelty.of(LONG).repeats(others)
    assert not Novelty.of(LONG).repeats(others[:1])
    assert not Novelty.of(LONG).repeats([])


@pytest.mark.parametrize("text", ["", "。！？", "猫"])
def test_what_is_too_short_to_compare_repeats_nothing(text: str) -> None:
    assert not repeats(text, text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_either_repeats_the_other_or_neither_does(text: str, other: str) -> None:
    assert repeats(text, other) is repeats(other, text)


@given(st.text(max_size=60))
def test_a_text_repeats_itself_if_there_is_anything_to_compare(text: str) -> None:
    assert repeats(text, text) is bool(Novelty.of(text).pairs)
