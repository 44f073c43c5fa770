"""Which project a folder belongs to, and where the project's memories and the engine's files lie.

A project's store holds Markdown that may be committed. The index, the state and the lock belong to
the machine, so they lie in the home.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ..errors import HomeError
from ..models.scope import MAX_SCOPE_LENGTH, may_be_given
from ..models.workflow import WORKFLOW, Workflow
from ..service.paths import EnginePaths
from ..storage.files import is_link
from .places import PROJECT_FOLDER, is_above_user, is_folder
from .workflow import is_workflow, project_workflow

_LOST: Final = re.compile(r"[^a-zA-Z0-9\u4e00-\u9fff_-]+")


@dataclass(frozen=True, slots=True)
class Project:
    """A project.

    Attributes:
        name: A legal scope name, never that of the public scope.
        root: Its folder.
        own_store: True where its memories lie in a memory root of its own, False where they lie in
            a scope of the home.
        workflow: What its ``workflow.toml`` says, None without one.
        title: A name to show in the place of ``name``, empty for none. It opens nothing.
    """

    name: str
    root: Path
    own_store: bool
    workflow: Workflow | None = None
    title: str = ""

    @property
    def shown(self) -> str:
        """What people and agents read: its title, else its name."""
        return self.title or self.name

    @property
    def stated_root(self) -> Path | None:
        """The memory root that its ``workflow.toml`` names."""
        root = self.workflow.root if self.workflow else None
        return None if root is None else Path(root)

    @property
    def memory(self) -> Path:
        """The real path of the memory root of its own, whether or not it has one."""
        return self.stated_root or Path(os.path.realpath(self.root / PROJECT_FOLDER / "memory"))

    @property
    def is_memory_inside(self) -> bool:
        """True where the memory root lies in the project's folder, whatever links lead to it."""
        return self.memory.is_relative_to(os.path.realpath(self.root))

    @property
    def agreement(self) -> tuple[Path, Path | None]:
        """What its user agrees to: arguments of ``is_trusted`` and ``trust_root``."""
        if self.workflow is None or self.stated_root is None:
            return self.root, None
        return self.stated_root, Path(self.workflow.path)

    def content(self) -> dict[str, object]:
        """Returns it for JSON; its paths are to be made text."""
        content = {"name": self.name, "root": self.root, "own_store": self.own_store}
        if self.workflow is None:
            return content
        warnings = [{"zh": one.text("zh"), "en": one.text("en")} for one in self.workflow.warnings]
        return content | {"workflow": {**asdict(self.workflow), "warnings": warnings}}


def find_project(
    start: Path, named: str = "", environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Project | None:
    """Returns the project of the folder ``start``, which is one by itself if a person ``named`` it;
    None if there is neither a name nor a marked folder. ``environ`` is for the paths in its
    ``workflow.toml``, and the folder of the ``home`` can be no project's memory root.

    Raises HomeError where ``named`` is no legal name, or its ``workflow.toml`` cannot be used.
    """
    root = find_root(start)
    if named:
        check_name(named)
    elif root is None:
        return None
    where = root or start.resolve()
    workflow = project_workflow(where / WORKFLOW, environ, home) if root else None
    title = workflow.project if workflow and not named else ""
    stored = bool(workflow and workflow.root) or (root is not None and _has_store(where))
    return Project(named or name_of(where), where, stored, workflow, title)


def find_root(start: Path) -> Path | None:
    """Returns the first folder upwards with a ``.scoped-memory`` folder or a ``workflow.toml`` of
    ours, else the nearest one with ``.git``; neither the user's own folder, nor what lies above it,
    nor a disk's root. Raises HomeError for a ``workflow.toml`` that cannot be read."""
    start = start.resolve()
    repository = None
    for folder in (start, *start.parents):
        if folder == folder.parent or is_above_user(folder):
            break
        mark, workflow = folder / PROJECT_FOLDER, folder / WORKFLOW
        if is_folder(mark) and not is_link(mark) and _is_owned(mark, start):
            return folder
        if os.path.lexists(workflow) and _is_owned(workflow, start) and is_workflow(workflow):
            return folder
        if repository is None and os.path.lexists(folder / ".git"):
            repository = folder
    return repository


def name_of(root: Path) -> str:
    """Returns a legal name for a project's folder: its own name, or what a scope name can hold of
    it and a hash of the whole, so that two names never become one."""
    whole = unicodedata.normalize("NFC", root.name)
    if may_be_given(whole):
        return whole
    kept = _LOST.sub("-", whole).strip("-")
    mark = short_hash(whole, 8)
    short = kept[: MAX_SCOPE_LENGTH - len(mark) - len("project--")].rstrip("-")
    name = f"{short}-{mark}" if short else f"project-{mark}"
    return (
        name if may_be_given(name) else f"project-{name}"
    )  # dm-… and group-… belong to the engine


def check_name(name: str) -> None:
    """Raises HomeError if ``name`` is no name for a project."""
    if not may_be_given(name):
        raise HomeError("home.illegal_name", name=f"{name[:80]!r}", most=MAX_SCOPE_LENGTH)


def project_paths(home: Path, project: Project) -> EnginePaths:
    """Returns where the store of a project with ``own_store`` lies: its Markdown in the memory
    root, the rest in the home, under a name that is the memory root's alone. So all projects that
    share one have one data folder, and one owner."""
    memory = project.memory
    name = f"root-{short_hash(os.path.normcase(memory), 16)}"
    if memory.parts[-2:] == (PROJECT_FOLDER, "memory"):
        # The name that earlier versions gave, by the folder of the project.
        mark = short_hash(os.path.normcase(memory.parent.parent), 16)
        former = sorted(path.name for path in (home / "projects").glob(f"*-{mark}"))
        mine = f"{project.name}-{mark}"
        name = mine if mine in former else next(iter(former), name)
    return EnginePaths(home / "projects" / name, memory, owns_memory=False)


def _has_store(root: Path) -> bool:
    memory = root / PROJECT_FOLDER / "memory"
    return is_folder(memory) and not (is_link(memory) or is_link(memory.parent))


def _is_owned(path: Path, start: Path) -> bool:
    """What the user or the owner of ``start`` made: in a place that all may write to, such as /tmp,
    another user's must not take in the projects below it."""
    if os.name == "nt":
        return True
    try:
        return path.lstat().st_uid in (os.geteuid(), start.stat().st_uid)
    except OSError:
        return False


def short_hash(text: str, digits: int) -> str:
    """Returns the first hexadecimal digits of a text's hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:digits]
