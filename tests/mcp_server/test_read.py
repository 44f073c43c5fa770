"""``memory_read``: what a path opens, with its lines numbered, and what no path opens."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.answers import numbered
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.arguments import (
    MOST_TOKENS,
    ReadTarget,
    parse_target,
)
from astrbot_plugin_scoped_memory.llm_memory.models.recall import FileText
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import estimate_tokens
from astrbot_plugin_scoped_memory.tests.support.agents.agents import (
    AgentRig,
    pointer_in,
    tools_of,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.words import stands_in

pytestmark = [
    pytest.mark.engine,
    pytest.mark.property,
    pytest.mark.asyncio(loop_scope="module"),
]

NUMBERED = re.compile(r" *(\d+)  (.*)", re.DOTALL)


def shown(text: str) -> dict[int, str]:
    """Lines by their numbers."""
    found = (NUMBERED.fullmatch(line) for line in text.split("\n")[1:])
    return {int(one[1]): one[2] for one in found if one}


async def test_a_file_is_shown_with_its_lines_numbered(rig: AgentRig) -> None:
    place = rig.scopes / "project-shelves"
    place.mkdir(parents=True)
    shelves = (f"## Shelf {n * n} holds the boxes of {1900 + n}\n" for n in range(30))
    (place / "decisions.md").write_text("\n".join(shelves), "utf-8")
    whole = await rig.say("memory_read", project="shelves", path="project/decisions.md")
    lines = shown(whole)
    assert list(lines) == list(range(1, len(lines) + 1))
    assert whole.splitlines()[0] == f"project/decisions.md (lines 1-{len(lines)} of {len(lines)})"
    part = await rig.say("memory_read", project="shelves", path="project/decisions.md:10-40")
    assert shown(part) == {n: lines[n] for n in range(10, 41)}
    one = await rig.say("memory_read", project="shelves", path=" decisions.md:7 ")
    assert shown(one) == {7: lines[7]}
    for wrong in ("decisions.md:9999", "decisions.md:40-10", "decisions.md:0-0"):
        answer = await rig.call("memory_read", project="shelves", path=wrong)
        assert answer.failed
        assert "has no such lines" in answer.text


async def test_a_pointer_opens_one_memory_and_nobody_elses(rig: AgentRig) -> None:
    content = "The spare wheel lies behind the organ"
    said = await rig.say("memory_log", project="wheel", content=content, type="decision")
    pointer = pointer_in(said)
    for path in (pointer, pointer.removeprefix("project/"), pointer.partition("#")[2]):
        lines = shown(await rig.say("memory_read", project="wheel", path=path))
        assert lines[1].startswith(f"## {content} ^m-")
        assert any("可信：否" in line for line in lines.values())
    for path in (pointer, f"{pointer[:-6]}aaaaaa"):  # not yours, and absent: the same words
        answer = await rig.call("memory_read", project="elsewhere", path=path)
        assert (answer.failed, answer.text) == (True, f"no such file or memory: {path}")


async def test_a_long_file_is_read_part_by_part(rig: AgentRig) -> None:
    place = rig.scopes / "project-wide"
    place.mkdir(parents=True)
    lines = [f"第 {n} 行，" + "很长的一行" * 20 for n in range(300)]
    (place / "名.md").write_text("\n".join(lines) + "\n", "utf-8")
    path, seen = "project/名.md", {}
    while path:
        text = await rig.say("memory_read", project="wide", path=path)
        assert estimate_tokens(text) <= MOST_TOKENS
        seen |= shown(text)
        ahead = re.search(r"read (project/名\.md:\d+-\d+)", text)
        path = ahead[1] if ahead else ""
    assert [seen[n + 1] for n in range(300)] == lines


@given(
    lines=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=60)
        | st.integers(100, 9_000).map("很".__mul__),
        min_size=1,
        max_size=30,
    ),
    first=st.integers(1, 40),
    wanted=st.integers(1, 40),
    last=st.none() | st.integers(0, 60),
)
async def test_lines_that_are_asked_for_are_shown_and_no_other(
    lines: list[str], first: int, wanted: int, last: int | None
) -> None:
    found = FileText("x.md", "\n".join(lines), first)
    answer = numbered(found, "project/x.md", wanted, last, MOST_TOKENS)
    text, there = answer.text, not answer.failed
    assert estimate_tokens(text) <= MOST_TOKENS
    end = first + len(lines) - 1
    asked = range(max(wanted, first), (end if last is None else min(last, end)) + 1)
    assert there is bool(asked)
    if there:
        got = {int(one[1]) for row in text.split("\n") if (one := re.match(r" *(\d+)  ", row))}
        assert got <= set(asked)
        assert min(asked) in got


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("project/decisions.md", ReadTarget("project", "decisions.md")),
        ("global/a/b.md:3", ReadTarget("global", "a/b.md", 3, 3)),
        ("decisions.md#m-abcd", ReadTarget("", "decisions.md#m-abcd")),
        ("projects/x.md", ReadTarget("", "projects/x.md")),
        ("x.md:10-40:7", ReadTarget("", "x.md:10-40", 7, 7)),
        ("x.md:99999999", ReadTarget("", "x.md:99999999")),
        ("x.md:٣", ReadTarget("", "x.md:٣")),
    ],
)
async def test_a_path_is_taken_apart(text: str, target: ReadTarget) -> None:
    assert parse_target(text) == target


PRIVATE = "My salary is 4711 gold coins"
SECRETS = ("aiocqhttp", "FriendMessage", "10001", "1002")


async def test_what_one_person_may_read_and_who_said_it_where_stays_hidden(tmp_path: Path) -> None:
    """Over a bot's store: public holds what the bot learned in private chats."""
    async with running(tmp_path, {}, follow=False) as bot:
        service = bot.engine.service
        open_ = await bot.remember("The fountain runs from May to October", group(9), person(1002))
        draft = MemoryDraft(PRIVATE, active=False, actor=person(10001))
        learned = await service.remember(draft, conversation_id=private(10001))
        assert isinstance(learned, Stored)
        assert learned.memory.scope.is_public
        assert PRIVATE in (tmp_path / "memory/scopes/public" / learned.memory.path).read_text(
            "utf-8"
        )
        await service.refresh_overview(conversation_id=group(9))
        tools = tools_of(service)
        paths = [open_.memory.path, learned.memory.path, open_.memory.pointer]
        paths += ["MEMORY.md", "PRIMER.md"]
        texts = [(await tools.call("memory_read", {"path": f"global/{p}"})).text for p in paths]
        hidden = await tools.call("memory_read", {"path": f"global/{learned.memory.pointer}"})
        assert hidden.failed
        asked = [("memory_search", {"query": q}) for q in ("salary gold coins", "fountain May")]
        texts += [(await tools.call(*one)).text for one in (*asked, ("memory_primer", {}))]
    assert any("fountain" in text for text in texts)
    for text in (*texts, hidden.text):
        assert not stands_in("4711", text)
        assert not [secret for secret in SECRETS if secret in text], text


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
async def test_links_pipes_and_large_files_are_absent(rig: AgentRig, tmp_path: Path) -> None:
    mine, theirs = rig.scopes / "project-links", rig.scopes / "project-target"
    outside = tmp_path / "outside.md"
    for folder in (mine, theirs):
        folder.mkdir(parents=True)
    for file in (theirs / "secret.md", outside):
        file.write_text("The canary sings at midnight\n", "utf-8")
    (mine / "file.md").symlink_to(theirs / "secret.md")
    (mine / "outside.md").symlink_to(outside)
    (mine / "folder").symlink_to(theirs)
    (mine / "folder.md").mkdir()
    os.mkfifo(mine / "pipe.md")
    (mine / "large.md").write_bytes(b"canary " * 200_000)
    (mine / "latin.md").write_bytes("canary à midi".encode("latin-1"))
    names = "file.md outside.md folder/secret.md folder.md pipe.md large.md latin.md"
    for name in names.split():
        answer = await rig.call("memory_read", project="links", path=f"project/{name}")
        assert answer.failed, name
        assert "canary" not in answer.text
