"""A vault whose disk is full, forbidden, read-only or gone: said, and nothing is half-written."""

from __future__ import annotations

import errno
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, Refused
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.storage import files
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.programs import program
from astrbot_plugin_scoped_memory.tests.support.programs.small_disk import (
    FIRST,
    SECOND,
    THIRD,
)
from astrbot_plugin_scoped_memory.tests.vault.test_vault import ADMIN, FAMILY, NOW, Tree, memory

pytestmark = [pytest.mark.engine, pytest.mark.process]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """An empty vault."""
    return Tree(tmp_path / "memory")


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an engine did on a real disk that was filled, made read-only and taken out."""
    if not sys.platform.startswith("linux"):
        pytest.skip("no mounts of our own on this system")
    return program.found_by("small_disk.py", tmp_path_factory.mktemp("small-disk"))


@pytest.fixture(scope="module")
def forbidden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a vault did that was forbidden piece by piece."""
    if not hasattr(os, "geteuid"):
        pytest.skip("no such rights on this system")
    return program.found_by(
        "forbidden_vault.py", tmp_path_factory.mktemp("forbidden"), bound_by_modes=True
    )


class TestARealDisk:
    """Writes behind a file, to a new file, to a new scope; an entry replaced, one forgotten."""

    @pytest.mark.parametrize(
        ("phase", "code", "known"),
        [
            ("full", errno.ENOSPC, [FIRST]),
            ("read_only", errno.EROFS, [FIRST, SECOND]),
            ("gone", errno.ENOENT, [FIRST, SECOND, THIRD]),
        ],
    )
    def test_nothing_is_acknowledged_or_half_written_and_the_bot_answers_on(
        self, small_disk: dict[str, Any], phase: str, code: int, known: list[str]
    ) -> None:
        found = small_disk[phase]
        assert len(found["refusals"]) == 5
        assert [text for text in found["refusals"] if not text.endswith(os.strerror(code))] == []
        assert found["untouched"]
        assert FIRST in found["recalled"]
        assert set(found["recalled"]) <= set(known)
        assert found["warned"]

    @pytest.mark.parametrize("phase", ["full", "read_only", "gone"])
    def test_once_the_disk_takes_something_again_writing_goes_on(
        self, small_disk: dict[str, Any], phase: str
    ) -> None:
        found = small_disk[phase]["afterwards"]
        assert found["written"] == "ok"
        assert not found["warned"]
        assert FIRST in found["on_disk"]

    def test_nothing_is_written_where_the_disk_was(self, small_disk: dict[str, Any]) -> None:
        assert small_disk["gone"]["written_elsewhere"] == []


DENIED = os.strerror(errno.EACCES)
CLOSED = {"entities.md": "unreadable"}
BY_WHAT: dict[str, tuple[str, dict[str, str], str]] = {
    # what is read, what is reported, and what is refused
    "a file": ("2", CLOSED, "current replaced"),
    "a file for reading only": ("12", {}, "written"),
    "a folder in it": ("1", {"journal": "unreadable"}, ""),
    "the scope's folder": ("", {"": "unreadable"}, "written new current replaced"),
    "its names only": ("", {**CLOSED, "journal": "unreadable"}, "written new current replaced"),
    "reading": ("12", {}, "new replaced"),
    "nothing any more": ("12", {}, ""),
}


