"""Models pass anything: a tool answers ``ok`` or ``error`` and never raises."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tools import TOOLS
from astrbot_plugin_scoped_memory.tools.arguments import (
    Wrong,
    flag,
    number,
    read_all,
    text,
    words,
)
from astrbot_plugin_scoped_memory.tools.base import MemoryTool

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

TEXTS = Texts("zh-CN")
NAMES = ["judgment", "reasoning", "tags", "asks", "strength", "memory_type", "query", "limit",
         "topic", "days", "pointer", "transcript", "action", "tasks", "progress",
         "next_step"]  # fmt: skip
HOSTILE = [
    "", " ", "\0", "\ud800", "\u200b", "--5", "-", "+5", "5" * 39, "1_000", "½", "²", "٣", "1e9",
    "{x}", "{0!r}", "knowledge", " Knowledge ", "m-00000000000000", "</scoped_memory>", "x" * 3000,
    "add", "done", "list",
]  # fmt: skip
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(), max_size=30),
        st.sampled_from([*HOSTILE, 10**9, -5, 10**400, 3.0]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
calls = st.dictionaries(
    st.one_of(
        st.sampled_from(NAMES), st.text(max_size=8).filter(lambda n: n not in {"self", "context"})
    ),
    json_values,
    max_size=6,
)


REFUSED = object()
READ = {
    "limit": number("limit", "", low=1, high=20, unset=5),
    "tags": words("tags", "", most=12, limit=40),
    "tasks": words("tasks", "", most=3, limit=40, lines=True),
    "transcript": flag("transcript", ""),
    "query": text("query", limit=9, required=True),
}


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        # A number may come in several forms.
        *(("limit", value, 7) for value in (7, "7", " 7 ", 7.0, "٧")),
        ("limit", None, 5),
        *(("limit", value, REFUSED) for value in (0, -5, 10**9, 10**400, 2.5, True, "--5", "-")),
        *(
            ("limit", value, REFUSED)
            for value in ("½", "", "many", [7], {}, float("nan"), "9" * 50)
        ),
        # Tags may be a list or a text with commas.
        ("tags", ["a", " b "], ("a", "b")),
        ("tags", "家务, 厨房，奶奶", ("家务", "厨房", "奶奶")),
        ("tags", ("a",), ("a",)),
        *(("tags", value, ()) for value in ("", [], None)),
        *(("tags", value, REFUSED) for value in (7, [7], [None], {"a": 1}, ["x" * 41], ["x"] * 13)),
        ("tags", "x" * 3000, REFUSED),
        # Tasks may be a list or a text whose commas part nothing.
        (
            "tasks",
            ["交房租，问房东", " 买\n菜 ", "", "交房租，问房东"],
            ("交房租，问房东", "买 菜"),
        ),
        ("tasks", "给妈妈打电话，问体检结果", ("给妈妈打电话，问体检结果",)),
        ("tasks", "交房租\n买菜", ("交房租", "买菜")),
        *(("tasks", value, REFUSED) for value in (7, [7], {"a": 1}, ["x" * 41], [*"abcd"])),
        *(("transcript", value, bool(value)) for value in (True, False, None)),
        *(("transcript", value, value == "True") for value in ("True", "false")),
        *(("transcript", value, REFUSED) for value in ("yes", 1, [], {})),
        *(("query", value, REFUSED) for value in (None, "", " ", 7, "x" * 10)),
    ],
)
def test_what_an_argument_may_be(name: str, value: object, read: object) -> None:
    if read is not REFUSED:
        assert read_all([READ[name]], {name: value}) == {name: read}
        return
    with pytest.raises(Wrong) as wrong:
        read_all([READ[name]], {name: value})
    assert name in TEXTS.say(f"argument.{wrong.value.code}", **wrong.value.params)


@pytest.mark.parametrize(
    ("given_", "named"),
    [({"limit": "x", "colour": "blue"}, "query"), ({"query": "x", "colour": "blue"}, "colour")],
)
def test_the_first_problem_is_the_one_told(given_: dict[str, Any], named: str) -> None:
    with pytest.raises(Wrong) as wrong:
        read_all([READ["query"], READ["limit"]], given_)
    assert wrong.value.params["name"] == named


@pytest.mark.parametrize("tool", TOOLS)
def test_every_parameter_of_a_tool_is_passed_below_and_none_is_a_scope(
    tool: type[MemoryTool],
) -> None:
    properties = tool().parameters["properties"]
    assert set(properties) <= set(NAMES)
    assert set(tool().parameters["required"]) <= set(properties)
    assert "scope" not in properties


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
        assert answer.split()[0] in {"ok", "error"}
        assert answer.startswith(("ok ", "error "))
        assert len(answer) < 3000
