"""SOUL.md is read and written in one form, whatever stands in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import (
    END,
    MOST_TOKENS,
    PROTECTED,
    LineKind,
    Section,
    injected,
    language_of,
    lines_of,
    protected_blocks,
    rules_of,
    seed,
    with_rule,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.texts import Spoken

pytestmark = [pytest.mark.unit, pytest.mark.property]

LANGUAGES: tuple[Spoken, ...] = ("zh", "en")
PIECES = st.sampled_from(
    [
        "# SOUL",
        "## 语气",
        "## Tone",
        "## 系统",
        PROTECTED,
        END,
        "- 短一点",
        "* x",
        "-",
        "\r",
        " ",
        "字",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=15).map("\n".join)
RULES = st.text(min_size=1, max_size=60).map(lambda text: " ".join(text.split())).filter(bool)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_seed_has_headings_and_one_protected_block_and_injects_nothing(
    language: Spoken,
) -> None:
    text = seed(language)
    assert {line.section for line in lines_of(text) if line.section} == set(Section)
    assert LineKind.OTHER not in {line.kind for line in lines_of(text)}
    assert len(protected_blocks(text)) == 1
    assert rules_of(text) == ()
    assert injected(text) == ""
    assert language_of(text) == language


def test_rules_are_injected_below_a_line_that_says_what_they_are() -> None:
    text = with_rule(seed("zh"), Section.LENGTH, "回答短一些。")
    text = with_rule(text, Section.TONE, "温和一些。")
    assert injected(text) == "\n# 学到的说话习惯\n- 温和一些。\n- 回答短一些。\n"
    assert injected(with_rule(seed("en"), Section.TONE, "Be kind.")) == (
        "\n# Learned manner\n- Be kind.\n"
    )


def test_what_stands_in_a_protected_block_or_before_a_heading_is_no_rule() -> None:
    text = f"- a\n## 语气\n{PROTECTED}\n- b\n{END}\n- c\n"
    assert rules_of(text) == ("c",)


@given(st.lists(st.sampled_from([PROTECTED, END, f"{END} ", "- a", ""]), max_size=12))
def test_a_block_reaches_from_a_mark_to_the_first_end_behind_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    form = re.compile(f"^{PROTECTED}\n.*?^{END}$", re.MULTILINE | re.DOTALL)
    assert protected_blocks(text) == tuple(form.findall(text))
    kept = "\n".join(one.text for one in lines_of(text) if one.kind is LineKind.PROTECTED)
    assert kept == "\n".join(protected_blocks(text))


@pytest.mark.parametrize("lines", [[PROTECTED], [END, PROTECTED], [PROTECTED, "x", END]])
def test_a_file_full_of_marks_is_read_at_once(lines: list[str]) -> None:
    """Read from every mark to the end, it would hold up all turns for an hour."""
    full = "\n".join(lines * (1_000_000 // len("\n".join(lines))))
    assert injected(f"{full}\n## 语气\n- 短一点") == "\n# 学到的说话习惯\n- 短一点\n"


@given(TEXTS)
def test_any_text_is_read_line_by_line(text: str) -> None:
    lines = list(lines_of(text))
    assert [line.number for line in lines] == list(range(1, text.count("\n") + 2))
    assert injected(text) == injected(text)
    assert estimate_tokens(injected(text)) <= MOST_TOKENS
    assert bool(injected(text)) <= bool(rules_of(text))


@given(TEXTS, st.sampled_from(Section), RULES)
def test_a_rule_is_added_to_its_section_and_nothing_else_changes(
    text: str, section: Section, rule: str
) -> None:
    longer = with_rule(text, section, rule)
    assert protected_blocks(longer) == protected_blocks(text)
    before = [(line.kind, line.text) for line in lines_of(text) if line.kind is not LineKind.BLANK]
    after = [(line.kind, line.text) for line in lines_of(longer)]
    for one in before:
        after.remove(one)
    added = [text for kind, text in after if kind is LineKind.RULE]
    assert added == [rule]


@given(st.sampled_from(LANGUAGES), st.sampled_from(Section), RULES, RULES)
def test_a_rule_can_be_replaced(language: Spoken, section: Section, old: str, new: str) -> None:
    text = with_rule(seed(language), section, old)
    assert rules_of(with_rule(text, section, new, old)) == (new,)
    assert with_rule(seed(language), section, new) == with_rule(text, section, new, old)


def test_the_tokens_of_a_long_text_are_bounded() -> None:
    text = "## 语气\n" + "- 说话温和一些，别太着急\n" * 200
    assert 0 < estimate_tokens(injected(text)) <= MOST_TOKENS
