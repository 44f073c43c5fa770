"""A wish becomes one rule under the heading that fits, and nothing else changes."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.soul import OPPOSITE, Axis, Direction
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import (
    HEADINGS,
    LineKind,
    Section,
    lines_of,
    rules_of,
    seed,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import (
    LINES,
    line_of,
    manner_of,
    with_manner,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.wording import worded
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken

pytestmark = [pytest.mark.unit, pytest.mark.property]

LANGUAGES: tuple[Spoken, ...] = ("zh", "en")
ALL = list(itertools.product(get_args(Axis), get_args(Direction), LANGUAGES))


@pytest.mark.parametrize(
    ("wish", "section"),
    [
        ("回答短一点", Section.LENGTH),
        ("语气再温和一些", Section.TONE),
        ("少用表情", Section.HABITS),
        ("别打听别人的隐私", Section.BOUNDARIES),
        ("Keep answers short", Section.LENGTH),
        ("Make more jokes", Section.TONE),
        ("Use fewer emoji", Section.HABITS),
        ("Change the subject when politics come up", Section.BOUNDARIES),
    ],
)
def test_a_wish_stands_under_the_heading_that_fits(wish: str, section: Section) -> None:
    lines = list(lines_of(worded(seed("zh"), f"- {wish}\n")))
    assert [(line.section, line.text) for line in lines if line.kind is LineKind.RULE] == [
        (section, wish)
    ]


@given(st.text(max_size=200))
def test_any_wish_is_at_most_one_line(wish: str) -> None:
    text = seed("en")
    new = worded(text, wish)
    assert len(new.split("\n")) - len(text.split("\n")) == bool(new != text)
    assert len(rules_of(new)) <= 1
    assert new.count("## ") >= len(HEADINGS)


def test_a_wish_in_the_vocabulary_replaces_its_opposite() -> None:
    less, more = (line_of("length", one, "zh") for one in get_args(Direction))
    text = worded(seed("zh"), less)
    assert worded(text, less) == text
    assert rules_of(worded(text, more)) == (more,)


def test_an_empty_wish_changes_nothing() -> None:
    assert worded(seed("zh"), " \n") == seed("zh")


def test_each_direction_has_its_own_line_in_each_language() -> None:
    lines = [line_of(*one) for one in ALL]
    assert len(set(lines)) == len(lines) == len(LINES)
    assert {line.isascii() for line in lines} == {True, False}


@pytest.mark.parametrize(("axis", "direction", "language"), ALL)
def test_a_direction_takes_the_place_of_its_opposite(
    axis: Axis, direction: Direction, language: Spoken
) -> None:
    line = line_of(axis, direction, language)
    assert manner_of(line) == (axis, direction)
    text = with_manner(seed(language), axis, OPPOSITE[direction], language)
    text = with_manner(text, axis, direction, language)
    assert rules_of(text) == (line,)
    assert with_manner(text, axis, direction, language) == text
