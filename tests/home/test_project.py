"""Which project a folder belongs to, and that nothing of the engine's own lies in it."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError, InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.home.project import (
    Project,
    find_project,
    find_root,
    name_of,
    project_paths,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope

pytestmark = [pytest.mark.unit, pytest.mark.property]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "users" / "lin"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


def made(*folders: Path) -> Path:
    for folder in folders:
        folder.mkdir(parents=True)
    return folders[-1]


def test_the_marked_folder_upwards_is_the_project(user: Path) -> None:
    root = user / "code" / "shop"
    deep = made(root / ".scoped-memory", root / "lib" / ".git", root / "lib" / "src")
    assert find_project(deep) == Project("shop", root, own_store=False)
    made(root / ".scoped-memory" / "memory")
    assert find_project(deep) == Project("shop", root, own_store=True)
    assert find_project(deep, "店铺") == Project("店铺", root, own_store=True)


def test_else_the_nearest_repository_is(user: Path) -> None:
    root = user / "code" / "shop"
    deep = made(user / "code" / ".git", root / "src")
    (root / ".git").write_text("gitdir: elsewhere\n")  # a worktree
    assert find_project(deep) == Project("shop", root, own_store=False)


def test_nothing_at_or_above_the_users_folder_is_a_project(user: Path) -> None:
    made(user / ".scoped-memory" / "memory")
    made(user.parent / ".scoped-memory" / "memory")
    here = made(user / ".git", user / "notes")
    assert find_project(here) is None
    assert find_project(user) is None
    assert find_project(user.parent) is None
    assert find_project(here, "notes") == Project("notes", here, own_store=False)
    assert find_project(user, "me") == Project("me", user, own_store=False)


def test_a_link_is_no_mark_and_no_store(user: Path) -> None:
    theirs = made(user / "other" / "memory").parent
    root = made(user / "shop")
    (root / ".scoped-memory").symlink_to(theirs, target_is_directory=True)
    assert find_project(root) is None
    (root / ".scoped-memory").unlink()
    (root / ".scoped-memory").mkdir()
    (root / ".scoped-memory" / "memory").symlink_to(theirs / "memory", target_is_directory=True)
    assert find_project(root) == Project("shop", root, own_store=False)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="gives files away")
@pytest.mark.parametrize("mark", [".scoped-memory", "workflow.toml"])
def test_what_another_user_has_above_takes_in_no_project(user: Path, mark: str) -> None:
    root = made(user / "open" / "shop")
    if mark == "workflow.toml":
        (user / "open" / mark).write_text("[memory]\n", "utf-8")
    else:
        made(user / "open" / mark)
    assert find_root(root) == user / "open"
    os.chown(user / "open" / mark, 12345, 12345)
    assert find_root(root) is None


def test_a_workflow_of_ours_marks_a_project_before_a_repository_does(user: Path) -> None:
    deep = made(user / "team" / "shop" / ".git", user / "team" / "shop" / "src")
    (user / "team" / "workflow.toml").write_text("[jobs]\n", "utf-8")
    assert find_root(deep) == user / "team" / "shop"
    (user / "team" / "workflow.toml").write_text("[roles]\n", "utf-8")
    assert find_root(deep) == user / "team"
    made(user / "team" / "shop" / ".scoped-memory")
    assert find_root(deep) == user / "team" / "shop"


def test_the_data_folder_is_that_of_the_memory_root_whoever_names_it(user: Path) -> None:
    home = user / "home"
    memory = made(user / "shop" / ".scoped-memory" / "memory")
    own, team = find_project(user / "shop"), made(user / "team")
    assert own is not None
    new = project_paths(home, own)
    assert new.memory == memory
    assert new.data.name.startswith("root-")
    (team / "workflow.toml").write_text("[memory]\nroot = '../shop/.scoped-memory/memory'\n")
    other = find_project(team)
    assert other is not None
    assert project_paths(home, other) == new
    # What an earlier version made stays in use, under whatever name the project has now.
    mark = sha256(os.path.normcase(user / "shop").encode()).hexdigest()[:16]
    former = made(home / "projects" / f"shop-{mark}")
    renamed = find_project(user / "shop", "laden")
    assert renamed is not None
    assert {project_paths(home, one).data for one in (own, other, renamed)} == {former}


def test_an_illegal_name_is_an_error(user: Path) -> None:
    for name in ("a b", "..", "public", "quarantine", "dm-1", "con"):
        with pytest.raises(HomeError, match="illegal project name"):
            find_project(user, name)


names = st.one_of(
    st.text(min_size=1, max_size=120),
    st.text("aA猫 .-_é", min_size=1, max_size=90),
    st.sampled_from(["public", "Public", "dm-x", "group-1", "con", "...", "-", "a b", "a.b", "ab"]),
)


def folder_named(name: str) -> Path:
    return Path("/", name.replace("/", "∕").replace("\0", "␀"))


@given(names)
def test_every_folder_has_a_legal_name_that_is_not_public(name: str) -> None:
    folder = folder_named(name)
    found = name_of(folder)
    assert not Scope.parse(found).is_public
    assert name_of(folder) == found
    try:
        legal = not Scope.parse(folder.name).is_public
    except InvalidScope:
        legal = False
    assert (found == folder.name) is legal


@given(names, names)
def test_two_folder_names_never_become_one(one: str, other: str) -> None:
    first, second = folder_named(one), folder_named(other)
    same = normalize("NFC", first.name) == normalize("NFC", second.name)
    assert (name_of(first) == name_of(second)) is same
