"""Markdown that lies in a memory root itself: a project's notes, and in a bot's root nobody's."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.home.owned_store import OwnedStore
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import is_absent
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import BEGIN, END
from astrbot_plugin_scoped_memory.tests.support.agents.own_store import own_store
from astrbot_plugin_scoped_memory.tests.support.engines import group, private, running

pytestmark = pytest.mark.engine

OURS = "The bot's own line about lighthouses"
FILES = {
    "MEMORY.md": f"# Memory\n{BEGIN}\n- {OURS}\n{END}\n\n## Lamps\n\nThe lighthouse lamps: 40 W.\n",
    "2026-11-20.md": "# 2026-11-20\n\nThe lighthouse was painted red.\n",
    "handbook.md": "# Handbook\n\nThe lighthouse keeper sleeps by day.\n",
    "memory/2026-11-21-storm.md": "# Storm\n\nThe lighthouse lost its flag.\n",
}
NO_NOTES = {
    "memory/draft.md": "A lighthouse draft.\n",
    "docs/guide.md": "A lighthouse guide.\n",
    ".hidden.md": "A hidden lighthouse.\n",
    "MEMORY.sync-conflict-1.md": "Another lighthouse.\n",
}


def put(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def held(root: Path) -> dict[str, bytes]:
    """What lies in the root itself, and below ``memory/``."""
    found = [*root.glob("*.md"), *(root / "memory").glob("*.md")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def project(home: Path, root: Path) -> AbstractAsyncContextManager[tuple[OwnedStore, MemoryTools]]:
    return own_store(EnginePaths(home / "projects" / "root-1", root, owns_memory=False))


async def found_by(tools: MemoryTools, query: str = "lighthouse") -> str:
    return (await tools.search(query, None, 4000)).text


async def test_a_projects_root_is_read_as_its_notes_and_never_written(own_user: Path) -> None:
    root = own_user / "code" / "memories"
    put(root, FILES | NO_NOTES)
    before = held(root)
    async with project(own_user / "home", root) as (store, tools):
        assert {chunk.place.name for chunk in store.engine.parts.note_book.all()} == {"@root"}
        assert {chunk.path for chunk in store.engine.parts.note_book.all()} == set(FILES)
        found = await found_by(tools)
        for words in ("40 W", "painted red", "sleeps by day", "lost its flag"):
            assert words in found
        for text in (OURS, *NO_NOTES.values()):
            assert text.strip() not in found
        pointer = next(line for line in found.split("\n") if "40 W" in line).rpartition("(")[2]
        assert pointer.startswith("project/./MEMORY.md#n-")
        section = (await tools.read(pointer.rstrip(")"))).text
        assert "8  The lighthouse lamps: 40 W." in section
        for path in ("./MEMORY.md", "project/./MEMORY.md"):
            whole = (await tools.read(path)).text
            assert "8  The lighthouse lamps: 40 W." in whole
            assert OURS not in whole
        assert (await tools.read("./docs/guide.md")).failed
        await tools.log("Lighthouses run on PostgreSQL", "decision")
        await tools.session_end("We cleaned the lighthouse.\nMEMORY.md")
        await tools.update_tasks('[{"title": "./MEMORY.md", "status": "open"}]')
        await store.engine.sleep.run_once("nightly")
        assert held(root) == before
        (standing,) = [one for one in store.engine.notices if one.code == "root_read"]
        assert standing.params == {"files": "2026-11-20.md, MEMORY.md, handbook.md, …"}
        (root / "handbook.md").unlink()
        await store.engine.parts.note_book.refresh()
        assert "sleeps by day" not in await found_by(tools)


async def test_of_a_projects_own_folder_the_older_layout_alone_is_read(own_user: Path) -> None:
    root = own_user / "code" / "shop"
    put(root, FILES | NO_NOTES | {"README.md": "Lighthouse shop.\n"})
    (root / "workflow.toml").write_text('[memory]\nroot = "."\n', "utf-8")
    async with project(own_user / "home", root) as (store, _):
        read = {chunk.path for chunk in store.engine.parts.note_book.all()}
        assert read == set(FILES) - {"handbook.md"}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
async def test_no_link_in_the_root_is_followed(own_user: Path) -> None:
    root, elsewhere = own_user / "code" / "memories", own_user / "diary"
    put(elsewhere, {"diary.md": "My secret lighthouse.\n", "2026-11-21.md": "My own lighthouse.\n"})
    root.mkdir(parents=True)
    (root / "MEMORY.md").symlink_to(elsewhere / "diary.md")
    (root / "memory").symlink_to(elsewhere)
    os.mkfifo(root / "2026-11-20.md")
    async with project(own_user / "home", root) as (store, tools):
        assert not list(store.engine.parts.note_book.all())
        assert "lighthouse" not in await found_by(tools)
        assert (await tools.read("./MEMORY.md")).failed


async def test_a_bots_root_is_read_by_nobody_and_that_is_said_once(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    put(root, FILES)
    for start in range(2):
        async with running(tmp_path, words_alone=True) as bot:
            await bot.until_words()
            assert not list(bot.engine.parts.note_book.all())
            for where in (group(777), group(999), private(1)):
                assert not (await bot.recall("lighthouse", where)).hits
                for path in ("./MEMORY.md", "./handbook.md", "MEMORY.md", "handbook.md"):
                    read = await bot.engine.service.read(path, conversation_id=where)
                    assert is_absent(read)
            said = [one for one in bot.notices if one.code == "root_unread"]
            assert len(said) == (not start)
            (standing,) = bot.engine.notices
            assert standing.code == "root_unread"
            if start:
                (root / "shared").mkdir()
                for path in FILES:
                    (root / path).rename(root / "shared" / Path(path).name)
                await bot.engine.parts.note_book.refresh()
                assert not bot.engine.notices
                assert "lamps: 40 W" in " ".join(await bot.texts("lighthouse", group(999)))
                put(root, FILES)
                await bot.engine.parts.note_book.refresh()
                assert len(bot.notices) == 1, "they are new, so it is said again"
