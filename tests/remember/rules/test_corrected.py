"""What a text says again of what a person has corrected, and what it only resembles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.corrections import Correction, CorrectionKind
from astrbot_plugin_scoped_memory.llm_memory.remember.rules import corrected
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.corrected import (
    Removed,
    named,
    says,
    without,
)

pytestmark = pytest.mark.unit

SAID = datetime(2026, 11, 21, 9, tzinfo=UTC)


def removed(words: str, who: str = "小明") -> Removed:
    """A forgotten statement of a person."""
    at = SAID + timedelta(hours=1)
    return Removed(Correction(CorrectionKind.FORGOTTEN, "家人", "m-1", words, SAID, at, "p", who))


def is_said(text: str, words: str, who: str = "小明") -> bool:
    """Whether the person says in the text what was forgotten."""
    return says(named(text, who), SAID, [removed(words, who)], str) is not None


PEANUTS = "奶奶对花生过敏"


@pytest.mark.parametrize(
    ("words", "text", "who"),
    [
        # the same of another person
        ("我对花生过敏", "我女儿对花生过敏", "小明"),
        ("我对花生过敏", "小明的同桌对花生过敏", "小明"),
        ("小明住在杭州", "小明的妹妹住在杭州", "小明"),
        ("小明住在杭州", "小明的室友小刚住在杭州", "小明"),
        ("Tom likes tea", "Tom's sister likes tea", "Tom"),
        ("I am allergic to peanuts", "My son is allergic to peanuts", "Tom"),
        (PEANUTS, "爷爷对花生过敏", "小明"),
        # another statement
        (PEANUTS, "奶奶对花生不过敏", "小明"),
        (PEANUTS, "奶奶以前对花生过敏", "小明"),
        (PEANUTS, "奶奶对花粉过敏", "小明"),
        ("奶奶住302室", "奶奶住301室", "小明"),
        ("小明喜欢小红", "小红喜欢小明", "小明"),
        # few words in a clause about something else
        ("去北京", "小明下周二去北京出差", "小明"),
        ("买牛奶", "小明今天买牛奶时遇到了老同学", "小明"),
    ],
)
def test_what_only_resembles_it_is_another_statement(words: str, text: str, who: str) -> None:
    assert not is_said(text, words, who)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (PEANUTS, "我奶奶对花生严重过敏"),
        (PEANUTS, "妈妈说奶奶对花生过敏"),
        (PEANUTS, "奶奶对花生过敏。"),
        (PEANUTS, "小明的奶奶对花生过敏"),
        (PEANUTS, "奶奶一吃花生就过敏"),
        (PEANUTS, "奶奶对花生过敏，一颗也吃不得"),
        (PEANUTS, "要记得的是：奶奶对花生很过敏"),
        ("小明住在杭州", "小明现在住在杭州西湖区"),
        ("买牛奶", "小明要买牛奶"),
        ("密码是 hunter2", "小明说密码是 hunter2"),
    ],
)
def test_words_around_a_statement_hide_it_not(words: str, text: str) -> None:
    assert is_said(text, words)


def test_a_clause_is_compared_with_no_statement_that_it_cannot_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Thousands of corrections name the same person; each comparison costs."""
    compared: list[Any] = []
    holds = corrected.says_one
    monkeypatch.setattr(
        corrected, "says_one", lambda *asked: (compared.append(asked), holds(*asked))[1]
    )
    many = [removed(f"小明第{number}次去的餐厅是{number}号店") for number in range(100, 200)]
    text = "小明爱吃面，小明第150次去的餐厅是150号店。小明周六去爬山"
    assert without(text, SAID, many, str) == "小明爱吃面，小明周六去爬山"
    assert {one.correction.words for _, one, _ in compared} == {many[50].correction.words}
