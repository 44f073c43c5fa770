"""The closed vocabulary: one rule for each axis, direction and language."""

from __future__ import annotations

import itertools

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import Axis, Direction
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import rules_of, seed
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import (
    LINES,
    line_of,
    manner_of,
    with_manner,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken

pytestmark = pytest.mark.unit

LANGUAGES: tuple[Spoken, ...] = ("zh", "en")
ALL = list(itertools.product(Axis, Direction, LANGUAGES))


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
    text = with_manner(seed(language), axis, direction.opposite, language)
    text = with_manner(text, axis, direction, language)
    assert rules_of(text) == (line,)
    assert with_manner(text, axis, direction, language) == text
