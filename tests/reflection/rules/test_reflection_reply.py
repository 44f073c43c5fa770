"""What weak models answer: read as far as its meaning is plain, asked for again where it is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.reply import (
    MOST_CHARS,
    Correction,
    NewMemory,
    ReflectionReply,
    Unreadable,
    parse_reply,
)

pytestmark = pytest.mark.unit

NUTS = NewMemory("奶奶对花生过敏", turn=1)
ITEM = '{"judgment": "奶奶对花生过敏", "turn": 1}'
LEARNED = f'{{"useful_ids": ["m-1"], "new_memories": [{ITEM}]}}'
WANTED = ReflectionReply(("m-1",), new_memories=(NUTS,))
ONE = ReflectionReply(new_memories=(NUTS,))
TALKS = '{"new_memories": [{"judgment": "小明在调 <think> 和 </thinking> 标签"}'
TAGS = NewMemory("小明在调 <think> 和 </thinking> 标签")
SKETCH = '{"new_memories": [{"judgment": "奶奶不吃鱼"}]}'


def item(**more: Any) -> str:
    """An answer with one item."""
    return json.dumps({"new_memories": [{"judgment": "奶奶对花生过敏", **more}]})


def read(*new: NewMemory) -> ReflectionReply:
    return ReflectionReply(new_memories=new)


def memory(**more: Any) -> ReflectionReply:
    return read(NewMemory("奶奶对花生过敏", **more))


AROUND = [
    LEARNED,
    f"```json\n{LEARNED}\n```",
    f"```json\n{LEARNED}\n```\n改一下：\n```json\n{LEARNED}\n```",
    f"好的，结果如下：\n{LEARNED}\n希望有用，别忘了 {{占位}} 和 [1]。",
    f"<think>也许是 {SKETCH}？</think>{LEARNED}",
    f"先想想：{SKETCH} 不对\n</think>\n{LEARNED}",
    f"{LEARNED}<think>好像都写了 {SKETCH}</think>",
    f"<think>先想想：{SKETCH} 不对，应该是\n{LEARNED}",
    f'我想写 {{"new_memories": [ 之类的。\n{LEARNED}',
    f'{{"result": {LEARNED}}}',
    f'{{"status": "ok", "data": {{"answer": {LEARNED}}}}}',
    f'{{"result": {LEARNED}',
    LEARNED.replace("]}", ",],}").replace("1}", "1, }"),
    LEARNED.replace("useful_ids", "usefulIds").replace("new_memories", "New Memory"),
]
EMPTY = [
    "{}", "```json\n{}\n```", "没有要记的。\n{}", "[]", '{"new_memories": [], "count": 0}',
    '{"useful_ids": [], "useless_ids": [], "new_memories": {}, "contradictions": ""}',
    '{"result": {"new_memories": []}}',
]  # fmt: skip
# One object for a list of it, a list for the object around it, fields that say the same.
OTHERWISE = [
    f'{{"new_memories": {ITEM}, "contradictions": "无"}}',
    f'{{"new_memories": [{ITEM}], "new_memories": []}}',
    f"[{ITEM}]",
    ITEM,
    f'{{"new_memories": [], "extracted_facts": [{ITEM}]}}',
    f'{{"memories": [{ITEM.replace("judgment", "content")}]}}',
    f"{{'useful_ids': None, 'new_memories': [{ITEM.replace(chr(34), chr(39))}]}}",
    f'{{"useful_ids": None, "new_memories": [\n{ITEM}]}} 完 {{见上}}',
    f'{{"新记忆": [{ITEM.replace("judgment", "内容")}]}}',
    f'{{"memories": [{ITEM.replace("judgment", "judgement")}]}}',
]
SAID = {
    **dict.fromkeys(AROUND, WANTED),
    **dict.fromkeys(EMPTY, ReflectionReply()),
    **dict.fromkeys(OTHERWISE, ONE),
    '{"memories": "奶奶对花生过敏"}': memory(),
    r'{"memories": "在 D:\\logs\app"}': read(NewMemory(r"在 D:\logs\app")),
    '{"useful_ids": "m-1"}': ReflectionReply(("m-1",)),
    '{"contradictions": {"id": "m-1", "new": "奶奶对花生过敏"}}': ReflectionReply(
        contradictions=(Correction("m-1", memory().new_memories[0]),)
    ),
    # Other types.
    item(strength="80"): memory(strength=80),
    item(turn="1", who=1): memory(turn=1, who="s1"),
    f'{{"memories": [{{"judgment": null, "turn": {{}}}}, {ITEM}],}}': replace(
        ONE, dropped=("new_memories.0",)
    ),
    item(turn="第3轮", who="s2"): memory(turn=3, who="s2"),
    item(turn=1.5, tags=None, when=None): memory(),
    item(tags="健康", asks="谁过敏，花生呢"): memory(tags=("健康",), asks=("谁过敏，花生呢",)),
    item(decision={"accept": True}): memory(decision={"accept": True}),
    # Members talk of the marks of thoughts, too.
    f"<think>他说的是 </think> 标签，记 {SKETCH} 吗</think>{TALKS}]}}": read(TAGS),
    f'{{"result": {TALKS}]}}': read(TAGS),
    '{"new_memories": [{"judgment": "a\\ud800"}]}': read(NewMemory("a?")),
    '{"new_memories": [{"judgment": "第一行\n第二行"}]}': read(NewMemory("第一行\n第二行")),
}


@pytest.mark.parametrize(("text", "said"), SAID.items())
def test_what_is_plainly_meant_is_read(text: str, said: ReflectionReply) -> None:
    assert parse_reply(text) == said


@pytest.mark.parametrize(
    "bad",
    ["3", "null", "{}", "[]", '{"reasoning": "x"}', '{"judgment": null}', '{"judgment": ["a", 1]}'],
)
def test_what_is_wrong_in_one_item_costs_that_item_alone(bad: str) -> None:
    new, old = f'"new_memories": [{bad}, {ITEM}]', f'"correction": [{{"id": "m", "new": {bad}}}]'
    assert parse_reply(f"{{{new}}}") == replace(ONE, dropped=("new_memories.0",))
    told = parse_reply(f'{{{old}, "memory": {ITEM}}}')
    assert told == replace(ONE, dropped=("contradictions.0",))


AGAIN = {
    "no_json": [
        "", "抱歉，我不能处理这段对话。", "timeout", "null", "12", LEARNED[:-1], LEARNED[:-20],
        LEARNED[:-1] + "]", '{"memories": "' + '\\"' * 30_000,
        "{" * 60_000, '{"a":' * 10_000, f"{LEARNED}</think>", "见 {占位}",
        '{"contradictions": [{"old_id": "m-1", "new": {}}',
    ],
    "no_field": [
        '{"memory_scope": "public"}', '{"answer": "奶奶对花生过敏"}', '{"learned": ["奶奶不吃鱼"]}',
        '{"useful_ids": [], "useless_ids": [], "facts": ["奶奶不吃鱼"]}',
        '{"answer": null, "x": {}}', '{"useful_ids": ["m-1"], "note": "奶奶不吃鱼"}',
        '{"note": "奶奶不吃鱼", "more": []}',
    ],
    "several": [LEARNED + SKETCH, f'{{"useful_ids": ["m-1"]}} {LEARNED}',
        f"{SKETCH} 不对：{LEARNED}", f"{LEARNED} 没有就写 {{}}",
        f"<think>{LEARNED} 没有就写 {{}}"],
    "wrong_type": [
        '{"new_memories": [{"reasoning": "x"}]}', '{"useful_ids": ["m-1"], "new_memories": [3]}',
        '{"contradictions": [{"new": {"judgment": "a"}}]}',
    ],
    "too_long": ["x" * (MOST_CHARS + 1), "{}" + " " * MOST_CHARS],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"), [(text, why) for why, texts in AGAIN.items() for text in texts]
)
def test_anything_else_is_asked_for_again_with_a_reason_that_quotes_nobody(
    text: str, why: str
) -> None:
    found = parse_reply(text)
    assert isinstance(found, Unreadable)
    assert found.reason.partition(":")[0] == why
    assert found.reason.isascii()


SCRAPS = (
    *'{}[]",:', "null", "1.5", ITEM, '"new_memories":', '"style":', '"judgment":', "<think>", "\\",
)  # fmt: skip


@given(st.lists(st.sampled_from(SCRAPS) | st.text(max_size=8), max_size=12).map("".join))
def test_no_answer_makes_it_raise(text: str) -> None:
    assert isinstance(parse_reply(text), ReflectionReply | Unreadable)


def test_a_wish_on_manner_is_two_known_words_and_maybe_a_label() -> None:
    for style, wanted in (
        ([["length", "less"], ["emoji", "more", "s2"], ["length", "up"]], 2),
        (["length", "less"], 1),
        ([["length", "less", "s1"], ["length", "less", "s1"], 3, {}, [], "x"], 1),
    ):
        found = parse_reply(json.dumps({"style": style}))
        assert isinstance(found, ReflectionReply)
        assert len(found.manner) == wanted
        assert found.manner[0][:2] == ("length", "less")
