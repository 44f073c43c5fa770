"""A soul's files are plain files in plain folders below the memory root, or are not touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulChanged,
    SoulRequest,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.soul_files import SoulFiles, is_role
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, RULED, SEED, Souls

pytestmark = pytest.mark.unit

FOLDERS = ["roles", f"roles/{CAT}", "soul", f"soul/{CAT}", f"soul/{CAT}/versions"]


@pytest.mark.parametrize("folder", FOLDERS)
async def test_nothing_is_written_through_a_folder_that_is_a_link(
    tmp_path: Path, folder: str
) -> None:
    souls = Souls(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = souls.root / folder
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere, target_is_directory=True)
    outcome = await souls.gov.settle(CAT)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "not_written"
    assert outcome.detail == f"{folder}: a link"
    assert list(elsewhere.iterdir()) == []
    souls.state.close()


@pytest.mark.parametrize("made", [Path.symlink_to, Path.hardlink_to])
async def test_a_soul_page_with_another_name_is_never_written_nor_read(
    tmp_path: Path, made: object
) -> None:
    souls = Souls(tmp_path)
    number = await souls.applied(RULED)
    other = tmp_path / "other.md"
    other.write_text("别人的", "utf-8")
    souls.page().unlink()
    made(souls.page(), other)  # type: ignore[operator]
    souls.restart()
    view = await souls.view()
    assert (view.by_hand, view.text) == (True, RULED)
    for outcome in (
        await souls.gov.adopt(CAT, ADMIN, souls.judge),
        await souls.gov.discard(CAT, ADMIN),
    ):
        assert isinstance(outcome, Refused)
        assert outcome.reason == "page_shut"
    assert isinstance(await souls.gov.veto(CAT, number, ADMIN), SoulChanged)
    assert souls.gov.in_force(CAT) == SEED.decode()
    assert other.read_text("utf-8") == "别人的"
    found = await souls.gov.read(SoulRequest("verify"), CAT, ADMIN)
    assert isinstance(found, SoulVerified)
    assert (found.line, found.why) == (0, "SOUL.md")
    souls.state.close()


@pytest.mark.parametrize("name", ["chain.jsonl", "versions/0002.md", "proposals/0001.md"])
async def test_a_file_of_ours_that_is_a_link_is_read_no_more(tmp_path: Path, name: str) -> None:
    souls = Souls(tmp_path)
    await souls.applied(RULED)
    path, other = souls.folder() / name, tmp_path / "other"
    path.rename(other)
    path.symlink_to(other)
    before = other.read_bytes()
    outcome = await souls.gov.rollback(CAT, 0, ADMIN)
    changed = isinstance(outcome, SoulChanged)
    assert changed is name.startswith("proposals")
    found = await souls.gov.read(SoulRequest("verify"), CAT, ADMIN)
    assert not isinstance(found, SoulVerified) or found.line
    assert other.read_bytes() == before
    souls.state.close()


def test_a_page_too_large_to_be_ours_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "roles" / CAT / "SOUL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(VaultWriteFailed, match="larger than 1 MB"):
        SoulFiles(tmp_path).page(CAT)


def test_roles_are_those_with_a_soul_and_a_page_alone_is_a_note(tmp_path: Path) -> None:
    for folder in ("roles/a", "roles/b", "soul/c", "soul/%none", "soul/%zz", "roles/con"):
        (tmp_path / folder).mkdir(parents=True)
    for page in ("roles/a/SOUL.md", "roles/con/SOUL.md"):
        (tmp_path / page).write_text("x", "utf-8")
    (tmp_path / "soul" / "d").symlink_to(tmp_path / "roles" / "a", target_is_directory=True)
    (tmp_path / "soul" / "e").write_text("no folder", "utf-8")
    assert SoulFiles(tmp_path).roles() == ["%none", "c"]
    assert [is_role(name) for name in ("猫娘", "%2F", "%none", "..", "a/b")] == [
        True,
        True,
        True,
        False,
        False,
    ]
