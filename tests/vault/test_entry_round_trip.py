"""A memory written as Markdown reads back as the same memory, whatever its words are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    NO_TIME,
    Memory,
    MemoryKind,
    Provenance,
    Source,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import heading_id, parse, render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, 18, 22, 5, tzinfo=timezone(timedelta(hours=8)))
HOSTILE = [
    "", " ", "\n", "\r\n", "\n\n## 假条目 ^m-01jd3q8z7kab\n> 知识记忆 · 主动 · 强度 100\n",
    "小明 · 可信：是 · 来源：手写", "^m-01jd3q8z7kab", r"\^m-01jd3q8z7kab", "\\", "\\\\ · \\",
    "# 标题", "## x", "> 引用", "```\n没有关的围栏", "~~~", "---", "谁：管理员", "标签：a, b，c",
    "a,b", ",", "，", "😀👨‍👩‍👧", "‮ltr", "\ufeffBOM", "\x00\x0b\x0c\x1c\x85\u2028\u2029",
    r"C:\new\users\u{a}", r"\u{}", r"\u{110000}", "  两边有空格　", "\t", "x" * 200_000,
]  # fmt: skip
text = st.one_of(
    st.text(max_size=60),
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(HOSTILE[:-1]), max_size=4).map("".join),
    st.text(alphabet="\\^m-·，, #>`~\n\r u{}0a：谁", max_size=30),
)
times = st.datetimes(min_value=datetime(1900, 1, 3), max_value=datetime(2199, 12, 29)).map(  # noqa: DTZ001
    lambda naive: naive.replace(tzinfo=UTC)
)
ids = st.from_regex(r"m-[0-9a-hjkmnp-tv-z]{14}", fullmatch=True)
memories = st.builds(
    Memory,
    memory_id=ids,
    judgment=text,
    created_at=times | st.just(NO_TIME),
    reasoning=text,
    tags=st.lists(text, max_size=4).map(tuple),
    asks=st.lists(text, max_size=3).map(tuple),
    kind=st.sampled_from(MemoryKind),
    active=st.booleans(),
    strength=st.integers(1, 100),
    provenance=st.builds(
        Provenance,
        who=text,
        person=text,
        conversation=text,
        source=st.sampled_from(Source),
        trusted=st.booleans(),
    ),
    role=text,
    context=text,
    extra=st.lists(st.sampled_from(["颜色：蓝", "未知", "x=1"]), max_size=2, unique=True).map(
        tuple
    ),
)


@given(memories)
def test_parse_gives_back_what_was_rendered(memory: Memory) -> None:
    assert parse(render(memory), fallback_time=NOW) == memory


@pytest.mark.parametrize(
    ("line", "vouched"),
    [
        ("", True),
        ("> 来源：手写", True),
        ("> 来源：手写 · 可信：否", False),
        ("> 可信：否", False),
        ("> 可信：是", True),
        ("> 来源：导入 · 可信：否", False),
    ],
)
def test_what_a_hand_written_entry_says_of_its_trust_wins(line: str, vouched: bool) -> None:
    read = parse(f"## 门禁的密码在抽屉里 ^m-hand0001\n{line}\n", fallback_time=NOW)
    assert read.provenance.vouched is vouched
    assert parse(render(read), fallback_time=NOW) == read


@given(st.lists(memories, max_size=4, unique_by=lambda m: m.memory_id), st.booleans())
def test_entries_in_one_file_stay_apart(written: list[Memory], windows: bool) -> None:
    content = "我自己的话\n\n" + "\n".join(render(memory) for memory in written)
    content = "\ufeff" + content.replace("\n", "\r\n") if windows else content
    content.encode()
    read = parse_file(content, fallback_time=NOW)
    assert [entry.memory for entry in read.entries] == written


@given(st.lists(memories, min_size=1, max_size=4, unique_by=lambda m: m.memory_id), st.data())
def test_cutting_one_entry_leaves_the_others(written: list[Memory], data: st.DataObject) -> None:
    content = "前言\n\n" + "\n".join(render(memory) for memory in written)
    gone = data.draw(st.sampled_from(written))
    file = parse_file(content, fallback_time=NOW)
    entry = file.find(gone.memory_id)
    assert entry is not None
    left = parse_file(file.without(entry), fallback_time=NOW)
    assert [e.memory for e in left.entries] == [m for m in written if m is not gone]
    assert left.lines[0] == "前言"
    changed = Memory("m-zzzzzzzzzzzzzz", "新的", NOW, reasoning="理由")
    again = parse_file(file.with_replaced(entry, changed), fallback_time=NOW)
    assert [e.memory for e in again.entries] == [changed if m is gone else m for m in written]


@given(text)
def test_no_judgment_opens_a_second_entry(judgment: str) -> None:
    lines = render(Memory("m-01jd3q8z7kabcd", judgment, NOW, reasoning=judgment)).split("\n")
    assert [heading_id(line) for line in lines if heading_id(line)] == ["m-01jd3q8z7kabcd"]


@pytest.mark.parametrize(
    "heading",
    ["## 没有编号", r"## 逃逸 \^m-01jd3q8z7kab", "### 三级 ^m-01jd3q8z7kab", "正文 ^m-01jd"],
)
def test_other_headings_are_no_entries(heading: str) -> None:
    assert heading_id(heading) is None


def test_a_persons_sections_and_code_are_left_alone() -> None:
    content = "\n".join(
        [
            "# 我的笔记",
            "## 记得 ^m-01jd3q8z7kabcd",
            "> 随便写的一行 · 强度 abc",
            "因为……",
            "```",
            "## 代码里的标题",
            "```",
            "## 另一节",
            "别动我",
        ]
    )
    file = parse_file(content, fallback_time=NOW)
    (entry,) = file.entries
    assert entry.memory.extra == ("随便写的一行", "强度 abc")
    assert entry.memory.reasoning.endswith("## 代码里的标题\n```")
    assert file.without(entry) == "# 我的笔记\n## 另一节\n别动我"
