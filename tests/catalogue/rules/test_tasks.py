"""How a task stands in its entry: readable, written by hand, and the same after writing it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.passage_text import shown_text
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import (
    done,
    find_task,
    is_done,
    reopened,
    same_task,
    task_of,
    task_text,
    with_task,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.models.tasks import Task
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import clean, one_line
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
WORDS = st.text(max_size=60).map(lambda text: one_line(clean(text)))


def entry(title: str = "交房租", memory_id: str = "m-aaaa", **more: object) -> Memory:
    return replace(Memory(memory_id, title, NOW), **more)  # type: ignore[arg-type]


def stored(*memories: Memory, path: str = "TASKS.md") -> list[StoredMemory]:
    return [StoredMemory(PUBLIC, path, memory) for memory in memories]


def read(memory: Memory) -> Memory:
    return parse(render(memory), fallback_time=NOW)


@given(WORDS, WORDS, WORDS, st.booleans(), st.booleans())
def test_what_is_known_of_a_task_comes_back_from_its_file(
    progress: str, next_step: str, who: str, is_finished: bool, boxed: bool
) -> None:
    task = Task("交房租", is_finished, "2026-11-22", who, progress, next_step, "2026-10-22", boxed)
    if not is_finished:
        task = replace(task, done_on="", done_by="")
    before = entry(extra=("别的插件：甲", "状态：待办"))
    written = with_task(before, task)
    assert read(written) == written
    assert task_of(read(written)) == task
    assert "别的插件：甲" in written.extra
    assert with_task(written, task_of(written)) == written


@given(WORDS, WORDS)
def test_a_done_task_that_is_opened_again_keeps_its_words_and_says_when_it_was_done(
    progress: str, next_step: str
) -> None:
    before = with_task(entry(), Task("交房租", progress=progress, next_step=next_step))
    after = reopened(read(done(before, "2026-11-23", "妈妈")))
    assert task_of(after) == replace(task_of(before), last_done="2026-11-23")
    assert reopened(after) == after


@pytest.mark.parametrize("mark", ["[x]", "[X]", "[✓]", "[√]"])
def test_a_box_that_a_person_ticked_means_done_whatever_the_fields_say(mark: str) -> None:
    ticked = entry(f"{mark} 交房租", extra=("状态：待办",))
    assert task_of(ticked).done
    assert task_of(ticked).title == "交房租"
    assert not task_of(replace(ticked, judgment="[ ] 交房租", extra=("状态：完成",))).done


@pytest.mark.parametrize("word", ["完成", "已完成", "done", "Done"])
def test_a_state_that_a_person_wrote_means_done(word: str) -> None:
    assert task_of(entry(extra=(f"状态：{word}",))).done
    assert task_of(entry(extra=(f"状态: {word}",))).done
    assert not task_of(entry(extra=("状态：做了一半",))).done
    assert not task_of(entry("[x]没有空格的不是框")).done


def test_a_list_that_a_person_wrote_keeps_its_form() -> None:
    text = "# 家里的事\n\n- [ ] 交房租 ^m-aaaa\n- [x] 换灯泡 ^m-bbbb\n- 买菜 ^m-cccc\n"
    file = parse_file(text, fallback_time=NOW)
    first, second, third = file.entries
    assert [task_of(e.memory).done for e in file.entries] == [False, True, False]
    after = file.with_replaced(first, done(first.memory, "2026-11-23", "妈妈"))
    assert "- [x] 交房租 ^m-aaaa\n" in after
    assert "完成：2026-11-23" in after
    assert "- [x] 换灯泡 ^m-bbbb\n- 买菜 ^m-cccc\n" in after
    again = parse_file(after, fallback_time=NOW)
    assert [e.memory.memory_id for e in again.entries] == ["m-aaaa", "m-bbbb", "m-cccc"]
    assert task_of(again.entries[0].memory).done_on == "2026-11-23"
    closed = again.with_replaced(again.entries[2], done(third.memory, "2026-11-24", ""))
    assert task_of(parse_file(closed, fallback_time=NOW).entries[2].memory).done
    assert "- 买菜 ^m-cccc\n" in closed
    opened = again.with_replaced(again.entries[1], reopened(second.memory))
    assert "- [ ] 换灯泡 ^m-bbbb\n" in opened


def test_a_task_is_shown_with_what_is_known_of_it() -> None:
    task = with_task(entry(), Task("交房租", progress="问了房东", next_step="周五转账"))
    assert task_text(task) == "交房租 (问了房东 → 周五转账)"
    finished = done(task, "2026-11-23", "妈妈")
    assert task_text(finished) == "[x] 交房租 (2026-11-23)"
    (as_task,) = stored(finished)
    (elsewhere,) = stored(finished, path="journal/2026-11-22.md")
    assert shown_text(as_task) == task_text(finished)
    assert is_done(as_task)
    assert shown_text(elsewhere) == "交房租"
    assert not is_done(elsewhere)


def test_the_same_title_names_the_same_task_but_for_width_case_and_a_sign_at_the_end() -> None:
    tasks = stored(entry("给Tom打电话"), entry("学 C++", "m-bbbb"), entry("学 C#", "m-cccc"))
    for title in ("给tom打电话", "给Ｔｏｍ打电话。", " 给TOM打电话 ", "[ ] 给Tom打电话"):
        assert same_task(title, tasks) == tasks[0]
    assert same_task("学 c++", tasks) == tasks[1]
    assert same_task("学 C", tasks) is None
    assert same_task("", tasks) is None
    assert same_task("。", tasks) is None


def test_a_task_is_found_by_id_title_or_title_without_its_date_and_never_by_a_part() -> None:
    tasks = stored(
        entry("明天（2026-11-23）交房租"),
        entry("给妈妈打电话", "m-bbbb"),
        entry("给爸爸打电话", "m-cccc"),
        entry("[x] 买房租合同夹子", "m-dddd"),
    )
    assert find_task("TASKS.md#m-cccc", tasks) == tasks[2]
    assert find_task("明天交房租", tasks) == tasks[0]
    assert find_task("给妈妈打电话！", tasks) == tasks[1]
    for part in ("房租", "妈妈打电话", "打电话", "交房租合同"):
        assert find_task(part, tasks) is None
    assert find_task("修车", tasks) is None
    assert find_task("", tasks) is None


def test_an_open_task_is_meant_before_a_done_one_of_the_same_title() -> None:
    tasks = stored(entry("[x] 交房租"), entry("交房租", "m-bbbb"))
    assert find_task("交房租", tasks) == tasks[1]
    assert same_task("交房租", tasks) == tasks[1]
