"""Models pass anything: a tool answers ``ok`` or ``error`` and never raises."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
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
from astrbot_plugin_scoped_memory.tools.base import OFF, MemoryTool
from astrbot_plugin_scoped_memory.tools.core_memory_recall import RecallTool
from astrbot_plugin_scoped_memory.tools.core_memory_remember import RememberTool
from astrbot_plugin_scoped_memory.tools.expand_memory import ExpandTool
from astrbot_plugin_scoped_memory.tools.update_tasks import TasksTool

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


def read(given_: Mapping[str, Any]) -> Arguments:
    """Arguments as a tool gets them."""
    return Arguments(given_, TEXTS)


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


@pytest.mark.parametrize(
    ("value", "number"), [(7, 7), ("7", 7), (" 7 ", 7), (7.0, 7), ("٧", 7), (None, 5)]
)
def test_a_number_may_come_in_several_forms(value: object, number: int) -> None:
    arguments = read({"limit": value})
    assert arguments.number("limit", default=5, low=1, high=20) == number
    assert arguments.finish() == ""


@pytest.mark.parametrize(
    "value",
    [
        0,
        -5,
        10**9,
        10**400,
        2.5,
        True,
        "--5",
        "-",
        "½",
        "",
        "many",
        [7],
        {},
        float("nan"),
        "9" * 50,
    ],
)
def test_what_is_no_number_in_range_names_the_argument_and_the_range(value: object) -> None:
    arguments = read({"limit": value})
    assert arguments.number("limit", default=5, low=1, high=20) == 5
    problem = arguments.finish()
    assert "limit" in problem
    assert "20" in problem


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["a", " b "], ("a", "b")),
        ("家务, 厨房，奶奶", ("家务", "厨房", "奶奶")),
        ("", ()),
        ([], ()),
        (None, ()),
        (("a",), ("a",)),
    ],
)
def test_tags_may_be_a_list_or_a_text_with_commas(value: object, words: tuple[str, ...]) -> None:
    arguments = read({"tags": value})
    assert arguments.words("tags", most=12, limit=40) == words
    assert arguments.finish() == ""


@pytest.mark.parametrize("value", [7, [7], [None], {"a": 1}, ["x" * 41], ["x"] * 13, "x" * 3000])
def test_bad_tags_are_refused(value: object) -> None:
    arguments = read({"tags": value})
    assert arguments.words("tags", most=12, limit=40) == ()
    assert "tags" in arguments.finish()


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        (["交房租，问房东", " 买\n菜 ", "", "交房租，问房东"], ("交房租，问房东", "买 菜")),
        ("给妈妈打电话，问体检结果", ("给妈妈打电话，问体检结果",)),
        ("交房租\n买菜", ("交房租", "买菜")),
        (None, ()),
    ],
)
def test_tasks_may_be_a_list_or_a_text_whose_commas_part_nothing(
    value: object, lines: tuple[str, ...]
) -> None:
    arguments = read({"tasks": value})
    assert arguments.lines("tasks", most=3, limit=40) == lines
    assert arguments.finish() == ""


@pytest.mark.parametrize("value", [7, [7], {"a": 1}, ["x" * 41], ["a", "b", "c", "d"], [], " "])
def test_bad_tasks_are_refused(value: object) -> None:
    arguments = read({"tasks": value})
    arguments.lines("tasks", most=3, limit=40, required=True)
    assert "tasks" in arguments.finish()


def test_the_first_problem_is_the_one_told() -> None:
    arguments = read({"limit": "x", "colour": "blue"})
    arguments.text("query", limit=5, required=True)
    arguments.number("limit", default=5, low=1, high=20)
    assert "query" in arguments.finish()


def test_an_unknown_argument_is_named() -> None:
    arguments = read({"scope": "公司"})
    assert "scope" in arguments.finish()


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


async def test_a_tool_without_a_plugin_says_so() -> None:
    tool = RecallTool(source=holding(None))
    assert await tool.call(tool_context(FakeEvent.in_group(777)), query="x") == OFF
    assert OFF.startswith("error ")


async def called(tool: type[MemoryTool], batch: list[dict[str, Any]], umo: str) -> list[str]:
    """What a tool answers to each call."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), follow=False) as rig:
            made = tool(source=holding(FakePlugin(rig)))
            context = tool_context(FakeEvent(umo))
            return [await made.call(context, **given_) for given_ in batch]


@given(
    st.sampled_from([RememberTool, RecallTool, ExpandTool, TasksTool]),
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


@pytest.mark.parametrize(
    "given_", [{}, {"judgment": "话" * 200_000}, {"judgment": "\u200b"}, {"judgment": ["a"]}]
)
def test_remember_refuses_what_says_nothing_or_too_much(given_: dict[str, Any]) -> None:
    (answer,) = asyncio.run(called(RememberTool, [given_], "aiocqhttp:GroupMessage:777"))
    assert answer.startswith("error ")
    assert len(answer) < 300


def test_a_memory_goes_the_whole_way_through_the_tools() -> None:
    async def story() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with running(Path(folder), follow=False) as rig:
                plugin = FakePlugin(rig)
                tools = [t(source=holding(plugin)) for t in (RememberTool, RecallTool, ExpandTool)]
                remember, recall, expand = tools
                home = tool_context(FakeEvent.in_group(777))
                office = tool_context(FakeEvent.in_group(888))
                said = {"judgment": "奶奶对花生过敏", "reasoning": "吃了\n起疹子", "tags": "健康"}
                answer = await remember.call(home, **said)
                assert answer.startswith("ok ")
                assert "家人" in answer
                pointer = answer.split("preferences.md")[1].split()[0].rstrip("）)")
                found = await recall.call(home, query="奶奶能吃花生吗")
                assert "preferences.md" + pointer in found
                whole = await expand.call(home, pointer="preferences.md" + pointer)
                assert "起疹子" in whole
                nothing = await recall.call(office, query="奶奶能吃花生吗")
                assert nothing.startswith("ok ")
                assert "花生" not in nothing
                refused = await expand.call(office, pointer="preferences.md" + pointer)
                assert refused.startswith("error ")
                assert "花生" not in refused

    asyncio.run(story())


@pytest.mark.parametrize("language", LANGUAGES)
async def test_a_tool_of_an_engine_that_is_off_or_closed_answers_error(
    tmp_path: Path, language: str
) -> None:
    from astrbot_plugin_scoped_memory.llm_memory import EngineOff

    async with running(tmp_path, follow=False) as rig:
        tool = RecallTool(source=holding(FakePlugin(rig, language)))
        context = tool_context(FakeEvent.in_group(777))
        rig.engine.life.failed(EngineOff("directory_in_use", "x"))
        assert (await tool.call(context, query="x")).startswith("error ")
        await rig.engine.close()
        assert (await tool.call(context, query="x")).startswith("error ")
