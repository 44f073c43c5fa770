"""Which questions ask for all that is known of a person."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import Memory, MemoryKind, Provenance, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Passage
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.questions.person import (
    About,
    person_asked,
)
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import embedded_text
from astrbot_plugin_scoped_memory.llm_memory.text.overlap import fold

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("你知道我什么", "me"),
        ("你都知道我些什么呀？", "me"),
        ("你对我了解多少", "me"),
        ("介绍一下我", "me"),
        ("我是谁", "me"),
        ("你还记得我的哪些事", "me"),
        ("你认识我吗", "me"),
        ("介绍一下大伟", "大伟"),
        ("请给我介绍一下大伟吧", "大伟"),
        ("大伟是谁", "大伟"),
        ("大伟是个什么样的人啊", "大伟"),
        ("谁是大伟？", "大伟"),
        ("你知道大伟的哪些事", "大伟"),
        ("你对大伟了解多少", "大伟"),
        ("早上好！你还记得小雯吗", "小雯"),
        ("说说老周这个人", "老周"),
        ("What do you know about me?", "me"),
        ("tell me about Ann Lee", "ann lee"),
        ("Who is Ann?", "ann"),
        ("who am I", "me"),
        ("do you remember Ann", "ann"),
    ],
)
def test_who_is_asked_about(text: str, name: str) -> None:
    assert person_asked(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "你是谁",
        "这是谁",
        "他是谁",
        "那是什么人",
        "奶奶能吃花生吗",
        "大伟在哪里上班",
        "我喜欢吃什么",
        "介绍一下这个项目",
        "谁是最后一个离开的，记得关灯",
        "我不知道该说什么",
        "what time is it",
        "tell me",
        "早",
    ],
)
def test_what_asks_for_something_else(text: str) -> None:
    assert person_asked(text) is None


NAMES = ("大伟", "伟", "Ann", "ann lee", "é", "小明")
TEXTS = st.text(alphabet="大伟小明An leE\u0301é \n，:", max_size=12)


def plainly(about: About, memories: list[StoredMemory]) -> dict[Passage, float]:
    """All that tells of the person: every memory is looked at, and folded anew."""

    def tells(stored: StoredMemory) -> float:
        judgment, text = fold(stored.memory.judgment), fold(embedded_text(stored.memory))
        for name in about.names:
            word = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])" if name.isascii() else re.escape(name)
            if judgment.startswith(name):
                return 6.0
            if re.search(word, text):
                return 4.0
        said_by = stored.memory.provenance.person in about.persons
        return 2.0 if said_by or fold(stored.memory.who) in about.names else 0.0

    found = {one: told for one in memories if (told := tells(one))}
    if not (about.persons or set(found.values()) - {4.0}):
        return {}
    newest = max((one.memory.created_at.timestamp() for one in found), default=1.0)
    orders = {
        one: 1.0
        + 10.0 * (one.memory.kind is not MemoryKind.EVENT)
        + told
        + one.memory.created_at.timestamp() / max(newest, 1.0)
        for one, told in found.items()
    }
    return dict(sorted(orders.items(), key=lambda pair: -pair[1]))


@pytest.mark.property
@given(
    st.lists(
        st.tuples(
            TEXTS,
            st.sampled_from(("", *NAMES)),
            st.sampled_from(("", "a:1", "a:2")),
            st.booleans(),
        ),
        max_size=8,
    ),
    st.sampled_from(NAMES),
    st.sampled_from((frozenset[str](), frozenset({"a:1"}))),
    st.integers(1, 9),
)
def test_what_is_known_of_a_person_is_what_a_plain_look_at_each_memory_finds(
    told: list[tuple[str, str, str, bool]], name: str, persons: frozenset[str], most: int
) -> None:
    memories = [
        StoredMemory(
            PUBLIC,
            "entities.md",
            Memory(
                f"m-{number:04}",
                text,
                datetime(2026, 1, 1 + number, tzinfo=UTC),
                kind=MemoryKind.EVENT if is_event else MemoryKind.KNOWLEDGE,
                provenance=Provenance(who, person),
            ),
        )
        for number, (text, who, person, is_event) in enumerate(told)
    ]
    about = About(frozenset({fold(name)}), persons)
    pairs = [(one, fold(embedded_text(one.memory))) for one in memories]
    found = list(about.known(pairs, most).items())
    assert found == list(plainly(about, memories).items())[:most]
