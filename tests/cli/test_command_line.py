"""``python -m llm_memory``: whole stores out and in, while no bot has them open."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import DeedKind, StoredMemory, is_changed
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli.paths import NAME
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = [pytest.mark.engine, pytest.mark.process]

PEANUTS = "奶奶对花生过敏"
OFFICE = "公司的门禁每周一换新的"
SHUT = "图书馆周一闭馆"
ADMIN = person(1, "管理员", admin=True)
HEADER = {"type": "header", "format": "scoped-memory", "version": 1}


def in_bot(root: Path, work: Callable[[Rig], Awaitable[Any]]) -> Any:
    """What a bot does over a store, from its start to its end."""

    async def live() -> Any:
        async with running(root, follow=False) as rig:
            return await work(rig)

    return asyncio.run(live())


async def lived(rig: Rig) -> str:
    """A family's, an office's and a public memory; one forgotten, one replaced by an edit."""
    await rig.remember(PEANUTS, group(777))
    await rig.remember(OFFICE, group(888))
    await rig.remember(SHUT, group(999))
    stored = await rig.remember("妈妈的生日是三月五号", group(777))
    gone = stored.memory.memory.memory_id
    service = rig.engine.service
    assert is_changed(
        await service.forget(gone, conversation_id=group(777), actor=ADMIN), DeedKind.FORGOTTEN
    )
    return gone


async def known(rig: Rig) -> set[StoredMemory]:
    """What each scope holds."""
    return {
        stored
        for where in (group(777), group(888), group(999))
        for stored in await rig.engine.service.newest(conversation_id=where, limit=99)
    }


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_restored_store_is_recalled_from_and_what_was_forgotten_can_be_undone(
    tmp_path: Path,
) -> None:
    a, b, file = tmp_path / "a", tmp_path / "b", tmp_path / "store.jsonl"
    gone = in_bot(a, lived)
    (a / "memory" / "shared").mkdir()
    (a / "memory" / "shared" / "RUNBOOK.md").write_text("# 重启\n\n先停路由器\n", "utf-8")
    before = in_bot(a, known)
    assert main(["--data", str(a), "export", str(file)]) == 0
    assert main(["--data", str(b), "restore", str(file)]) == 0

    async def look(rig: Rig) -> None:
        assert await known(rig) == before
        assert PEANUTS in await rig.texts("奶奶能吃花生吗", private(1002))
        assert PEANUTS not in await rig.texts("奶奶能吃花生吗", group(888))
        undone = await rig.engine.service.restore(gone, conversation_id=group(777), actor=ADMIN)
        assert is_changed(undone, DeedKind.FORGOTTEN, undone=True)

    in_bot(b, look)
    assert (b / "memory" / "shared" / "RUNBOOK.md").read_text("utf-8") == "# 重启\n\n先停路由器\n"
    # One scope goes out and comes in alone.
    one, c = tmp_path / "one.jsonl", tmp_path / "c"
    assert main(["export", str(one), "--scope", "公司", "--data", str(a)]) == 0
    text = one.read_text("utf-8")
    assert (OFFICE in text, PEANUTS in text, SHUT in text) == (True, False, False)
    assert main(["restore", str(file), "--scope", "家人", "--data", str(c)]) == 0
    assert [path.name for path in (c / "memory" / "scopes").iterdir()] == ["家人"]
    # What is there is not overwritten, and what is not is not made up.
    assert main(["export", str(one), "--data", str(a)]) == 1
    assert main(["export", "--scope", "../x", "--data", str(a)]) == 1
    assert main(["export", "--data", str(tmp_path / "nowhere")]) == 1
    assert one.read_text("utf-8") == text
    assert not (tmp_path / "nowhere").exists()


def test_what_was_forgotten_by_command_comes_back_where_it_is_wanted_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "store.jsonl"

    async def forget_all(rig: Rig) -> None:
        for stored in await rig.engine.service.newest(conversation_id=group(777), limit=9):
            where = group(777) if stored.scope.name == "家人" else group(999)
            memory_id = stored.memory.memory_id
            await rig.engine.service.forget(memory_id, conversation_id=where, actor=ADMIN)

    async def live(rig: Rig) -> set[StoredMemory]:
        await lived(rig)
        return await known(rig)

    before = in_bot(tmp_path, live)
    assert main(["--data", str(tmp_path), "export", str(file)]) == 0
    in_bot(tmp_path, forget_all)
    left = in_bot(tmp_path, known)
    assert main(["--data", str(tmp_path), "restore", str(file)]) == 0
    assert "--anyway" in capsys.readouterr().out
    assert in_bot(tmp_path, known) == left != before
    assert main(["--data", str(tmp_path), "restore", "--anyway", str(file)]) == 0
    for _ in range(2):  # at the next start, and at the one after it
        assert in_bot(tmp_path, known) == before


def test_a_file_that_a_person_has_changed_stays_and_gets_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, file = tmp_path / "a", tmp_path / "b", tmp_path / "store.jsonl"
    in_bot(a, lived)
    topic = a / "memory" / "scopes" / "家人" / "preferences.md"
    topic.write_text("# 我的话\n\n" + topic.read_text("utf-8"), "utf-8")
    assert main(["--data", str(a), "export", str(file)]) == 0
    other = b / "memory" / "scopes" / "家人" / "preferences.md"
    other.parent.mkdir(parents=True)
    other.write_text("# 别的话\n", "utf-8")
    assert main(["--data", str(b), "restore", str(file)]) == 0
    assert "家人/preferences.md" in capsys.readouterr().out
    assert other.read_text("utf-8").startswith("# 别的话\n")
    assert PEANUTS in other.read_text("utf-8")


def test_nothing_is_touched_while_a_bot_has_the_folder_open(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "f.jsonl", HEADER, {"type": "memory", "judgment": PEANUTS})
    commands = (
        ["export"],
        ["restore", str(file)],
        ["import", str(file), "--scope", "public"],
        ["migrate-scope", "--reverse"],
    )

    async def beside(rig: Rig) -> None:
        await rig.remember(SHUT, group(999))
        for command in commands:
            assert await asyncio.to_thread(main, ["--data", str(tmp_path), *command]) == 1
            assert "The bot has this data folder open" in capsys.readouterr().err

    in_bot(tmp_path, beside)
    assert not (tmp_path / "exports").exists()


def test_an_import_passes_gate_and_privacy_into_the_scope_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_bot(tmp_path, lived)
    file = write(
        tmp_path / "f.jsonl",
        HEADER,
        {"type": "memory", "judgment": "爸爸的手机号是 13800138000，有事打给他", "scope": "家人"},
        {"type": "memory", "judgment": "嗯嗯"},
        {"type": "memory", "judgment": "以后回答必须用英文", "trusted": True},
        {"type": "end", "memories": 3, "files": 0},
    )
    asked = ["--data", str(tmp_path), "import", str(file), "--scope"]
    assert main([*asked, "公司", "--keep-trust"]) == 3
    assert "Line 3" in capsys.readouterr().out
    found = {s.memory.judgment: s for s in in_bot(tmp_path, known)}
    assert not any("13800138000" in judgment for judgment in found)
    order = found["以后回答必须用英文"]
    assert (order.scope.name, order.path) == ("公司", "instructions.md")
    assert main([*asked, "公司人", "--new", "--privacy", "off"]) == 3
    text = (tmp_path / "memory" / "scopes" / "公司人").rglob("*.md")
    assert any("13800138000" in path.read_text("utf-8") for path in text)


def test_an_import_lets_the_map_be_remembered_as_it_was(tmp_path: Path) -> None:
    def remembered() -> frozenset[str]:
        state = SqliteStateStore(tmp_path / "state" / "state.sqlite")
        state.open()
        try:
            return state.map_past().keys
        finally:
            state.close()

    in_bot(tmp_path, lived)
    before = remembered()
    assert before == frozenset(MAP)
    file = write(tmp_path / "f.jsonl", HEADER, {"type": "memory", "judgment": OFFICE})
    # No panel's config lies there: to the engine of the command line the map is empty.
    assert main(["--data", str(tmp_path), "import", str(file), "--scope", "public"]) == 3
    assert remembered() == before


def test_no_line_leads_out_of_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd: list[tuple[dict[str, str], str]] = [
        ({"scope": "../家"}, "invalid scope or path"),
        ({"scope": "con"}, "invalid scope or path"),
        *(
            ({"scope": "家人", "path": path}, "invalid scope or path")
            for path in ("../../x.md", "/etc/x.md", "x.txt", ".hidden/x.md")
        ),
        ({"scope": "@shared", "path": "x.md"}, "invalid scope or path"),
        ({}, "scope is missing or wrong"),
        ({"scope": "家人", "id": "../x"}, "id is missing or wrong"),
    ]
    line = {"type": "memory", "id": "m-abcd1234", "judgment": PEANUTS,
            "created_at": "2024-01-01T00:00:00+08:00"}  # fmt: skip
    good = {**line, "id": "m-good1234", "scope": "家人", "path": "entities.md"}
    # Into the root itself come notes alone.
    note = {"type": "file", "scope": "@root", "modified": 1, "text": "The lamps are dim.\n"}
    notes = [{**note, "path": path} for path in ("MEMORY.md", "docs/guide.md", "archive/x.md")]
    odd += [(one, "invalid scope or path") for one in notes[1:]]
    lines = [{**(line if "text" not in more else {}), **more} for more, _ in odd]
    file = write(tmp_path / "f.jsonl", HEADER, *lines, good, notes[0])
    assert main(["--data", str(tmp_path / "b"), "restore", str(file)]) == 3
    said = capsys.readouterr().out.splitlines()
    for number, (_, reason) in enumerate(odd, start=2):
        assert any(f"Line {number}:" in told and reason in told for told in said), reason
    found = sorted(p.name for p in (tmp_path / "b").rglob("*") if p.suffix in (".md", ".txt"))
    assert found == ["MEMORY.md", "entities.md"]


def test_where_the_data_lies_is_found_and_memory_elsewhere_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data" / "plugin_data" / NAME
    in_bot(data, lived)
    (data / "memory").rename(tmp_path / "my-notes")
    config = tmp_path / "data" / "config" / f"{NAME}_config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"advanced": {"memory_root": str(tmp_path / "my-notes")}}))
    monkeypatch.setenv("ASTRBOT_ROOT", str(tmp_path))
    assert main(["export"]) == 0
    (file,) = (data / "exports").iterdir()
    assert PEANUTS in file.read_text("utf-8")
    if os.name != "nt":
        assert file.stat().st_mode & 0o777 == 0o600
    config.unlink()
    assert main(["export"]) == 1
    assert "--memory" in capsys.readouterr().err


SAVED = {"conversation_scope_map": {"a:GroupMessage:1": "家人"}}


@pytest.fixture
def moved(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A file that carries a memory and a map; a new bot's data folder and its configuration."""
    old, new = (tmp_path / name / "data" / "plugin_data" / NAME for name in ("old", "new"))
    page = old / "memory" / "scopes" / "家人" / "我的.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"## {PEANUTS}\n", "utf-8")
    for data in (old, new):
        data.mkdir(parents=True, exist_ok=True)
        (data.parent.parent / "config").mkdir()
    config_of(old).write_text(json.dumps(SAVED), "utf-8")
    file = tmp_path / "moved.jsonl"
    assert main(["--data", str(old), "backup", str(file)]) == 0
    return file, new, config_of(new)


def config_of(data: Path) -> Path:
    return data.parent.parent / "config" / f"{NAME}_config.json"


def test_at_a_terminal_a_restore_says_what_changes_and_asks(
    moved: tuple[Path, Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, new, config = moved
    for answer, done in (("n\n", False), ("\n", False), ("y\n", True)):
        terminal = SimpleNamespace(isatty=lambda: True, readline=lambda answer=answer: answer)
        monkeypatch.setattr("sys.stdin", terminal)
        assert main(["--data", str(new), "restore", str(file)]) == (0 if done else 1)
        said = capsys.readouterr().out
        assert "write 1 file\n" in said
        assert "conversation_scope_map" in said
        assert bool(list(new.rglob("我的.md"))) is done
        assert config.exists() is done
    assert json.loads(config.read_text("utf-8-sig")) == SAVED


def test_a_configuration_that_cannot_be_read_is_not_written_over(
    moved: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file, new, config = moved
    config.write_text('{"dm_scope": "main",', "utf-8")
    assert main(["--data", str(new), "restore", str(file)]) == 3
    assert "settings not put back" in capsys.readouterr().out
    assert config.read_text("utf-8") == '{"dm_scope": "main",'
    assert list(new.rglob("我的.md"))
