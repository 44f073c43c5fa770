"""A vault whose disk is full, forbidden, read-only or gone: said, and nothing is half-written."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft, NoticeCode, Rejected, RejectReason
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


class TestForbidden:
    """As a user whom it concerns."""

    DENIED = os.strerror(errno.EACCES)

    @pytest.mark.parametrize(
        ("what", "reported", "read"),
        [
            ("a file", {"entities.md": "unreadable"}, {"第2件事"}),
            ("a file for reading only", {}, {"第1件事", "第2件事"}),
            ("a folder in it", {"journal": "unreadable"}, {"第1件事"}),
            ("the scope's folder", {"": "unreadable"}, set()),
            ("reading", {}, {"第1件事", "第2件事"}),
            ("nothing any more", {}, {"第1件事", "第2件事"}),
        ],
    )
    def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(
        self, forbidden: dict[str, Any], what: str, reported: dict[str, str], read: set[str]
    ) -> None:
        found = forbidden[what]
        assert found["reported"] == reported
        assert {text for text in found["read"] if text in {"第1件事", "第2件事"}} == read
        assert found["others"] == ["第3件事"]

    @pytest.mark.parametrize("what", ["the scope's folder", "its names only"])
    def test_a_folder_that_cannot_be_entered_refuses_and_takes_no_entry_for_gone(
        self, forbidden: dict[str, Any], what: str
    ) -> None:
        found = forbidden[what]
        assert found["written"] == f"refused: entities.md: {self.DENIED}"
        assert found["new"] == f"refused: TASKS.md: {self.DENIED}"
        assert found["current"].startswith("refused: ")
        assert found["replaced"].startswith("refused: ")

    def test_a_folder_for_reading_only_takes_nothing_new(self, forbidden: dict[str, Any]) -> None:
        found = forbidden["reading"]
        assert found["written"] == "entities.md"
        assert found["new"] == f"refused: TASKS.md: {self.DENIED}"
        assert found["replaced"] == f"refused: entities.md: {self.DENIED}"
        assert forbidden["a file for reading only"]["written"].endswith(self.DENIED)

    def test_the_bot_writes_beside_a_file_that_it_may_not_read(
        self, forbidden: dict[str, Any]
    ) -> None:
        assert forbidden["a file"]["written"] == "entities-2.md"


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


class TestGone:
    """The folder under a vault that is open."""

    def refused(self, tree: Tree) -> list[str]:
        """What each way of writing is refused with."""
        stored = MarkdownVault(tree.root).append(FAMILY, Topic.TASKS, memory(9))
        told = []
        self.take_away(tree)
        for step in (
            lambda: tree.vault.append(FAMILY, Topic.ENTITIES, memory(2)),
            lambda: tree.vault.replace(stored, memory(9, "改了")),
            lambda: tree.vault.archive(stored, by=ADMIN, at=NOW),
            lambda: tree.vault.current(stored),
            lambda: tree.vault.ensure(FAMILY),
        ):
            with pytest.raises(VaultWriteFailed) as refusal:
                step()
            told.append(str(refusal.value))
        return told

    def take_away(self, tree: Tree) -> None:
        (tree.root / "scopes").rename(tree.root / "elsewhere")

    def test_it_is_not_made_anew_where_the_disk_was(self, tree: Tree) -> None:
        told = self.refused(tree)
        assert told == [f"scopes: {os.strerror(errno.ENOENT)}"] * 5
        assert [path.name for path in tree.root.iterdir()] == ["elsewhere"]

    def test_when_it_is_back_everything_goes_on(self, tree: Tree) -> None:
        self.refused(tree)
        (tree.root / "elsewhere").rename(tree.root / "scopes")
        tree.add(memory(3))
        assert tree.texts() == ["第3件事", "第9件事"]

    def test_an_empty_disk_in_its_place_is_not_written_to(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(self, "take_away", lambda _: self.swap(tree, monkeypatch))
        told = self.refused(tree)
        assert len(told) == 5
        assert all("empty disk" in text for text in told)
        assert list((tree.root / "scopes").iterdir()) == []

    def swap(self, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
        """A folder of the same name on another disk."""
        TestGone.take_away(self, tree)
        (tree.root / "scopes").mkdir()
        real = Path.stat

        def elsewhere(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
            status = real(path, follow_symlinks=follow_symlinks)
            if path != tree.root / "scopes":
                return status
            return os.stat_result((*status[:2], status.st_dev + 1, *status[3:10]))

        monkeypatch.setattr(Path, "stat", elsewhere)

    def test_a_disk_that_was_taken_out_and_put_in_again_is_the_same_to_us(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tree.add(memory(1))
        content = path.read_bytes()
        self.swap(tree, monkeypatch)
        tree.write("entities.md", content)
        tree.add(memory(2))
        assert tree.texts() == ["第1件事", "第2件事"]


async def refusal(rig: Rig, text: str = "奶奶喜欢豆浆") -> str:
    """Why the engine did not write."""
    outcome = await rig.engine.service.remember(
        MemoryDraft(text, actor=person(10001)), conversation_id=group(777)
    )
    assert isinstance(outcome, Rejected)
    assert outcome.reason is RejectReason.NOT_WRITTEN
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
        assert NoticeCode.VAULT_UNWRITABLE not in standing
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
