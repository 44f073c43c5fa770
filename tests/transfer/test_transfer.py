"""A store that was exported and restored is the same store, whatever people wrote into it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import TransferFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    NO_TIME,
    Memory,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import (
    End,
    EntryState,
    FileRecord,
    Header,
    MemoryRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.transfer.rules.format import (
    VERSION,
    LineBroken,
    line_of,
    read_line,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import behind
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.vault.test_entry_round_trip import memories, times
from astrbot_plugin_scoped_memory.tests.vault.test_entry_round_trip import text as any_text

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)
SCOPES = ("public", "家人", "dm-x-0a1b2c", "quarantine")
PATHS = (
    "preferences.md", "entities.md", "entities-2.md", "TASKS.md", "journal/2026-11-21.md",
    "我的/日 记.md", "archive/preferences.md", "archive/journal/2026-11-20.md",
    "entities.conflict.md",
)  # fmt: skip
NOTES = (
    "scopes/家人/PRIMER.md", "scopes/public/MEMORY.md", "scopes/家人/trips/japan.md",
    "shared/RUNBOOK.md", "roles/猫娘/SOUL.md", "roles/猫娘/notes/一.md",
    "MEMORY.md", "memory/2026-11-21.md", "roles/%none/SOUL.md", "soul/%none/chain.jsonl",
    "soul/猫娘/versions/0001.md",
)  # fmt: skip
few = settings(max_examples=max(settings().max_examples // 5, 5))
"""Each of them makes two stores on a disk."""
short = any_text.map(lambda value: value[:300])
hand_written = st.sampled_from(
    [
        "", "# 我的话\n\n随便写写\n", "- 备用钥匙在门卫那里 ^m-key1key1\n- 没有编号的一条\n",
        "\ufeff## 带 BOM ^m-b0m0b0m0\r\n> 颜色：蓝 · 知识记忆\r\n\r\n因为\r\n",
        "一段话 ^m-para9999\n> 未知的一行\n", "```\n## 代码 ^m-c0dec0de\n```\n", "末尾没有换行",
        "## 同一个号 ^m-twice222\n", "另一份 ^m-twice222\n",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """Files by path below the memory root, with the time of the last write."""

    files: dict[str, tuple[bytes, int]] = field(default_factory=dict)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """What bot and people may have left: entries, words between them, notes, odd bytes."""
    files: dict[str, tuple[bytes, int]] = {}
    entries = draw(st.lists(memories, max_size=10, unique_by=lambda m: m.memory_id))
    places = draw(st.lists(st.tuples(st.sampled_from(SCOPES), st.sampled_from(PATHS)), max_size=6))
    for number, (scope, path) in enumerate(dict.fromkeys(places)):
        written = [m for m in entries[number::6] if len(m.judgment) < 1000]
        content = behind("", *written)
        if draw(st.booleans()):
            content = draw(hand_written) + "\n" + content + draw(hand_written)
        files[f"scopes/{scope}/{path}"] = (content.encode(), _moment(draw))
    for path in draw(st.lists(st.sampled_from(NOTES), max_size=4, unique=True)):
        content = draw(st.one_of(short.map(_bytes), st.binary(max_size=40)))
        files[path] = (content, _moment(draw))
    return Tree(files)


def _moment(draw: st.DrawFn) -> int:
    return draw(st.integers(1_000_000_000, 1_800_000_000)) * 1_000_000_000


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "replace")


@contextmanager
def written(tree: Tree) -> Iterator[tuple[EnginePaths, EnginePaths, Path]]:
    """A store with the tree, an empty one, and a file between them."""
    root = Path(tempfile.mkdtemp(prefix="transfer-"))
    try:
        source, target = EnginePaths.under(root / "a"), EnginePaths.under(root / "b")
        for name, (content, modified) in tree.files.items():
            path = source.memory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, ns=(modified, modified))
        yield source, target, root / "store.jsonl"
    finally:
        shutil.rmtree(root)


def bytes_of(paths: EnginePaths) -> dict[str, bytes]:
    return {
        path.relative_to(paths.memory).as_posix(): path.read_bytes()
        for path in paths.memory.rglob("[!.]*.*")
        if path.is_file()
    }


def living(paths: EnginePaths) -> set[StoredMemory]:
    """What a bot would recall of a store."""
    vault = MarkdownVault(paths.memory)
    return {stored for scope in vault.scopes() for stored in vault.read(scope).memories}


@few
@given(trees())
def test_what_is_restored_is_what_was_exported_and_stays_so_when_restored_again(tree: Tree) -> None:
    with written(tree) as (source, target, file):
        out, left_out = export_store(source, file, now=NOW)
        assert left_out == []
        back = restore_store(target, file)
        assert (back.refused, back.differing, back.cut_short) == (0, (), False)
        assert back.memories == out.memories
        assert bytes_of(target) == {name: content for name, (content, _) in tree.files.items()}
        assert living(target) == living(source)
        again = restore_store(target, file)
        assert (again.memories, again.files, again.differing) == (0, 0, ())
        assert bytes_of(target) == {name: content for name, (content, _) in tree.files.items()}


@few
@given(trees(), trees())
def test_a_dry_run_tells_what_a_restore_does_and_does_nothing(tree: Tree, there: Tree) -> None:
    with written(tree) as (source, target, file):
        export_store(source, file, now=NOW, settings={"dm_scope": "main"})
        for name, (content, _) in there.files.items():
            path = target.memory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        target.memory.mkdir(parents=True, exist_ok=True)
        before = bytes_of(target)
        plan = restore_store(target, file, dry=True)
        assert bytes_of(target) == before
        assert not target.state.exists()
        assert plan.settings == {"dm_scope": "main"}
        assert plan == restore_store(target, file)


@few
@given(trees())
def test_the_memories_alone_bring_back_every_memory(tree: Tree) -> None:
    with written(tree) as (source, target, file):
        export_store(source, file, now=NOW)
        kept = [
            line for line in file.read_text("utf-8").split("\n") if '"type": "file"' not in line
        ]
        file.write_text("\n".join(kept), "utf-8")
        restore_store(target, file)
        assert living(target) == living(source)


def test_a_dry_run_into_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    export_store(EnginePaths.under(tmp_path), tmp_path / "store.jsonl", now=NOW)
    nowhere = tmp_path / "nowhere"
    with pytest.raises(TransferFailed, match="nowhere"):
        restore_store(EnginePaths.under(nowhere), tmp_path / "store.jsonl", dry=True)
    assert not nowhere.exists()


def test_an_entry_that_stands_in_two_files_comes_back_in_both() -> None:
    content = behind("", Memory("m-abcd1234", "奶奶对花生过敏", NOW)).encode()
    copies = {f"scopes/家人/{name}.md": (content, 10**18) for name in ("entities", "我的")}
    with written(Tree(copies)) as (source, target, file):
        export_store(source, file, now=NOW)
        restore_store(target, file)
        assert bytes_of(target) == {name: raw for name, (raw, _) in copies.items()}


names = st.sampled_from(["", "public", "家人", "@shared", "a/b", "x" * 80])
records = st.one_of(
    st.builds(
        Header,
        version=st.just(VERSION),
        plugin=short,
        exported_at=times,
        scopes=st.lists(names, max_size=3).map(tuple),
        whole=st.booleans(),
    ),
    st.builds(
        MemoryRecord,
        scope=names,
        path=short,
        memory=memories,
        state=st.sampled_from(get_args(EntryState.__value__)),
    ),
    st.builds(
        FileRecord,
        scope=names,
        path=short,
        content=st.one_of(st.binary(max_size=60), short.map(_bytes)),
        modified=st.integers(0, 1 << 62),
    ),
    st.builds(End, memories=st.integers(0, 9), files=st.integers(0, 9)),
)


@given(records)
def test_a_line_reads_back_as_the_record_that_it_was(
    record: Header | MemoryRecord | FileRecord | End,
) -> None:
    line = line_of(record)
    assert "\n" not in line
    line.encode()
    json.loads(line)
    assert read_line(line) == record


FAMILY = Scope.parse("家人")
ONE = Memory("m-abcd", "奶奶对花生过敏", NO_TIME + timedelta(days=20_000))


def test_only_the_judgment_must_be_said() -> None:
    read = read_line('{"type": "memory", "judgment": "x"}')
    assert isinstance(read, MemoryRecord)
    assert read.memory == Memory("", "x", NO_TIME)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("judgment", None),
        ("judgment", 7),
        ("id", "../x"),
        ("strength", 0),
        ("kind", "密语"),
        ("created_at", "2026-01-01"),
        ("created_at", "gestern"),
        ("tags", ["a", 7]),
        ("trusted", "否"),
    ],
)
def test_a_bad_field_is_named(name: str, value: Any) -> None:
    fields = json.loads(line_of(MemoryRecord("家人", "entities.md", ONE)))
    with pytest.raises(LineBroken) as caught:
        read_line(json.dumps(fields | {name: value}))
    assert caught.value.detail == name


@pytest.mark.parametrize("left_out", ["scope", "memory_scope"])
def test_a_line_with_one_of_the_two_names_of_the_scope_is_read(left_out: str) -> None:
    record = MemoryRecord("家人", "entities.md", ONE)
    fields = json.loads(line_of(record))
    del fields[left_out]
    assert read_line(json.dumps(fields)) == record


def test_a_line_that_names_two_scopes_is_refused() -> None:
    fields = json.loads(line_of(MemoryRecord("家人", "entities.md", ONE)))
    with pytest.raises(LineBroken) as caught:
        read_line(json.dumps(fields | {"memory_scope": "公司"}))
    assert (caught.value.fault, caught.value.detail) == ("wrong", "memory_scope")
