"""Which topic file a memory goes to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryKind, Topic
from astrbot_plugin_scoped_memory.llm_memory.policies.routing import route

K = MemoryKind


@pytest.mark.parametrize(
    ("kind", "text", "topic"),
    [
        (K.EMOTIONAL, "和奶奶吵了一架", Topic.PREFERENCES),
        (K.TASK, "周五交报告", Topic.TASKS),
        (K.TASK, "必须喜欢决定", Topic.TASKS),
        (K.SKILL, "用 make quick 跑得快", Topic.PATTERNS),
        (K.EVENT, "昨天去了动物园", Topic.JOURNAL),
        (K.EVENT, "昨天决定搬家", Topic.DECISIONS),
        (K.KNOWLEDGE, "奶奶喜欢豆浆", Topic.PREFERENCES),
        (K.KNOWLEDGE, "奶奶对花生过敏", Topic.PREFERENCES),
        (K.KNOWLEDGE, "He PREFERS tea", Topic.PREFERENCES),
        (K.KNOWLEDGE, "大家决定用微信", Topic.DECISIONS),
        (K.KNOWLEDGE, "发现周一人少", Topic.PATTERNS),
        (K.KNOWLEDGE, "小红是我妹妹", Topic.ENTITIES),
        (K.KNOWLEDGE, "Surekha is my sister", Topic.ENTITIES),
        (K.KNOWLEDGE, "图书馆周一闭馆", Topic.JOURNAL),
        (K.KNOWLEDGE, "this island", Topic.JOURNAL),
        (K.KNOWLEDGE, "", Topic.JOURNAL),
    ],
)
def test_kind_and_words_choose_the_topic(kind: K, text: str, topic: Topic) -> None:
    assert route(kind, text, trusted=False) is topic


@pytest.mark.parametrize("text", ["以后都用中文回答", "Always answer in English", "不要说脏话"])
def test_a_trusted_speakers_rule_is_an_instruction(text: str) -> None:
    assert route(K.KNOWLEDGE, text, trusted=True) is Topic.INSTRUCTIONS


words = st.sampled_from(["必须", "always", "决定", "喜欢", "是", "发现", "不要", "never", "x", " "])


@given(st.sampled_from(K), st.one_of(st.text(max_size=40), st.lists(words).map("".join)))
def test_no_word_of_an_untrusted_speaker_reaches_the_instructions(kind: K, text: str) -> None:
    assert route(kind, text, trusted=False) is not Topic.INSTRUCTIONS
