"""CONSTITUTION.md as it is told: in its own words, and its beginning where it is long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.primer.rules.constitution import (
    MOST_TOKENS,
    constitution,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.llm_memory.vault.rules.templates import (
    CONSTITUTION,
    shared_templates,
)

pytestmark = pytest.mark.unit


def words(text: str) -> tuple[str, ...]:
    section = constitution(text)
    return section.words if section else ()


@pytest.mark.parametrize("english", [False, True])
def test_a_template_that_nobody_has_changed_says_nothing(english: bool) -> None:
    assert constitution(shared_templates(english=english)[CONSTITUTION]) is None


@pytest.mark.parametrize("text", ["", "# 宪章", "# 宪章\n\n<!-- 规则一\n\n规则二"])
def test_a_title_or_a_comment_alone_says_nothing(text: str) -> None:
    assert constitution(text) is None


def test_a_short_one_is_told_whole_in_its_own_words() -> None:
    text = "# 宪章\n\n<!-- 只有人写 -->\n\n## 原则\n\n1. 不传出内网\n    - 包括日志"
    section = constitution(text)
    assert section is not None
    assert section.words == (
        "# 宪章", "", "## 原则", "", "1. 不传出内网", "    - 包括日志",
    )  # fmt: skip
    assert section.left_at == 0


def test_what_a_person_commented_out_is_no_rule_however_long_it_is() -> None:
    text = "规则一\n\n<!--\n" + "旧规则\n\n" * 400 + "-->\n\n规则二"
    assert words(text) == ("规则一", "", "规则二")


def test_a_long_one_is_cut_behind_a_paragraph() -> None:
    paragraphs = [f"第{number}条：{'字' * 90}" for number in range(20)]
    section = constitution("\n\n".join(paragraphs))
    assert section is not None
    told = "\n".join(section.words)
    assert told.split("\n\n") == paragraphs[: told.count("\n\n") + 1]
    assert 400 <= estimate_tokens(told) <= MOST_TOKENS
    assert section.left_at == len(section.words) + 2  # the blank line is behind it


@given(st.text(alphabet="字a #<!->\n", max_size=4000))
def test_of_any_text_its_beginning_is_told_within_the_budget(text: str) -> None:
    section = constitution(text)
    if section is None:
        return
    assert any(line.strip() for line in section.words)
    assert estimate_tokens("\n".join(section.words)) <= MOST_TOKENS
    own = [line.rstrip() for line in text.split("\n")]
    if "<!--" not in text and section.left_at == 0:
        assert [line for line in section.words if line] == [line for line in own if line]