@pytest.mark.parametrize("what", BY_WHAT)
def test_what_is_forbidden_is_said_and_the_rest_goes_on_and_is_not_taken_for_gone(
    forbidden: dict[str, Any], what: str
) -> None:
    """As a user whom it concerns."""
    found, (read, reported, refused) = forbidden[what], BY_WHAT[what]
    assert found["read"] == [f"第{number}件事" for number in read]
    assert found["reported"] == reported
    assert found["others"] == 1
    beside = "entities-2.md" if what == "a file" else "entities.md"  # which may not be read
    done = {"written": beside, "new": "TASKS.md", "current": "entities.md"}
    for deed, path in {**done, "replaced": "entities.md"}.items():
        if deed in refused:
            assert re.fullmatch(rf"refused: {path}: ({DENIED}|unreadable)", found[deed])
        else:
            assert found[deed] == path


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ENAMETOOLONG])
def test_a_folder_in_which_nothing_can_be_looked_at_is_an_error_and_no_endless_search(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    tree.add(memory(1))
    real = Path.lstat

    def failing(path: Path) -> os.stat_result:
        if path.suffix == ".md":
            raise OSError(code, os.strerror(code))
        return real(path)

    monkeypatch.setattr(Path, "lstat", failing)
    with pytest.raises(VaultWriteFailed, match=os.strerror(code)):
        tree.vault.append(FAMILY, Topic.ENTITIES, memory(2))


def swap_disk(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of the same name on another disk comes in the place of an open vault's."""
    scopes = tree.root / "scopes"
    scopes.rename(tree.root / "elsewhere")
    scopes.mkdir()
    real = Path.stat

    def elsewhere(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = real(path, follow_symlinks=follow_symlinks)
        if path != scopes:
            return status
        return os.stat_result((*status[:2], status.st_dev + 1, *status[3:10]))

    monkeypatch.setattr(Path, "stat", elsewhere)


def test_an_empty_disk_in_its_place_is_not_written_to(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = MarkdownVault(tree.root).append(FAMILY, Topic.TASKS, memory(9))
    swap_disk(tree, monkeypatch)
    for step in (
        lambda: tree.vault.append(FAMILY, Topic.ENTITIES, memory(2)),
        lambda: tree.vault.replace(stored, memory(9, "改了")),
        lambda: tree.vault.archive(stored, by=ADMIN, at=NOW),
        lambda: tree.vault.current(stored),
        lambda: tree.vault.ensure(FAMILY),
    ):
        with pytest.raises(VaultWriteFailed, match="empty disk"):
            step()
    assert list((tree.root / "scopes").iterdir()) == []


def test_a_disk_that_was_taken_out_and_put_in_again_is_the_same_to_us(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tree.add(memory(1)).read_bytes()
    swap_disk(tree, monkeypatch)
    tree.write("entities.md", content)
    tree.add(memory(2))
    assert tree.texts() == ["第1件事", "第2件事"]


async def refusal(rig: Rig, text: str = "奶奶喜欢豆浆") -> str:
    """Why the engine did not write."""
    outcome = await rig.engine.service.remember(
        MemoryDraft(text, actor=person(10001)), conversation_id=group(777)
    )
    assert isinstance(outcome, Refused)
    assert outcome.reason == "not_written"
    return outcome.detail


@pytest.mark.parametrize("replaced_by", ["a file", "a link"])
async def test_a_scope_folder_that_is_replaced_while_the_bot_runs_refuses_only_its_own(
    tmp_path: Path, replaced_by: str
) -> None:
    async with running(tmp_path) as rig:
        await rig.remember(FIRST, group(777))
        await rig.remember("公司的门禁密码每周换", group(888))
        scopes = tmp_path / "memory" / "scopes"
        (scopes / "家人").rename(tmp_path / "moved")
        if replaced_by == "a file":
            (scopes / "家人").write_text("x", encoding="utf-8")
            assert os.strerror(errno.ENOTDIR) in await refusal(rig)
        else:
            (scopes / "家人").symlink_to(tmp_path / "moved", target_is_directory=True)
            for text in ("奶奶喜欢豆浆", FIRST):
                assert "link" in await refusal(rig, text)
        assert FIRST in await rig.texts("奶奶对什么过敏", group(777))
        await rig.remember("公司的年会在一月", group(888))
        standing = {notice.code for notice in (await rig.engine.status()).notices}
        assert "vault_unwritable" not in standing
        files_left = [path.name for path in (tmp_path / "moved").rglob("*") if path.is_file()]
        assert files_left == ["preferences.md"]


def test_what_was_written_before_the_name_became_durable_is_taken_back(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    tree.vault.ensure(FAMILY)
    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_folder", full)
        with pytest.raises(VaultWriteFailed):
            tree.vault.append(FAMILY, Topic.ENTITIES, memory(1))
    assert list(tree.folder().iterdir()) == []
