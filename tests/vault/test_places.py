"""A place is a scope or a shelf with its folder. Whatever writes into one takes a scope or a role;
``shared/`` is the recorder's, and a person's shelf has no folder."""

from __future__ import annotations

import contextlib
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    ROOT_NOTES,
    SHARED,
    Place,
    Scope,
)
from astrbot_plugin_scoped_memory.llm_memory.models.vault_layout import MEMORY_PAGE
from astrbot_plugin_scoped_memory.llm_memory.vault.archive import VaultArchive
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.marked_page import rewrite
from astrbot_plugin_scoped_memory.llm_memory.vault.pages import PagesOnDisk
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_tree import VaultTree
from astrbot_plugin_scoped_memory.llm_memory.vault.vault_writer import VaultWriter

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 27, 14, 5, tzinfo=UTC)
MEMORY = Memory("m-01kam00000000000", "小明喜欢喝茶", NOW)
HOME, BACKEND, CAT = Scope.parse("家人"), Place.of_role("backend"), Place.of_role("猫é")
PERSON = Place.of_person("qq:1")
PLACES = [HOME, PUBLIC, BACKEND, CAT]
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


class Takers:
    """All that write into a place, over one tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = VaultTree(root, contextlib.nullcontext())
        self.tree.open()
        ledger = SqliteLedger(root.parent / "ledger.sqlite")
        ledger.open()
        self.ledger = ledger
        self.writer = VaultWriter(self.tree, ledger)
        self.archive = VaultArchive(self.tree, self.writer)
        self.pages = PagesOnDisk(root)

    def overview(self, place: Place) -> None:
        rewrite(self.pages, place, MEMORY_PAGE, lambda _: "- 茶\n", title="T", english=False)

    def page(self, place: Place) -> None:
        self.pages.write(place, "PRIMER.md", b"words\n", None)

    def former_page(self, place: Place) -> None:
        self.pages.keep(place, MEMORY_PAGE, b"before\n", most=2)

    def unnoted(self, place: Place) -> None:
        self.writer.append_unnoted(place, "archive/notes.md", MEMORY)

    def forgotten(self, place: Place) -> None:
        self.archive.keep_forgotten(place, "notes.md", MEMORY, by=Actor("", "小明"), at=NOW)

    def edited(self, place: Place) -> None:
        self.archive.keep_edited(place, "notes.md", MEMORY, by=Actor("", "小明"), at=NOW)


TAKERS: dict[Callable[[Takers, Place], None], str] = {
    Takers.overview: "MEMORY.md",
    Takers.page: "PRIMER.md",
    Takers.former_page: "archive/MEMORY.md",
    Takers.unnoted: "archive/notes.md",
    Takers.forgotten: "archive/notes.md",
    Takers.edited: "archive/notes.md",
}
"""What each writes, inside the place."""


@pytest.fixture
def takers(tmp_path: Path) -> Iterator[Takers]:
    made = Takers(tmp_path / "memory")
    yield made
    made.ledger.close()


def files(root: Path) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(path.relative_to(root).as_posix() for path in found)


@pytest.mark.parametrize("write", TAKERS, ids=lambda write: write.__name__)
def test_no_taker_writes_into_shared_or_the_root_or_for_a_person(
    takers: Takers, write: Callable[[Takers, Place], None]
) -> None:
    with pytest.raises(VaultWriteFailed, match="shared: only accepted decisions"):
        write(takers, SHARED)
    with pytest.raises(VaultWriteFailed, match="only people write there"):
        write(takers, ROOT_NOTES)
    with pytest.raises(ValueError, match="has no folder"):
        write(takers, PERSON)
    assert files(takers.root) == []
    assert not (takers.root / "shared").exists()


@needs_links
@pytest.mark.parametrize(
    ("write", "link"),
    [
        (write, link)
        for write, inside in TAKERS.items()
        for link in ("roles", "roles/backend", "roles/backend/archive", f"roles/backend/{inside}")
        if f"roles/backend/{inside}".startswith(link)
    ],
)
def test_nothing_is_written_through_a_link_on_the_way(
    takers: Takers, tmp_path: Path, write: Callable[[Takers, Place], None], link: str
) -> None:
    path, is_file = takers.root / link, link.endswith(".md")
    (tmp_path / "elsewhere" / "backend").mkdir(parents=True)
    (tmp_path / "elsewhere" / "x.md").write_text("others'\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(tmp_path / "elsewhere" / ("x.md" if is_file else ""))
    before = files(tmp_path / "elsewhere")
    with contextlib.suppress(VaultWriteFailed):
        write(takers, BACKEND)
    assert files(tmp_path / "elsewhere") == before == ["x.md"]
    assert (tmp_path / "elsewhere" / "x.md").read_text() == "others'\n"


@needs_links
def test_a_scopes_folder_that_the_owner_made_a_link_is_used(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "scopes").symlink_to(tmp_path / "disk")
    Takers(tmp_path / "memory").page(HOME)
    assert files(tmp_path / "disk") == ["家人/PRIMER.md"]


def test_a_folder_that_the_disk_spells_in_another_form_is_the_roles(takers: Takers) -> None:
    spelt = takers.root / "roles" / unicodedata.normalize("NFD", "猫é")
    spelt.mkdir(parents=True)
    takers.page(CAT)
    assert [path.name for path in spelt.iterdir()] == ["PRIMER.md"]
    assert len(list((takers.root / "roles").iterdir())) == 1


def test_a_role_whose_name_another_disk_would_fold_is_refused(
    takers: Takers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As such a disk answers: the folder exists, and is listed under the other name."""
    (takers.root / "roles" / "Backend").mkdir(parents=True)
    exists = Path.exists
    monkeypatch.setattr(
        Path, "exists", lambda path, **more: path.name == "backend" or exists(path, **more)
    )
    with pytest.raises(VaultWriteFailed, match="in case only"):
        takers.page(BACKEND)
    assert files(takers.root) == []


def test_what_goes_through_all_folders_sees_no_shelf(takers: Takers) -> None:
    for place in PLACES:
        takers.page(place)
    assert {scope for scope, _ in takers.tree.folders()} == {HOME, PUBLIC}
    assert takers.tree.place_of(takers.root / "roles" / "backend" / "PRIMER.md") is None
