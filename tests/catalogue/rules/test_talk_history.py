"""Turns of AstrBot's chat history: found by digest or time, words alone, and never a wrong one."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.talk_history import (
    TalkTurn,
    anchor,
    find_turn,
    parsed_anchor,
    turns_of,
)

pytestmark = pytest.mark.unit

CID = "0b3c1c0e-5f0c-4f2e-9d41-e87b36c0da11"
AT = datetime.fromisoformat("2026-11-27 10:05")


def reminder(minute: int) -> dict[str, str]:
    words = f"Current datetime: 2026-11-27 10:{minute:02} (CST), Weekday: Friday"
    return {"type": "text", "text": f"<system_reminder>{words}</system_reminder>"}


def user(words: str, minute: int | None = None) -> dict[str, Any]:
    parts = [{"type": "text", "text": words}]
    return {"role": "user", "content": parts + ([] if minute is None else [reminder(minute)])}


def bot(words: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": words, **more}


def digest(words: str) -> str:
    found = parsed_anchor(anchor(CID, words))
    assert found is not None
    return found[1]


def turns(*messages: Any) -> list[TalkTurn]:
    return turns_of(json.dumps(messages))


def test_a_turn_is_what_was_said_and_answered_and_nothing_else() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    found = turns(
        {"role": "system", "content": "你是助手"},
        bot("没有人问过"),
        user("吉他在哪", 5),
        bot("我查查", tool_calls=[call]),
        {"role": "tool", "tool_call_id": "1", "content": "ok 吉他在老周家"},
        bot("<think>他问吉他</think>在老周家"),
        {"role": "_checkpoint", "content": {"id": "c"}},
        {"role": "user", "content": "<scoped_memory>旧的</scoped_memory>谢谢"},
        bot([{"type": "think", "think": "客气"}, {"type": "text", "text": "不客气"}]),
        {"role": "user", "content": "Our previous history conversation summary: 聊了吉他"},
        bot("Acknowledged the summary of our previous conversation history."),
        {"role": "user", "content": [reminder(9)]},
    )
    assert found == [
        TalkTurn("吉他在哪", "我查查\n在老周家", AT),
        TalkTurn("谢谢", "不客气"),
    ]


def test_a_turn_is_found_by_its_words_whatever_their_width_and_case() -> None:
    found = turns(user("早"), user("ＷＩＦＩ 密码是多少", 5), user("晚"))
    assert find_turn(found, digest("wifi 密码是多少"), AT) == 1
    assert find_turn(found, digest("wifi 密码是多少"), None) == 1
    assert find_turn(found, digest("没说过"), None) is None


def test_words_that_were_said_twice_are_told_apart_by_time_or_not_found() -> None:
    assert find_turn(turns(user("好", 5), user("好", 30)), digest("好"), AT) == 0
    assert find_turn(turns(user("好"), user("好")), digest("好"), AT) is None
    assert find_turn(turns(user("好", 45)), digest("好"), AT) is None, "said again, much later"


def test_a_turn_that_is_kept_in_other_words_is_found_by_time_where_it_is_the_only_one() -> None:
    one = [user("早", 1), user("[小明] 吉他在哪", 5), user("晚", 30)]
    assert find_turn(turns(*one), digest("吉他在哪"), AT) == 1
    assert find_turn(turns(*one, user("又一句", 6)), digest("吉他在哪"), AT) is None
    assert find_turn(turns(user("早", 30)), digest("吉他在哪"), AT) is None


@pytest.mark.parametrize("history", ["", "null", "{", "7", "[7, null]", "[" * 100_000, '{"a": 1}'])
def test_what_is_no_history_has_no_turns(history: str) -> None:
    assert turns_of(history) == []


@pytest.mark.parametrize("history", ["", "a b", "a · b", "x" * 65, "a#b", "历史"])
def test_an_id_that_would_not_stand_in_a_field_names_no_turn(history: str) -> None:
    assert anchor(history, "吉他在哪") == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "text"]), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(json_values, st.text(max_size=30))
def test_no_history_makes_it_raise(messages: Any, words: str) -> None:
    found = turns_of(json.dumps([{"role": "user", "content": messages}, messages]))
    assert find_turn(found, "0" * 12, AT) is None
    named = anchor(CID, words)
    assert named == "" or parsed_anchor(named) is not None
