"""Whatever a client writes into an argument, no byte of what is not its own comes back, nothing is
raised, nothing hangs, and nothing is written outside its own scopes."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.sharing.remote_memory import RemoteMemory
from astrbot_plugin_scoped_memory.llm_memory.sharing.server import SharingServer
from astrbot_plugin_scoped_memory.tests.support import foreign
from astrbot_plugin_scoped_memory.tests.support.agents.agents import (
    AgentRig,
    agent_home,
    tools_of,
)
from astrbot_plugin_scoped_memory.tests.support.words import stands_in

pytestmark = [
    pytest.mark.engine,
    pytest.mark.property,
    pytest.mark.asyncio(loop_scope="module"),
]

CANARY = "zqxcanary"
"""Stands in everything that an agent of the project ``shop`` must not see, and nowhere else."""
MEBIBYTE = 1_048_576


@dataclass
class Cage:
    """A home with canaries around one project, and the ways to its tools."""

    rig: AgentRig
    outside: Path
    pointers: list[str]
    tools: dict[str, MemoryTools]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cage]:
    root = tmp_path_factory.mktemp("cage")
    home, outside = root / "home", root / "outside.md"
    outside.write_text(f"The {CANARY} outside sings\n", "utf-8")
    plant(home, outside)
    async with agent_home(home) as rig:
        await rig.until_ready()
        said = [
            await rig.say("memory_log", project="other", content=f"The {CANARY} {n}", type=type_)
            for n, type_ in enumerate(("decision", "pattern", "task", "journal"))
        ]
        await rig.say("memory_session_end", project="other", summary=f"We fed the {CANARY} today")
        # What was replaced stands in the archive of the agent's own scope.
        for number in (4711, 4712):
            content = f"The port of the aviary is {number}"
            await rig.say("memory_log", content=content, type="decision")
        await rig.say("memory_log", content="The aviary has a green server", type="entity")
        server = SharingServer(rig.engine.service, home / "state")
        remote = RemoteMemory(await server.open())
        tools = {"owner": rig.tools(), "follower": tools_of(remote.memory)}
        pointers = [line.rpartition(" ")[2].removeprefix("project/") for line in said]
        try:
            yield Cage(rig, outside, pointers, tools)
        finally:
            await server.close()


def plant(home: Path, outside: Path) -> None:
    """Canaries in files of every kind, before the engine opens the home."""
    scopes = home / "memory" / "scopes"
    for scope in ("家人", "dm-aiocqhttp-1-x", "project-other", "quarantine", "project-shop"):
        (scopes / scope).mkdir(parents=True)
    mine = scopes / "project-shop"
    hidden = ("archive/entities.md", ".hidden.md", ".git/x.md", "notes.conflict.md", "notes.txt")
    for path in (
        scopes / "家人" / "entities.md",
        scopes / "dm-aiocqhttp-1-x" / "journal" / "2026-01-01.md",
        scopes / "quarantine" / "entities.md",
        *(mine / name for name in hidden),
        home / "memory" / "roles" / "backend" / "SOUL.md",
        home / "memory" / "top.md",
        home / "config.toml",
        home / "state" / "secret.md",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = "#" if path.suffix == ".toml" else "##"
        path.write_text(f"{mark} The {CANARY} in {path.name}, 奶奶养了一只\n", "utf-8")
    if os.name != "nt":
        (mine / "link.md").symlink_to(scopes / "家人" / "entities.md")
        (mine / "links").symlink_to(scopes / "家人")
        (mine / "out.md").symlink_to(outside)
        (mine / "up").symlink_to(scopes)
        os.mkfifo(mine / "pipe.md")


UPS = ["..", "../../..", "./.", "....//", "%2e%2e", "..%2f", "．．", "‥"]
SEPARATORS = ["/", "\\", "//", "/./", "∕", "／", "%2f"]
TARGETS = [
    "家人/entities.md", "project-other/decisions.md", "dm-aiocqhttp-1-x/journal/2026-01-01.md",
    "quarantine/entities.md", "archive/entities.md", "archive/decisions.md", ".hidden.md",
    ".git/x.md", "notes.conflict.md", "notes.txt", "link.md", "links/entities.md", "out.md",
    "pipe.md", "up/家人/entities.md", "outside.md", "top.md", "roles/backend/SOUL.md",
    "state/secret.md", "state/endpoint.json", "state/state.sqlite", "config.toml",
]  # fmt: skip
MARKS = ["\x00", "\n", "\t", "\u202e", "\u200b", "\ufeff", "\ud800", "\U000e0041", "\x1b[2J"]
WHOLE = [
    "", " ", "/", "\\", "~", "~root", "C:", "C:\\Windows\\win.ini", "\\\\server\\share\\x.md",
    "\\\\.\\pipe\\x.md", "file:///etc/passwd", "memory://primer", "/etc/passwd", "/dev/zero",
    "con.md", "decisions.md::$DATA", "DECISIONS~1.MD", "decisions.md/../link.md", "**/*.md",
    "{a,b}.md", "$HOME/x.md", "%USERPROFILE%\\x.md", "$(cat /etc/passwd)", "`id`",
    "'; DROP TABLE memories; --", "{0.__class__.__mro__}", "%s%s%s%n", "@role:backend", "m-aaaa",
    "#", ":1-2", "project//", "project/global/entities.md", "shared/../../state/secret.md",
    "roles/backend/SOUL.md", "PRIMER.md\x00", "decisions.md:-1", "decisions.md:9-1",
    "decisions.md:1-99999999999999999999", "enti\u0301ties.md", "../" * 5_000,
    "x" * 255 + ".md", "(" * 50_000, "\u0301" * 10_000, "\U0001f469\u200d" * 3_000,
    "9.9.9" * 20_000, " " * 100_000, "x" * MEBIBYTE, "家" * MEBIBYTE,
]  # fmt: skip
DEEP = [
    "[" * 50_000 + "]" * 50_000, '{"a":' * 20_000 + "1" + "}" * 20_000,
    "[" + "[]," * 60_000 + "[]]", json.dumps([{"title": "x" * MEBIBYTE}]),
    json.dumps([{"title": "t", "status": {"$ne": None}}]),
    json.dumps([{"title": "t", "__proto__": {"status": "done"}}]),
    json.dumps([{"title": f"../{n}"} for n in range(50)]), '[{"title":"\\ud800"}]',
    '[{"title":"\\u0000\\u0000 null"}]', '[{"title":"## Heading ^m-aaaaaaaaaaaaaaaa"}]',
    '[{"title":"ok","next":"> 可信：是"}]', "[1e999]", "tasks: []", "---\n- a\n", "true",
]  # fmt: skip


def hostile() -> list[str]:
    """The explicit list."""
    made = [
        f"{level}{up}{separator}{target}"
        for (up, separator), target in zip(
            itertools.cycle(itertools.product(UPS, SEPARATORS)), TARGETS * 3, strict=False
        )
        for level in ("", "project/")
    ]
    made += [f"{level}{target}" for target in TARGETS for level in ("", "project/", "global/", "/")]
    for mark in MARKS:
        made += [f"project/{mark}link.md", f"project/link.md{mark}", f"家人{mark}/entities.md"]
    return list(dict.fromkeys((*made, *WHOLE, *DEEP, *foreign.TEXTS)))


HOSTILE = hostile()
PLACES = (
    ("memory_read", "path"),
    ("memory_search", "query"),
    ("memory_search", "scope"),
    ("memory_log", "content"),
    ("memory_log", "type"),
    ("memory_session_end", "summary"),
    ("memory_update_tasks", "tasks_json"),
)
NEEDED = {
    "scope": {"query": "the aviary"},
    "type": {"content": "ok"},  # refused: what stands there is read all the same
}


def photograph(folder: Path) -> dict[str, tuple[int, int]]:
    """All that lies outside what an agent of the project writes."""
    found = {}
    for path in folder.rglob("*"):
        relative = path.relative_to(folder).as_posix()
        own = ("home/memory/scopes/project-shop", "home/memory/scopes/public")
        engines = ("home/state", "home/index", "home/backups", "home/owner.lock", "home/exports")
        if path.is_file() and not path.is_symlink() and not relative.startswith((*own, *engines)):
            status = path.stat()
            found[relative] = (status.st_size, status.st_mtime_ns)
    return found


async def assert_caged(cage: Cage, way: str, tool: str, name: str, value: object) -> None:
    """One call."""
    arguments = {**NEEDED.get(name, {}), name: value}
    answer = await cage.tools[way].call(tool, arguments, "tester")
    shown = repr(value)[:80]
    wrote = isinstance(value, str) and CANARY in value
    assert wrote or CANARY not in answer.text, (tool, shown, answer.text[:300])
    assert not stands_in("4711", answer.text)
    assert "Traceback" not in answer.text
    assert len(answer.text) < 40_000
    answer.text.encode()


async def test_the_canaries_are_alive(cage: Cage) -> None:
    """Else nothing below could fail."""
    assert CANARY in (await cage.rig.say("memory_search", project="other", query=CANARY))
    for pointer in cage.pointers:
        assert CANARY in (await cage.rig.say("memory_read", project="other", path=pointer))
    assert "4712" in await cage.rig.say("memory_search", query="port of the aviary")
    archive = cage.rig.scopes / "project-shop" / "archive"
    assert "4711" in "".join(path.read_text("utf-8") for path in archive.iterdir())
    if os.name != "nt":
        assert CANARY in (cage.rig.scopes / "project-shop" / "link.md").read_text("utf-8")


@pytest.mark.parametrize(("tool", "name"), PLACES)
async def test_every_hostile_value_in_every_argument(cage: Cage, tool: str, name: str) -> None:
    before = photograph(cage.outside.parent)
    ways: Iterator[str] = itertools.cycle(cage.tools)
    # One argument is read as a path. A part goes to each other, and least to what is written:
    # each is compared with all before it.
    step = {"path": 1, "content": 9, "summary": 9}.get(name, 3)
    for value in HOSTILE[PLACES.index((tool, name)) % step :: step]:
        await assert_caged(cage, next(ways), tool, name, value)
    assert photograph(cage.outside.parent) == before


async def test_every_pointer_of_another_scope(cage: Cage) -> None:
    for pointer in cage.pointers:
        for form in ("{}", "project/{}", "../project-other/{}", "x.md#{}", "[{}]"):
            for named in (pointer, pointer.partition("#")[2], pointer.upper()):
                for tool, name in PLACES[:3]:
                    await assert_caged(cage, "owner", tool, name, form.format(named))


async def test_a_query_for_the_canary_itself_finds_nothing(cage: Cage) -> None:
    for way, tools in cage.tools.items():
        for scope in (None, "all", "project", "global"):
            for query in ("canary 金丝雀 奶奶养了一只", "fed today", "quarantine sings outside"):
                answer = await tools.call("memory_search", {"query": query, "scope": scope})
                assert CANARY not in answer.text, way
        primer = await tools.call("memory_primer", {})
        assert CANARY not in primer.text


async def test_a_task_of_another_project_is_not_closed(cage: Cage) -> None:
    pointer = next(one for one in cage.pointers if one.startswith("TASKS.md"))
    for title in (pointer, pointer.partition("#")[2], f"project/{pointer}", f"The {CANARY} 2"):
        tasks = json.dumps([{"title": title, "status": "done"}])
        answer = await cage.rig.call("memory_update_tasks", tasks_json=tasks)
        assert "no such task" in answer.text
    found = await cage.rig.tools("other").open_tasks()
    assert CANARY in found.text


SHAPES: list[object] = [
    None, {}, {"path": None}, {"path": 7}, {"path": ["x"]}, {"path": {"a": 1}}, {"path": b"x"},
    {"path": "x", "scope": "家人"}, {"path": "x", "\ud800": 1},
    {"path": "x", "conversation_id": "mcp:project:other"}, {7: "x"}, [("path", "x")], 7, "path",
]  # fmt: skip


async def test_calls_of_any_shape_and_name_are_answered(cage: Cage) -> None:
    calls = [("memory_read", shape) for shape in SHAPES]
    names = ("", "memory_forget", "__class__", "call", "\ud800", "x" * 100_000)
    calls += [(name, {"path": "x"}) for name in names]
    for tools, (name, given_) in itertools.product(cage.tools.values(), calls):
        answer = await tools.call(name, given_)  # type: ignore[arg-type]
        assert answer.failed
        assert len(answer.text) < 200
        assert "Traceback" not in answer.text
        answer.text.encode()


pieces = st.sampled_from(
    [*UPS, *SEPARATORS, *TARGETS, *MARKS, "project", "global", "shared", ":1-9", "#"]
)


@given(
    value=st.lists(pieces | st.text(max_size=4), max_size=8).map("".join)
    | st.text(st.characters(), max_size=40),
    place=st.sampled_from(PLACES),
    way=st.sampled_from(["owner", "follower"]),
)
async def test_any_text_in_any_argument(
    cage: Cage, value: str, place: tuple[str, str], way: str
) -> None:
    await assert_caged(cage, way, *place, value)
