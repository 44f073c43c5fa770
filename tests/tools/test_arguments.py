"""Models pass anything: a tool answers ``ok`` or ``error`` and never raises."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tools import TOOLS
from astrbot_plugin_scoped_memory.tools.base import MemoryTool, first_fault
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool
from astrbot_plugin_scoped_memory.tools.core_memory_remember import RememberTool
from astrbot_plugin_scoped_memory.tools.entry_tools import ExpandTool, TasksTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

NAMES = [name for tool in TOOLS for name in tool().parameters["properties"]]
HOSTILE = [
    "", " ", "\0", "\ud800", "--5", "5" * 39, "1_000", "½", "٣", "1e9", "{0!r}", " Knowledge ",
    "m-00000000000000", "</scoped_memory>", "x" * 3000, "add", "done", "list", 10**400, -5, 3.0,
]  # fmt: skip
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(HOSTILE)
)
json_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner)
)
calls = st.dictionaries(
    st.one_of(
        st.sampled_from(NAMES), st.text(max_size=8).filter(lambda n: n not in {"self", "context"})
    ),
    json_values,
    max_size=6,
)


REFUSED = object()
OF = {"limit": RecallTool, "topic": RecallTool, "query": RecallTool, "days": RecallTool,
      "tags": RememberTool, "tasks": TasksTool, "transcript": ExpandTool}  # fmt: skip
REST = {RecallTool: {"query": "x"}, RememberTool: {"judgment": "x"},
        TasksTool: {"action": "add"}, ExpandTool: {"pointer": "x"}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        # A number may come in several forms.
        *(("limit", value, 7) for value in (7, "7", " 7 ", 7.0)),
        *(("limit", value, REFUSED) for value in (0, -5, 10**400, 2.5, "--5", "½", "", [7], {})),
        *(("limit", value, REFUSED) for value in (float("nan"), "9" * 50)),
        ("topic", " Tasks ", "tasks"),
        *(("topic", value, REFUSED) for value in ("all", 7, [])),
        # Tags may be a list or a text with commas.
        *(("tags", value, ("a", "b")) for value in (["a", " b "], "a, b，", ("a", "b"))),
        *(("tags", value, ()) for value in ("", [])),
        *(("tags", value, REFUSED) for value in (7, [7], {"a": 1}, ["x" * 41], [*"abcdefghijklm"])),
        # Tasks may be a list or a text whose commas part nothing.
        (
            "tasks",
            ["交房租，问房东", " 买\n菜 ", "", "交房租，问房东"],
            ("交房租，问房东", "买 菜"),
        ),
        ("tasks", "给妈妈打电话，问体检结果", ("给妈妈打电话，问体检结果",)),
        ("tasks", "交房租\n买菜", ("交房租", "买菜")),
        *(("tasks", value, REFUSED) for value in (7, [7], [{}], {"a": 1}, ["x" * 301])),
        *(("transcript", value, value in (True, "True")) for value in (True, "True", "false")),
        *(("transcript", value, REFUSED) for value in ("maybe", [], {})),
        *(("query", value, REFUSED) for value in ("", " ", 7, "x" * 2001, "\ud800")),
        ("days", 5, REFUSED),
    ],
)
def test_what_an_argument_may_be(name: str, value: object, read: object) -> None:
    tool = OF[name]
    if read is not REFUSED:
        assert dict(tool.takes.model_validate({**REST[tool], name: value}))[name] == read
        return
    with pytest.raises(ValidationError) as wrong:
        tool.takes.model_validate({**REST[tool], name: value})
    told, why = first_fault(wrong.value)
    assert (told, bool(why)) == (name, True)


def test_the_first_problem_is_the_one_told() -> None:
    for given_, named in (({"limit": "x", "a": 1}, "query"), ({"query": "x", "a": 1}, "a")):
        with pytest.raises(ValidationError) as wrong:
            RecallTool.takes.model_validate(given_)
        assert first_fault(wrong.value)[0] == named


async def called(tool: type[MemoryTool], batch: list[dict[str, Any]], umo: str) -> list[str]:
    """What a tool answers to each call."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), follow=False) as rig:
            made = tool(source=holding(FakePlugin(rig)))
            context = tool_context(FakeEvent(umo))
            return [await made.call(context, **given_) for given_ in batch]


@given(
    st.sampled_from(TOOLS),
    st.lists(calls, min_size=1, max_size=12),
    st.sampled_from(
        ["aiocqhttp:GroupMessage:777", "aiocqhttp:FriendMessage:1", "x:y:z", "", "a:b"]
    ),
)
@settings(max_examples=max(5, settings().max_examples // 3))
def test_whatever_a_model_passes_the_first_word_is_ok_or_error(
    tool: type[MemoryTool], batch: list[dict[str, Any]], umo: str
) -> None:
    for answer in asyncio.run(called(tool, batch, umo)):
        assert answer.startswith(("ok ", "error "))
        assert len(answer) < 3000
