"""Which project a folder belongs to, and where the project's memories and the engine's files lie.

A project's store holds Markdown that may be committed. The index, the state and the lock belong to
the machine, so they lie in the home.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..composition.paths import EnginePaths
from ..errors import HomeError
from ..models.scope import MAX_SCOPE_LENGTH, may_be_given
from ..vault.folder_walk import is_link
from .places import is_folder

PROJECT_FOLDER: Final = ".scoped-memory"
_LOST: Final = re.compile(r"[^a-zA-Z0-9\u4e00-\u9fff_-]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A project.

    Attributes:
        name: A legal scope name, never that of the public scope.
        root: Its folder.
        own_store: True where its memories lie in the project itself, False where they lie in a
            scope of the home.
    """

    name: str
    root: Path
    own_store: bool


def find_project(start: Path, named: str = "") -> Project | None:
    """Find the project of ``start``.

    Args:
        start: The folder to look in first.
        named: The project's name if a person gave one. With a name, ``start`` is a project even if
            nothing marks it as one.

    Returns:
        None if there is neither a name nor a marked folder.

    Raises:
        HomeError: ``named`` is no legal name.
    """
    root = find_root(start)
    if named:
        check_name(named)
    elif root is None:
        return None
    where = root or start.resolve()
    return Project(named or name_of(where), where, root is not None and _has_store(root))


def find_root(start: Path) -> Path | None:
    """Returns the first folder upwards with a ``.scoped-memory`` folder, else the nearest one with
    ``.git``; neither the user's own folder, nor what lies above it, nor a disk's root."""
    start = start.resolve()
    repository = None
    for folder in (start, *start.parents):
        if folder == folder.parent or is_above_user(folder):
            break
        if _is_ours(folder / PROJECT_FOLDER, start):
            return folder
        if repository is None and os.path.lexists(folder / ".git"):
            repository = folder
    return repository


def is_above_user(folder: Path) -> bool:
    """Returns True for the user's own folder and those above it, which are no projects."""
    try:
        return Path.home().resolve().is_relative_to(folder)
    except RuntimeError:  # a system user without one
        return False


def name_of(root: Path) -> str:
    """Returns a legal name for a project's folder: its own name, or what a scope name can hold of
    it and a hash of the whole, so that two names never become one."""
    whole = unicodedata.normalize("NFC", root.name)
    if may_be_given(whole):
        return whole
    kept = _LOST.sub("-", whole).strip("-")
    mark = _short_hash(whole, 8)
    short = kept[: MAX_SCOPE_LENGTH - len(mark) - len("project--")].rstrip("-")
    name = f"{short}-{mark}" if short else f"project-{mark}"
    return (
        name if may_be_given(name) else f"project-{name}"
    )  # dm-… and group-… belong to the engine


def check_name(name: str) -> None:
    """Raises HomeError if ``name`` is no name for a project."""
    if not may_be_given(name):
        raise HomeError(
            f"项目名不合法：只能用汉字、字母、数字、- 和 _，最多 {MAX_SCOPE_LENGTH} 个字，不能是 "
            f"public：{name[:80]!r}",
            f"illegal project name {name[:80]!r}: it may hold Han characters, letters, digits, - "
            f"and _, at most {MAX_SCOPE_LENGTH} of them, and must not be public",
        )


def home_paths(home: Path) -> EnginePaths:
    """Returns where the home's own store lies."""
    return EnginePaths.under(home)


def project_paths(home: Path, project: Project) -> EnginePaths:
    """Returns where the store of a project with ``own_store`` lies: its Markdown in the project,
    the rest in the home, under a name that no other folder on this machine has."""
    root = project.root.resolve()
    mark = _short_hash(os.path.normcase(root), 16)
    return EnginePaths(
        home / "projects" / f"{project.name}-{mark}",
        root / PROJECT_FOLDER / "memory",
        owns_memory=False,
    )


def _has_store(root: Path) -> bool:
    memory = root / PROJECT_FOLDER / "memory"
    return is_folder(memory) and not is_link(memory)


def _is_ours(folder: Path, start: Path) -> bool:
    """A folder, and one that the user or the owner of ``start`` made: in a place that all may write
    to, such as /tmp, another user's folder must not take in the projects below it."""
    if is_link(folder) or not is_folder(folder):
        return False
    if os.name == "nt":
        return True
    try:
        return folder.stat().st_uid in (os.geteuid(), start.stat().st_uid)
    except OSError:
        return False


def _short_hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:digits]
