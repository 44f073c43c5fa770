"""``list``, ``forget``, ``edit``, ``undo``, ``status``, ``decide``, ``trust``: with and
without a program that has the store open. ``tests/says/pages/shell.*.md`` shows what each says."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.cli import owner_levels
from astrbot_plugin_scoped_memory.llm_memory.errors import OwnerGone
from astrbot_plugin_scoped_memory.llm_memory.home.trusted_roots import trust_root
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient
from astrbot_plugin_scoped_memory.tests.support.agents.shell import ID, Shell
from astrbot_plugin_scoped_memory.tests.support.words import stands_in

pytestmark = [pytest.mark.engine, pytest.mark.process]

PORT = "The staging port is 6432"
TEA = "I prefer tea in the morning"


def texts(shell: Shell, *more: str) -> list[str]:
    return [one["text"] for one in shell.json("list", *more)["memories"]]


def test_list_takes_words_a_level_and_a_number(shell: Shell) -> None:
    for number in range(2):
        shell.log(f"Drawer {number} holds the keys of shelf {number * 7}")
    shell.log(TEA, "preference")
    assert texts(shell, "TEA", "morning") == [TEA]
    assert texts(shell, "tea", "drawer") == []
    assert texts(shell, "--level", "global") == [TEA]
    assert len(texts(shell, "--level", "project")) == 2
    some = shell.json("list", "--limit", "2")
    assert (len(some["memories"]), some["more"]) == (2, True)


def test_each_of_several_is_told_and_nothing_is_done_before_every_id_is_one(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, tea = shell.log(PORT), shell.log(TEA, "preference")
    said = shell.json("forget", port, "m-nowhere1", port, tea, code=3)
    told = [(one["ok"], one["id"]) for one in said["memories"]]
    assert told == [(True, port), (False, "m-nowhere1"), (True, tea)]
    shell("undo", port)
    shell("forget", port, "n-abcd1234", code=2)
    assert texts(shell) == [PORT]
    monkeypatch.setattr(sys, "stdin", io.StringIO("The staging port is 7000\n"))
    said = shell.json("edit", f"project/decisions.md#{port}", "-")["memories"][0]
    assert (said["before"], said["text"]) == (PORT, "The staging port is 7000")


def test_another_projects_memory_is_nowhere(
    shell: Shell, own_user: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, shop = shell.log(PORT), Path.cwd()
    nowhere = f"no such memory here: {port}\n"
    (own_user / "other" / ".git").mkdir(parents=True)
    monkeypatch.chdir(own_user / "other")
    for asked in (["forget", port], ["edit", port, "The staging port is 7000"], ["undo", port]):
        assert shell(*asked, code=1) == nowhere
    assert texts(shell) == []
    files = {path: path.read_bytes() for path in home.rglob("*.md")}
    absent = "m-zzzzzzzzzzzz"
    for more in ([], ["--no"], ["--json"]):
        said = shell("trust", port, *more, code=1)
        assert said.replace(port, absent) == shell("trust", absent, *more, code=1)
    assert {path: path.read_bytes() for path in home.rglob("*.md")} == files
    monkeypatch.chdir(shop)
    shell("forget", port)
    monkeypatch.chdir(own_user / "other")
    assert shell("undo", port, code=1) == nowhere


def test_a_project_may_have_a_store_of_its_own(shell: Shell, home: Path) -> None:
    shop = Path.cwd()
    (shop / ".scoped-memory" / "memory").mkdir(parents=True)
    home.mkdir(parents=True, exist_ok=True)
    trust_root(home, shop)
    port, tea = shell.log(PORT), shell.log(TEA, "preference")
    assert sorted(texts(shell)) == [TEA, PORT]
    assert texts(shell, "--level", "project") == [PORT]
    shell("forget", port)
    shell("forget", tea)
    assert f"project/decisions.md#{port}" in shell("undo", port)
    assert f"global/preferences.md#{tea}" in shell("undo", tea)


def test_a_line_has_no_control_character(shell: Shell, home: Path) -> None:
    port = shell.log("The port is 6432 \x1b[31mred\x07")
    (file,) = home.rglob("scopes/project-*/decisions.md")
    file.write_text(file.read_text("utf-8").replace("red", "\x1b[31mred\x9b"), "utf-8")
    said = [
        shell("list"),
        shell("edit", port, "The port is 7000"),
        shell("undo", port),
        shell("forget", port),
        shell("forget", "\x1b[31mbogus", code=2),
    ]
    assert not set("".join(said)) & {"\x1b", "\x07", "\x9b"}


async def test_a_program_that_has_the_store_open_does_it(shell: Shell, home: Path) -> None:
    client = StdioClient(home, Path.cwd())
    try:
        await client.start()
        said, _ = await client.call("memory_log", content=PORT, type="decision")
        (port,) = set(ID.findall(said))
        assert await asyncio.to_thread(texts, shell) == [PORT]
        await asyncio.to_thread(shell, "edit", port, "The staging port is 7000")
        found, _ = await client.call("memory_search", query="staging port")
        assert "7000" in found
        assert not stands_in("6432", found)
        await asyncio.to_thread(shell, "forget", port)
        found, _ = await client.call("memory_search", query="staging port")
        assert port not in found
        (store,) = (await asyncio.to_thread(shell.json, "status"))["stores"]
        assert (store["owner_pid"], store["memories"]) == (client.process.pid, {})
        await client.kill()
        # What was done through a program that is gone is undone through the next, or without one.
        assert "7000" in await asyncio.to_thread(shell, "undo", port)
        assert PORT in await asyncio.to_thread(shell, "undo", port)
    finally:
        await client.stop()


def test_the_status_counts_and_names_what_is_missing(shell: Shell, home: Path) -> None:
    shell.log(PORT)
    shell.log("Write the release notes", "task")
    broken = home / "memory" / "scopes" / "public" / "broken.md"
    broken.parent.mkdir(parents=True, exist_ok=True)
    broken.write_bytes(b"## \xff\xfe\n")
    (store,) = shell.json("status", "--embedding", "lexical")["stores"]
    assert (list(store["memories"].values()), store["owner_pid"]) == ([2], None)
    codes = {one["code"] for one in store["warnings"]}
    assert codes == {"vault_file_broken"}  # and none of a scope map, which a home has not
    said = shell("status", "--embedding", "http", "--embedding-key-env", "NO_SUCH_KEY")
    assert "NO_SUCH_KEY (not set)" in said
    assert "embedder_failing" in said


def test_what_was_forgotten_before_a_fault_is_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, tea = shell.log(PORT), shell.log(TEA, "preference")
    real = owner_levels.levels_here
    asked: list[str] = []

    class Failing:
        def __init__(self, owner: Any) -> None:
            self._owner = owner

        async def forget(self, memory_id: str, **where: Any) -> Any:
            asked.append(memory_id)
            if memory_id == tea:
                raise OwnerGone("killed")
            return await self._owner.forget(memory_id, **where)

    def failing(home: Any) -> list[owner_levels.OwnerLevel]:
        levels = ((one.level, Failing(one.owner)) for one in real(home))
        return [owner_levels.OwnerLevel(*level) for level in levels]  # type: ignore[arg-type]

    monkeypatch.setattr(owner_levels, "levels_here", failing)
    said = shell.json("forget", port, tea, "m-nowhere1", code=3)
    assert [one["ok"] for one in said["memories"]] == [True, False, False]
    assert "killed" in said["memories"][1]["said"]
    assert asked == [port, tea]


WORDS = "Orders are kept in PostgreSQL"
POOL = "The pool has twenty connections"


def test_scripts_are_told_where_a_record_stands_and_it_is_written_once(
    shell: Shell, own_user: Path
) -> None:
    proposal = shell.log(WORDS)
    accept = ("decide", "accept", f"project/decisions.md#{proposal}", "--issue", "12")
    shell(*accept, code=1)
    assert not list(own_user.rglob("DECISIONS.md"))
    shell(*accept, "--by", "Ada", "--yes")
    (file,) = own_user.rglob("DECISIONS.md")
    text = file.read_text("utf-8")
    assert "By: Ada · Issue: #12" in text
    assert "Written before: D-0001" in shell("decide", "accept", proposal[:12], "--yes")
    assert file.read_text("utf-8") == text
    (row,) = shell.json("decide", "list")
    assert row.pop("at").startswith("20")
    assert row == {
        "id": None, "state": "accepted", "number": "D-0001", "title": WORDS, "issue": "#12",
        "pr": None, "file": "shared/DECISIONS.md", "line": 5, "supersedes": None,
    }  # fmt: skip
    second = shell.log("Orders are kept in SQLite files")
    assert "D-0002" in shell("decide", "supersede", "D-1", second, "--yes", "--to", "contracts")
    assert "No decision in force" in shell("decide", "withdraw", "D-0001", "--yes", code=1)


def test_what_was_proposed_outside_a_project_is_decided_in_one(
    shell: Shell, own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Path.cwd()
    monkeypatch.chdir(own_user)
    everywhere = shell.log(WORDS)
    monkeypatch.chdir(shop)
    assert everywhere in shell("decide", "list")
    outcome = shell.json("decide", "accept", f"global/decisions.md#{everywhere}", code=1)
    assert (outcome["outcome"], outcome["code"]) == ("Draft", 1)
    (own_user / "other" / ".git").mkdir(parents=True)
    mine = shell.log(POOL)
    monkeypatch.chdir(own_user / "other")
    assert "No such proposal" in shell("decide", "accept", mine, code=1)


def test_what_is_vouched_for_is_told_and_no_control_character_is_shown(
    shell: Shell, home: Path
) -> None:
    public = home / "memory" / "scopes" / "public"
    public.mkdir(parents=True)
    (public / "entities.md").write_text(f"## {PORT} \x1b[2J\u202e ^m-odd1\n> 可信：否\n", "utf-8")
    said = shell("trust", "global/entities.md#m-odd1")
    assert PORT in said
    assert not set(said) & {"\x1b", "\u202e"}
    for more in ([], ["--no"]):
        (told,) = shell.json("trust", "m-odd1", *more)["memories"]
        assert (told["ok"], told["trusted"]) == (True, not more)
