"""``memory_update_tasks``: what becomes of each task, and that none is ever dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.tests.support.agents.agents import AgentRig

pytestmark = [
    pytest.mark.engine,
    pytest.mark.property,
    pytest.mark.asyncio(loop_scope="module"),
]


async def update(rig: AgentRig, project: str, *tasks: dict[str, str]) -> list[str]:
    """The lines that are answered."""
    text = await rig.say("memory_update_tasks", project=project, tasks_json=json.dumps(tasks))
    return text.splitlines()


def stored(rig: AgentRig, project: str) -> str:
    """The project's file of tasks."""
    return rig.texts().get(f"project-{project}/TASKS.md", "")


async def test_each_fate_is_told(rig: AgentRig) -> None:
    roof = {"title": "Mend the roof"}
    for news, fate in (
        ({}, "added"),
        ({}, "unchanged"),
        ({"progress": "half of it", "next": "buy tiles"}, "updated"),
        ({"status": "done"}, "done"),
        ({"status": "completed"}, "unchanged"),
        ({"status": "todo"}, "reopened"),
    ):
        lines = await update(rig, "fates", {**roof, **news})
        assert lines[0] == f"- Mend the roof: {fate}"
        is_done = news.get("status") in ("done", "completed")
        assert lines[1] == ("no open tasks" if is_done else "1 open:")
    assert "half of it" in stored(rig, "fates")
    unknown = await update(rig, "fates", {"title": "Never heard of", "status": "done"})
    assert unknown[0].endswith(": no such task")


async def test_a_task_of_everywhere_is_read_only_in_a_project(rig: AgentRig) -> None:
    await update(rig, "", {"title": "Renew the passport"})
    lines = await update(rig, "elsewhere", {"title": "Renew the passport", "status": "done"})
    assert lines[0].endswith("it stands elsewhere, read only here")
    assert any("(global/TASKS.md#m-" in line for line in lines)
    await update(rig, "", {"title": "Renew the passport", "status": "done"})


async def test_a_task_can_be_named_by_its_pointer_as_printed(rig: AgentRig) -> None:
    lines = await update(rig, "pointer", {"title": "Count the spoons"})
    pointer = lines[-1].rpartition("(")[2].rstrip(")")
    assert pointer.startswith("project/TASKS.md#m-")
    assert (await update(rig, "pointer", {"title": pointer, "status": "done"}))[0].endswith(
        ": done"
    )
    assert (await update(rig, "pointer", {"title": pointer, "status": "open"}))[0].endswith(
        ": reopened"
    )
    assert stored(rig, "pointer").count("## ") == 1


NO_JSON = ("", "{bad", "[1,", "[" * 100_000, "[" * 100_000 + "]" * 100_000, "9" * 5_000, "[NaN]]")
WRONG: tuple[tuple[str, Any], ...] = (
    *(("a list of tasks is wanted", value) for value in ([], {"tasks": "x"}, "Call Ann", 7, None)),
    *(("number 1 is no task", [value]) for value in (7, None, ["x"])),
    *(("task 1 has no title", [value]) for value in ({}, {"title": " \n"}, {"title": ["x"]})),
    *(("the status of task 1 can only be open or done", [{"title": "x", "status": value}])
      for value in ("half", 1, ["done"], None)),
    ("at most 50 tasks at once", [{"title": f"task {n}"} for n in range(51)]),
)  # fmt: skip


async def test_what_is_wrong_is_named_and_nothing_is_done(rig: AgentRig) -> None:
    asked: list[tuple[str, object]] = [('[{"title": ', text) for text in NO_JSON]
    asked += [(word, json.dumps(value)) for word, value in WRONG]
    large = ("x" * 1_048_576, json.dumps([{"title": "t", "progress": "p" * 1_048_576}]))
    asked += [("262144", text) for text in large]
    endless: list[object] = []
    endless.append(endless)
    asked += [("JSON", endless), ("JSON", [object()]), ("tasks_json", {1, 2}), ("tasks_json", 7)]
    for word, value in asked:
        answer = await rig.call("memory_update_tasks", project="wrong", tasks_json=value)
        assert answer.code == 2
        assert word in answer.text, (str(value)[:60], answer.text)
        assert len(answer.text) < 400
    assert stored(rig, "wrong") == ""


async def test_what_is_meant_is_understood(rig: AgentRig) -> None:
    """A client may have taken the list out of its text."""
    one = {"title": "Call Bob"}
    for tasks in (["Call Bob"], [one], one, {"tasks": ["Call Bob"]}, {"tasks": [one]}):
        for given_ in (tasks, json.dumps(tasks)):
            text = await rig.say("memory_update_tasks", project="bob", tasks_json=given_)
            assert text.splitlines()[0] in ("- Call Bob: added", "- Call Bob: unchanged")
            assert "- [ ] Call Bob (" in text


@given(
    tasks=st.lists(
        st.fixed_dictionaries(
            {
                "title": st.sampled_from([f"Water plant number {n}" for n in range(6)])
                | st.text(min_size=1, max_size=20).filter(lambda text: text.strip()),
                "status": st.sampled_from(["open", "done", "pending", "todo", "completed"]),
            },
            optional={"progress": st.text(max_size=10), "next": st.text(max_size=10)},
        ),
        min_size=1,
        max_size=5,
    )
)
async def test_tasks_that_are_not_named_stay(rig: AgentRig, tasks: list[dict[str, str]]) -> None:
    keep = [f"Never touch this one: {n}" for n in "abc"]
    await update(rig, "law", *({"title": title} for title in keep))
    answer = await rig.call("memory_update_tasks", project="law", tasks_json=json.dumps(tasks))
    for title in keep:
        assert f"- [ ] {title} (project/TASKS.md#m-" in answer.text
        assert title in stored(rig, "law")
