"""How a task, a proposal and a settled matter stand in their entries: readable, written by hand,
and the same after writing them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import (
    closed,
    closed_by,
    holding,
    is_over,
    reopened,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.passage_text import shown_text
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    Proposal,
    accepted,
    accepted_here,
    is_accepted,
    is_proposed,
    proposal_key,
    proposal_of,
    proposed,
    rejected,
    withdrawn,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import (
    done,
    find_tasks,
    is_done,
    same_task,
    task_of,
    task_text,
    with_task,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import reopened as to_do_again
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionState, Reference
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.models.tasks import Task
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import Candidate, as_hit
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.tell_once import closed_last
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import clean, one_line
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file
from astrbot_plugin_scoped_memory.tests.support.memories import NOW
from astrbot_plugin_scoped_memory.tests.support.memories import memory as said

pytestmark = [pytest.mark.unit, pytest.mark.property]

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
    after = to_do_again(read(done(before, "2026-11-23", "妈妈")))
    assert task_of(after) == replace(task_of(before), last_done="2026-11-23")
    assert to_do_again(after) == after


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
    opened = again.with_replaced(again.entries[1], to_do_again(second.memory))
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


def test_a_task_is_found_by_id_title_date_or_its_words_if_they_are_in_one_open_task() -> None:
    tasks = stored(
        entry("明天（2026-11-23）交房租"),
        entry("给妈妈打电话", "m-bbbb"),
        entry("给爸爸打电话", "m-cccc"),
        entry("[x] 买房租合同夹子", "m-dddd"),
    )
    assert find_tasks("TASKS.md#m-cccc", tasks) == [tasks[2]]
    assert find_tasks("明天交房租", tasks) == find_tasks("房租", tasks) == [tasks[0]]
    assert find_tasks("给妈妈打电话！", tasks) == find_tasks("妈妈打电话", tasks) == [tasks[1]]
    assert find_tasks("打电话", tasks) == tasks[1:3]
    for absent in ("交房", "交房租合同", "合同夹子", "修车", ""):
        assert not find_tasks(absent, tasks)
    tasks = stored(entry("周五（2026-12-04）前交物业费"), entry("Pay rent by Friday", "m-bbbb"))
    assert find_tasks("交物业费", tasks) == tasks[:1]
    assert find_tasks("pay rent", tasks) == tasks[1:]


def test_an_open_task_is_meant_before_a_done_one_of_the_same_title() -> None:
    tasks = stored(entry("[x] 交房租"), entry("交房租", "m-bbbb"))
    assert find_tasks("交房租", tasks) == [tasks[1]]
    assert same_task("交房租", tasks) == tasks[1]


ENTRY = Memory("m-aaaa", "检索面用 PostgreSQL", NOW, extra=("别的插件：甲",))
words = st.text(max_size=60).map(lambda text: one_line(clean(text)))


@given(words, st.integers(1, 99999))
def test_what_became_of_a_proposal_comes_back_from_its_file(why: str, number: int) -> None:
    assert proposal_of(ENTRY) is None
    waiting = proposed(ENTRY)
    assert proposal_of(read(waiting)) == Proposal("proposed")
    turned = rejected(waiting, "2026-11-24", why)
    assert proposal_of(read(turned)) == Proposal("rejected")
    taken = accepted(turned, number, "2026-11-25")
    assert proposal_of(read(taken)) == Proposal("accepted", number)
    here = accepted_here(turned, number, "2026-11-25", Reference("#12", why))
    assert proposal_of(read(here)) == Proposal("accepted", number, here=True)
    back = withdrawn(here, "2026-11-26", why)
    assert proposal_of(read(back)) == Proposal("withdrawn", number)
    for memory in (waiting, turned, taken, here, back):
        assert read(memory) == memory
        assert "别的插件：甲" in memory.extra
    for over, holds in ((turned, taken), (back, here)):
        assert is_over(over)
        assert not is_over(holds)
        assert proposed(holds) == holds
        assert proposal_of(proposed(over)) == Proposal("proposed")


def test_the_fields_are_those_of_the_documentation() -> None:
    assert "> 状态：提议 · 别的插件：甲\n" in render(proposed(ENTRY))
    taken = render(accepted(proposed(ENTRY), 7, "2026-11-23"))
    assert "> 状态：已接受 D-0007 · 决定：2026-11-23 · 别的插件：甲\n" in taken
    here = render(accepted_here(ENTRY, 7, "2026-11-23", Reference()))
    assert "> 状态：已接受 D-0007（只在这里） · 决定：2026-11-23 · 别的插件：甲\n" in here
    assert "> 状态：已否决 · 否决：2026-11-24 · 理由：太贵 · 别" in render(
        rejected(ENTRY, "2026-11-24", "太贵")
    )


@pytest.mark.parametrize(
    ("field", "state"),
    [
        ("状态: Proposed", "proposed"),
        ("状态：已接受D-0012", "accepted"),
        ("状态：Rejected", "rejected"),
        ("状态：Withdrawn D-0012", "withdrawn"),
        ("状态：已接受", None),
        ("状态：已接受 D-1", None),
        ("状态：完成", None),
        ("提议", None),
    ],
)
def test_a_person_may_write_the_state(field: str, state: DecisionState | None) -> None:
    found = proposal_of(Memory("m-aaaa", "用 PostgreSQL", NOW, extra=(field,)))
    assert (found.state if found else None) == state


def test_a_key_names_a_proposal_and_tells_nothing_of_it() -> None:
    assert proposal_key("m-aaaa") == proposal_key("m-aaaa") != proposal_key("m-aaab")
    assert proposal_key("m-aaaa").startswith("sha256:")
    assert len(proposal_key("m-aaaa")) == len("sha256:") + 20
    assert not is_accepted(ENTRY)
    assert not is_proposed(ENTRY)


HOME = Scope.parse("家人")


def memory(number: int, by: int | None = None, extra: tuple[str, ...] = ()) -> Memory:
    made = said(f"第{number}件事", number, extra=extra)
    return made if by is None else closed(made, f"m-000{by}")


def candidate(number: int, by: int | None = None, scope: Scope = HOME) -> Candidate:
    return Candidate(StoredMemory(scope, "entities.md", memory(number, by)), 1 - number / 10)


def order(best: list[Candidate], *more: Candidate) -> list[str]:
    """The ids in their order; ``more`` lives, too."""
    living = {one.key: one.passage for one in (*best, *more)}
    known = {one.key: one for one in best}
    return [one.key.memory_id for one in closed_last(best, known, living.get)]


@given(st.lists(st.text(st.characters(exclude_characters="·"), max_size=12), max_size=3))
def test_a_person_reads_it_writes_it_and_takes_it_off(fields: list[str]) -> None:
    extra = parse(render(memory(1, extra=tuple(fields))), fallback_time=NOW).extra
    before = memory(1, extra=extra)
    after = parse(render(closed(before, "m-0002")), fallback_time=NOW)
    assert closed_by(after) == "m-0002"
    assert closed_by(closed(after, "m-0003")) == "m-0003"
    assert reopened(after) == reopened(before)


def test_what_settles_it_stands_in_its_place_and_it_comes_last_marked() -> None:
    assert order([candidate(1, by=3), candidate(2)], candidate(3)) == ["m-0003", "m-0002", "m-0001"]
    both = [candidate(1, by=3), candidate(2), candidate(3)]
    assert order(both) == ["m-0003", "m-0002", "m-0001"]
    assert as_hit(both[0], 100).closed
    assert not as_hit(both[1], 100).closed


def test_of_several_the_last_one_holds() -> None:
    chain = [candidate(1, by=2), candidate(2, by=3), candidate(3)]
    assert order(chain) == ["m-0003", "m-0001", "m-0002"]
    ring = [candidate(1, by=2), candidate(2, by=1)]
    assert order(ring) == ["m-0001", "m-0002"]


def test_nothing_of_another_scope_stands_in_its_place() -> None:
    assert order([candidate(1, by=3)], candidate(3, scope=PUBLIC)) == ["m-0001"]


def test_what_settles_it_and_was_not_relevant_is_told_once() -> None:
    best, below = candidate(1, by=3), candidate(3)
    known = {one.key: one for one in (best, below)}
    found = closed_last([best], known, lambda key: candidate(int(key.memory_id[-1])).passage)
    assert found == [below, best]


def test_a_task_that_is_to_be_done_again_is_open() -> None:
    task = closed(done(memory(1), "2026-11-22", "小红"), "m-0002")
    assert is_done(StoredMemory(HOME, "TASKS.md", task))
    assert closed_by(to_do_again(task)) == ""
    assert holding([StoredMemory(HOME, "TASKS.md", task)]) == []


def test_another_field_stays() -> None:
    kept = replace(memory(1), extra=("心情：好",), created_at=NOW + timedelta(days=1))
    assert closed(kept, "m-0002").extra == ("了结：m-0002", "心情：好")
