"""What a draft must be to be stored: worth a memory, neither off the record nor told in confidence;
what of it will not last, and what reads like an order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryDraft, Reason, Refused
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.gate import (
    MAX_JUDGMENT,
    MAX_NAME,
    MAX_REASONING,
    MAX_TAG,
    MAX_TAGS,
    asks_to_forget,
    drops_the_last,
    is_confidence,
    is_off_the_record,
    is_quotation,
    passing,
    says_nothing,
    tidy,
)
from astrbot_plugin_scoped_memory.tests.support.sentences import sentences

pytestmark = pytest.mark.unit

any_text = st.text(st.characters(), max_size=80)
LONGEST = MemoryDraft("长" * MAX_JUDGMENT, reasoning="长" * MAX_REASONING)


@pytest.mark.parametrize(
    "draft",
    [
        MemoryDraft("长" * (MAX_JUDGMENT + 1)),
        MemoryDraft("短", reasoning="长" * (MAX_REASONING + 1)),
    ],
)
def test_what_is_too_long_is_refused_whole(draft: MemoryDraft) -> None:
    outcome = tidy(draft)
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.TOO_LONG
    assert tidy(LONGEST) == LONGEST


@given(any_text, any_text, st.lists(any_text, max_size=20), st.integers(), any_text)
def test_a_tidied_draft_is_bounded_and_tidying_again_changes_nothing(
    judgment: str, reasoning: str, tags: list[str], strength: int, name: str
) -> None:
    actor = Actor("qq:1", name)
    tidied = tidy(MemoryDraft(judgment, reasoning, tuple(tags), strength=strength, actor=actor))
    assert isinstance(tidied, MemoryDraft)
    assert tidied.actor is not None
    assert tidy(tidied) == tidied
    assert len(tidied.tags) == len(set(tidied.tags)) <= MAX_TAGS
    labels = ((MAX_NAME, tidied.actor.name), *((MAX_TAG, tag) for tag in tidied.tags))
    assert all(len(one) <= most and len(one.splitlines()) <= 1 for most, one in labels)
    assert tidied.strength == min(max(strength, 1), 100)
    (tidied.judgment + tidied.reasoning + tidied.actor.name).encode()


CODE = "```python\nx = 1\n```"
NOTHING = (
    *("", " \n", "……", "\u200b\u2060", "\ud800", CODE, "### 偏好\n\n---"),
    *('{"name": "小明", "age": 7}', "[1, 2, 3, 4]"),
    *sentences("filler"),
    *sentences("too_short"),
)


@pytest.mark.parametrize("text", [*NOTHING, *sentences("kept"), f"小明的备份脚本\n{CODE}"])
def test_what_says_nothing_is_told_from_what_does(text: str) -> None:
    assert says_nothing(text) is (text in NOTHING)
    assert not says_nothing(f"{text}\n奶奶对花生过敏")


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("重试几次待定", {"dispute": "待定"}),
        ("The retry count is TBD.", {"dispute": "TBD"}),
        ("要不要换成 gRPC？", {"dispute": "？"}),
        ("先暂时关掉缓存", {"stale": "暂时"}),
        ("The cache is off for now", {"stale": "for now"}),
        ("先暂时用 4 个，个数待定", {"dispute": "待定", "stale": "暂时"}),
        ("没定的标“待定”", {}),
        ("未定义的字段一律忽略", {}),
        ("The template holds contemporary names", {}),
    ],
)
def test_each_reason_is_told_with_the_words_that_say_so(text: str, reasons: dict[str, str]) -> None:
    assert passing(text) == reasons


@pytest.mark.parametrize("text", [*sentences("passed_on"), *sentences("not_passed_on")])
def test_what_is_to_be_passed_on_to_people_is_an_order(text: str) -> None:
    assert is_quotation([text], trusted=False) is (text in sentences("passed_on"))
    assert not is_quotation([text], trusted=True)


@pytest.mark.parametrize("text", [*sentences("asked"), *sentences("not_asked")])
def test_a_request_for_silence_is_one_and_what_names_secrecy_is_none(text: str) -> None:
    assert is_confidence(text) is (text in sentences("asked"))


OF_THE_LAST = sentences("last_unkept")


@pytest.mark.parametrize("text", [*sentences("unkept"), *OF_THE_LAST, *sentences("record")])
def test_a_message_may_ask_that_it_or_the_one_before_is_not_kept(text: str) -> None:
    assert is_off_the_record(text) is (text not in sentences("record"))
    assert drops_the_last(text) is (text in (*OF_THE_LAST, "刚才说的不要记"))


@pytest.mark.parametrize("text", [*sentences("to_forget"), *sentences("not_to_forget")])
def test_a_wish_that_something_is_forgotten_is_one(text: str) -> None:
    assert asks_to_forget(text) is (text in sentences("to_forget"))
