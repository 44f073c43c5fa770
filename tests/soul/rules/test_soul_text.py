"""SOUL.md is read and written in one form, whatever stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import (
    HEADINGS,
    MOST_TOKENS,
    TONE,
    injected,
    language_of,
    lines_of,
    rules_of,
    seed,
    with_rule,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.texts import Said, Spoken

pytestmark = [pytest.mark.unit, pytest.mark.property]

LANGUAGES: tuple[Spoken, ...] = ("zh", "en")
PIECES = st.sampled_from(
    ["# SOUL", "## 语气", "## Tone", "## 系统", "- 短一点", "* x", "-", "\r", " ", "字"]
)
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=15).map("\n".join)
RULES = st.text(min_size=1, max_size=60).map(lambda text: " ".join(text.split())).filter(bool)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_seed_has_headings_and_injects_nothing(language: Spoken) -> None:
    text = seed(language)
    assert [one.heading for one in lines_of(text) if one.heading][::2] == list(HEADINGS)
    assert not any(line.is_odd for line in lines_of(text))
    assert (rules_of(text), injected(text), language_of(text)) == ((), "", language)


def test_rules_below_a_heading_are_injected_and_what_else_stands_there_is_odd() -> None:
    text = "- a\n字\n## 语气\n- c\n字\n## 别的\n" + "- 说话温和一些，别太着急\n" * 20_000
    assert [line.number for line in lines_of(text) if line.is_odd] == [5, 6]
    assert injected(text).startswith("\n# 学到的说话习惯\n- c\n- 说话温和一些，别太着急\n")
    assert injected(with_rule(seed("en"), TONE, "Be kind.")) == "\n# Learned manner\n- Be kind.\n"


@given(TEXTS)
def test_any_text_is_read_line_by_line(text: str) -> None:
    lines = list(lines_of(text))
    assert [line.number for line in lines] == list(range(1, text.count("\n") + 2))
    assert not any(line.rule and line.is_odd for line in lines)
    assert estimate_tokens(injected(text)) <= MOST_TOKENS
    assert bool(injected(text)) <= bool(rules_of(text))


@given(TEXTS, st.sampled_from(HEADINGS), RULES)
def test_a_rule_is_added_below_its_heading_and_nothing_else_changes(
    text: str, heading: Said, rule: str
) -> None:
    longer = with_rule(text, heading, rule)
    before = [line for line in text.split("\n") if line.strip()]
    after = longer.split("\n")
    for line in before:
        after.remove(line)
    assert [line for line in after if line.strip() and not line.startswith("## ")] == [f"- {rule}"]
    assert [line.heading for line in lines_of(longer) if line.rule == rule][-1:] == [heading] or (
        rule in rules_of(text)
    )
