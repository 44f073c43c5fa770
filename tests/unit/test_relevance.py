"""How much of a question a memory must speak of before it is injected."""

import pytest

from astrbot_plugin_scoped_memory.llm_memory.policies.language import Language
from astrbot_plugin_scoped_memory.llm_memory.policies.relevance import (
    LEXICAL_FLOORS,
    MANY,
    is_about_time_alone,
    lexical_floor,
)


@pytest.mark.parametrize("language", [*Language, None])
def test_among_more_memories_more_of_a_question_is_asked_for(language: Language | None) -> None:
    floors = [lexical_floor(language, among) for among in (0, 1, 10, 11, 50, MANY, 10 * MANY)]
    assert floors == sorted(floors)
    assert floors[0] == floors[2] == pytest.approx(0.8 * lexical_floor(language))
    assert floors[2] < floors[3] < floors[4] < floors[5]
    assert floors[5] == floors[6] == lexical_floor(language)


def test_among_hundreds_the_floors_are_as_measured() -> None:
    assert {language: lexical_floor(language) for language in Language} == LEXICAL_FLOORS


@pytest.mark.parametrize(
    ("subject", "alone"),
    [("聊了什么", True), ("what did we talk about", True), ("聊了花生吗", False), ("", True)],
)
def test_a_question_may_be_about_a_time_and_nothing_else(subject: str, alone: bool) -> None:
    assert is_about_time_alone(subject) is alone
