"""One JSON object, strictly; around it a fence or words. What is half an answer is none."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import (
    MOST_CHARS,
    MOST_ITEMS,
    NewMemory,
    ReflectionReply,
    Unreadable,
    parse_reply,
)

pytestmark = pytest.mark.unit

NOTHING = ReflectionReply()
LEARNED = '{"useful_ids": ["m-1"], "new_memories": [{"judgment": "奶奶对花生过敏", "turn": 1}]}'
WANTED = ReflectionReply(("m-1",), new_memories=(NewMemory("奶奶对花生过敏", turn=1),))

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["useful_ids", "new_memories", "judgment", "turn", "new", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "text",
    [
        LEARNED,
        f"```json\n{LEARNED}\n```",
        f"```\n{LEARNED}\n```\n以上。",
        f"好的，结果如下：\n{LEARNED}\n希望有用，别忘了 {{占位}}。",
        f'<think>也许是 {{"useful_ids": []}}？</think>{LEARNED}',
        f"timeout? rate limit? no: {LEARNED}",
        LEARNED.replace("{", '{"memory_scope": "public", "budget": 1, ', 1),
    ],
)
def test_a_fence_words_and_unknown_fields_around_the_one_object_do_not_matter(text: str) -> None:
    assert parse_reply(text) == WANTED


@pytest.mark.parametrize("text", ["{}", " {} ", "```json\n{}\n```", "没有要记的。\n{}", "{ \n }"])
def test_an_empty_object_says_that_nothing_was_learned(text: str) -> None:
    assert parse_reply(text) == NOTHING


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no_json"),
        ("抱歉，我不能处理这段对话。", "no_json"),
        ("timeout", "no_json"),
        ("[]", "no_json"),
        ("null", "no_json"),
        (LEARNED[:-1], "no_json"),
        (LEARNED[:-20], "no_json"),
        ('{"contradictions": [{"old_id": "m-1", "new": {}}', "no_json"),
        ("{" * 60_000, "no_json"),
        ('{"a":' * 10_000, "no_json"),
        (LEARNED + '{"useful_ids": []}', "several"),
        ('{"memory_scope": "public"}', "no_field"),
        ('[{"judgment": "奶奶对花生过敏"}]', "no_field"),
        ("x" * (MOST_CHARS + 1), "too_long"),
        ("{}" + " " * MOST_CHARS, "too_long"),
        ('{"useful_ids": "m-1"}', "wrong_type"),
        ('{"useful_ids": null}', "wrong_type"),
        ('{"useful_ids": [1]}', "wrong_type"),
        ('{"new_memories": [{"reasoning": "x"}]}', "wrong_type"),
        ('{"new_memories": [{"judgment": null}]}', "wrong_type"),
        ('{"new_memories": [{"judgment": "a", "strength": "80"}]}', "wrong_type"),
        ('{"new_memories": [{"judgment": "a", "strength": true}]}', "wrong_type"),
        ('{"new_memories": [{"judgment": "a", "turn": 1.5}]}', "wrong_type"),
        ('{"new_memories": [{"judgment": "a", "tags": "x"}]}', "wrong_type"),
        ('{"contradictions": [{"new": {"judgment": "a"}}]}', "wrong_type"),
        (json.dumps({"new_memories": [{"judgment": "a"}] * (MOST_ITEMS + 1)}), "too_many"),
        ('{"new_memories": [{"judgment": "\\ud800", "turn": 1}]}', "wrong_type"),
    ],
)
def test_anything_else_is_unreadable_and_says_why(text: str, why: str) -> None:
    parsed = parse_reply(text)
    assert isinstance(parsed, Unreadable)
    assert parsed.reason.partition(":")[0] == why


def test_the_reason_quotes_none_of_what_was_said() -> None:
    parsed = parse_reply('{"new_memories": [{"judgment": "a", "strength": "密码是 123456"}]}')
    assert isinstance(parsed, Unreadable)
    assert "strength" in parsed.reason
    assert "123456" not in parsed.reason


def test_an_id_may_be_named_for_each_turn_again() -> None:
    parsed = parse_reply(json.dumps({"useless_ids": ["m-1"] * 2_000}))
    assert isinstance(parsed, ReflectionReply)


@given(st.one_of(st.text(max_size=60), json_values.map(json.dumps)), st.text(max_size=10))
def test_no_answer_makes_it_raise(text: str, around: str) -> None:
    assert isinstance(parse_reply(around + text), ReflectionReply | Unreadable)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "useful_ids": st.lists(st.text(max_size=5), max_size=3),
            "new_memories": st.lists(
                st.fixed_dictionaries(
                    {"judgment": st.text(max_size=9)},
                    optional={"turn": st.integers(-9, 9), "who": st.text(max_size=3)},
                ),
                max_size=2,
            ),
        },
    )
)
def test_what_keeps_to_the_protocol_is_read_as_it_stands(answer: dict[str, object]) -> None:
    parsed = parse_reply(json.dumps(answer))
    assert isinstance(parsed, ReflectionReply)
    assert list(parsed.useful_ids) == answer.get("useful_ids", [])
    assert len(parsed.new_memories) == len(answer.get("new_memories", []))  # type: ignore[arg-type]


@given(json_values)
def test_whatever_stands_under_style_invalidates_nothing_and_only_known_words_come_out(
    style: object,
) -> None:
    text = json.dumps({**json.loads(LEARNED), "style": style})
    found = parse_reply(text)
    assert isinstance(found, ReflectionReply)
    assert replace(found, style=()) == WANTED
    assert found.manner == ()


def test_a_wish_on_manner_is_two_known_words_and_maybe_a_label() -> None:
    style = [["length", "less"], ["emoji", "more", "s2"], ["length", "less"], ["length", "up"]]
    found = parse_reply(json.dumps({"style": style}))
    assert isinstance(found, ReflectionReply)
    assert found.manner == (
        ("length", "less", ""),
        ("emoji", "more", "s2"),
    )
    many = ReflectionReply(style=[["length", "less", f"s{number}"] for number in range(1, 999)])
    assert len(many.manner) == 99
