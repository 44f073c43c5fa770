"""The Markdown of a former six-tool memory: one memory a list item, with its kind and time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.migration.rules.openclaw_markdown import read_file
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, MemoryKind

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def read(path: str, text: str) -> tuple[Memory, ...]:
    return read_file(path, text, NOW).memories


def test_each_item_of_a_topic_is_a_memory_of_the_day_it_was_updated() -> None:
    found = read(
        "agent/decisions.md",
        "---\ntype: decision\ncreated: '2026-02-11'\nupdated: '2026-02-14'\n---\n"
        "- 支付回调用异步队列\n- Redis for the token\n  blacklist\n\n手写的一段话\n",
    )
    assert [memory.judgment for memory in found] == [
        "支付回调用异步队列",
        "Redis for the token blacklist",
        "手写的一段话",
    ]
    assert {memory.created_at.date().isoformat() for memory in found} == {"2026-02-14"}
    assert found[0].created_at < found[1].created_at < found[2].created_at
    assert {memory.kind for memory in found} == {MemoryKind.KNOWLEDGE}


def test_patterns_are_skills_and_code_belongs_to_what_stands_above() -> None:
    found = read("agent/patterns.md", "- 用 selectinload 治 N+1\n\n```python\nx = 1\n```\n")
    assert [(m.judgment, m.reasoning, m.kind) for m in found] == [
        ("用 selectinload 治 N+1", "```python\nx = 1\n```", MemoryKind.SKILL)
    ]


def test_a_session_has_its_time_and_its_sections_their_meaning() -> None:
    found = read(
        "journal/2026-02-12.md",
        "---\ncreated: '2026-01-01'\n---\n\n## Session 10:05\n\n### 请求\n看看项目的结构\n\n"
        "### 学到了什么\n- 后端是 FastAPI\n\n### 完成了什么\n- 画了结构图\n\n### 下一步\n"
        "- 做支付\n\n---\n\n## Session 14:30\n\n### 请求\n复查登录\n",
    )
    assert [(m.judgment, m.kind, f"{m.created_at:%d %H:%M}") for m in found] == [
        ("请求：看看项目的结构", MemoryKind.EVENT, "12 10:05"),
        ("后端是 FastAPI", MemoryKind.KNOWLEDGE, "12 10:05"),
        ("画了结构图", MemoryKind.EVENT, "12 10:05"),
        ("下一步：做支付", MemoryKind.EVENT, "12 10:05"),
        ("请求：复查登录", MemoryKind.EVENT, "12 14:30"),
    ]


def test_tasks_keep_their_boxes_and_what_stands_below() -> None:
    found = read(
        "TASKS.md",
        "---\ntype: tasks\n---\n- [ ] 用户注册\n  - 进展：模型已设计\n  - 下一步：写接口\n"
        "- [x] 用户登录\n",
    )
    assert [(m.judgment, m.reasoning, m.kind) for m in found] == [
        ("[ ] 用户注册", "进展：模型已设计；下一步：写接口", MemoryKind.TASK),
        ("[x] 用户登录", "", MemoryKind.TASK),
    ]


def test_whole_conversations_are_counted_and_not_taken() -> None:
    turn = "## 10:00 | some model\n\n### User\n\n你好\n\n### Agent\n\n- 答\n\n---\n\n"
    text = turn + "## Session 11:00\n\n- 记下\n"
    found = read_file("journal/2026-02-12.md", text, NOW)
    assert (found.turns, [memory.judgment for memory in found.memories]) == (1, ["记下"])


def test_a_very_long_item_is_cut_at_a_sentence() -> None:
    found = read("user/entities.md", "- " + "一句话。" * 800)
    assert len(found[0].judgment) <= 1500
    assert found[0].judgment.endswith("。")
    assert (found[0].judgment + found[0].reasoning).replace("\n", "") == "一句话。" * 800


def test_what_looks_like_a_mark_within_a_line_is_kept() -> None:
    (paragraph,) = read("user/entities.md", "门牌 12. 号楼，一晚 100- 200 元")
    assert paragraph.judgment == "门牌 12. 号楼，一晚 100- 200 元"
    (task,) = read("TASKS.md", "- [ ] 订房\n  - 一晚 100- 200 元\n  - 12. 号楼")
    assert task.reasoning == "一晚 100- 200 元；12. 号楼"


@given(st.sampled_from(["a.md", "TASKS.md", "journal/2026-02-30.md", "x/y.md"]), st.text())
@example("a.md", "a\n-*-\nb")  # a rule stands between words that become one paragraph
def test_any_text_is_read_and_no_word_is_invented(path: str, text: str) -> None:
    found = read_file(path, text, NOW)
    for memory in found.memories:
        words = memory.judgment.removeprefix("请求：").removeprefix("下一步：")
        assert [word for word in words.split() if word not in text] == []
        assert memory.created_at.tzinfo is not None
