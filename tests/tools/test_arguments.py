"""Models pass anything: a tool answers ``ok`` or ``error`` and never raises."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Texts
from astrbot_plugin_scoped_memory.tests.support.engines import running
from astrbot_plugin_scoped_memory.tests.support.plugin import (
    FakeEvent,
    FakePlugin,
    holding,
    tool_context,
)
from astrbot_plugin_scoped_memory.tools import TOOLS
from astrbot_plugin_scoped_memory.tools.arguments import Arguments
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


@given(calls, st.sampled_from(LANGUAGES))
def test_no_arguments_make_the_checks_raise(given_: dict[str, Any], language: str) -> None:
    arguments = Arguments(given_, Texts(language))
    text = arguments.text("judgment", limit=20, required=True)
    assert isinstance(text, str)
    assert len(text) <= 20
    assert 1 <= arguments.number("strength", default=50, low=1, high=100) <= 100
    words = arguments.words("tags", most=3, limit=5)
    assert len(words) <= 3
    assert all(isinstance(word, str) and 0 < len(word) <= 5 for word in words)
    assert arguments.choice("memory_type", {"knowledge", "task"}, "task") in {"knowledge", "task"}
    problem = arguments.finish()
    usable = isinstance(given_.get("judgment"), str) and 0 < len(given_["judgment"]) <= 20
    known = {"judgment", "strength", "tags", "memory_type"}
    if not usable or not given_.keys() <= known:
        assert problem
    assert len(problem) < 200


REFUSED = object()
READ: dict[str, Callable[[Arguments], object]] = {
    "limit": lambda arguments: arguments.number("limit", default=5, low=1, high=20),
    "tags": lambda arguments: arguments.words("tags", most=12, limit=40),
    "tasks": lambda arguments: arguments.lines("tasks", most=3, limit=40, required=True),
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
        *(
            ("tasks", value, REFUSED)
            for value in (7, [7], {"a": 1}, ["x" * 41], [*"abcd"], [], " ")
        ),
    ],
)
def test_what_an_argument_may_be(name: str, value: object, read: object) -> None:
    arguments = Arguments({name: value}, TEXTS)
    found, problem = READ[name](arguments), arguments.finish()
    if read is REFUSED:
        assert name in problem
        assert found in (5, ())
    else:
        assert (found, problem) == (read, "")


def test_the_first_problem_is_the_one_told() -> None:
    arguments = Arguments({"limit": "x", "colour": "blue"}, TEXTS)
    arguments.text("query", limit=5, required=True)
    arguments.number("limit", default=5, low=1, high=20)
    assert "query" in arguments.finish()


@pytest.mark.parametrize("tool", TOOLS)
def test_every_parameter_of_a_tool_is_read_by_it(
    monkeypatch: pytest.MonkeyPatch, tool: type[MemoryTool]
) -> None:
    finish, read_by_it = Arguments.finish, []

    def noted(arguments: Arguments) -> str:
        read_by_it.append(set(arguments.read))
        return finish(arguments) or "enough is known"

    monkeypatch.setattr(Arguments, "finish", noted)
    properties = tool().parameters["properties"]
    asyncio.run(called(tool, [dict.fromkeys(properties)], "aiocqhttp:GroupMessage:777"))
    assert read_by_it == [set(properties)]
    assert set(properties) <= set(NAMES), "else it is never passed above"
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
