"""Reads a project's ``workflow.toml``, and says which memory roots are none.

A stranger's checkout may bring the file: its root is used only once a person has agreed to it, and
some never are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..errors import HomeError
from ..models.said import Said
from ..models.shelf import ROLES_FOLDER
from ..models.workflow import WORKFLOW, WORKFLOW_KEYS, Workflow, at_line, is_role, parse_workflow
from ..storage.directory_lock import LOCK_NAME
from ..storage.files import is_link
from .places import PROJECT_FOLDER, expanded, is_above_user, is_folder
from .toml_file import parse_toml, read_text

_WINDOWS: Final = re.compile(r"[A-Za-z]:|//|.*\\", re.DOTALL)
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}(?=/|$)")


def is_workflow(path: Path) -> bool:
    """Returns whether there is such a file with a table of ours. Raises HomeError."""
    return bool(_tables(path, _text(path)))


def read_workflow(
    path: Path, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Workflow | None:
    """Returns what the file of an absolute ``path`` says; None where there is none, or it has
    neither ``[memory]`` nor ``[roles]``. Nothing is made.

    ``environ`` is for ``~`` and ``${VAR}`` in the root; None where the root is not looked at, as of
    a bot's, whose memory root is a setting of its own. The folder of the ``home`` can be no root.

    Raises HomeError where it is no TOML, or its root cannot be used on this machine, or at all.
    """
    text = _text(path)
    tables = _tables(path, text)
    if not tables:
        return None
    memory = tables.get("memory")
    root = None
    if environ is not None and isinstance(memory, dict) and "root" in memory:
        found = _root(memory["root"], path.parent, environ, home)
        if isinstance(found, Said):
            said = at_line(path, text, "memory", "root", found.zh, found.en)
            raise HomeError(said.zh, said.en)
        root = found
    return replace(parse_workflow(path, text, tables), root=root)


def role_names(memory: Path, workflow: Workflow | None) -> tuple[str, ...]:
    """Returns the roles of a memory root: those that are enabled, else those that have a folder."""
    if workflow is not None and not workflow.has_roles:
        return ()
    if workflow is not None and workflow.enabled is not None:
        return workflow.enabled
    try:
        folders = sorted((memory / ROLES_FOLDER).iterdir())
    except OSError:
        return ()
    return tuple(
        path.name
        for path in folders
        if is_role(path.name) and is_folder(path) and not is_link(path)
    )


def _text(path: Path) -> str:
    if is_link(path):
        raise HomeError(f"{path}: 是链接，不读", f"{path}: a link, not read")
    return read_text(path)


def _tables(path: Path, text: str) -> dict[str, Any]:
    """Returns what bears the names of our tables, if one is a table. Raises HomeError."""
    parsed = parse_toml(path, text)
    found = {name: value for name, value in parsed.items() if name in WORKFLOW_KEYS}
    return found if any(isinstance(value, dict) for value in found.values()) else {}


def _root(
    value: object, project: Path, environ: Mapping[str, str], home: Path | None
) -> Path | Said:
    """Returns the real path, or what is wrong with it."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or not text.isprintable():
        return Said("root 要写文件夹", "root has to name a folder")
    if "${" in text:
        found = _VARIABLE.match(text)
        stated = environ.get(found[1], "") if found else ""
        if not found or not Path(stated).is_absolute() or "\0" in stated:
            name = found[0] if found else "${VAR}"
            return Said(
                f"{name} 没有设，或不是绝对路径，或不在开头",
                f"{name} is not set, or no absolute path, or not at the beginning",
            )
        text = stated + text[found.end() :]
    if os.name != "nt" and _WINDOWS.match(text):
        return Said(
            "root 是 Windows 的路径，这台机器上不用，也没有建文件夹",
            "root is a Windows path, not used on this machine, and no folder was made",
        )
    root = Path(os.path.realpath(expanded(text, project, environ)))
    what = _unfit(root, project, home)
    return root if what is None else Said(f"root 不能是{what.zh}", f"root cannot be {what.en}")


def _unfit(root: Path, project: Path, home: Path | None) -> Said | None:
    """Returns what a memory root is that none can be."""
    if root == root.parent or is_above_user(root):
        return Said("用户自己的文件夹，或在它上面的", "the user's own folder, or one above it")
    own = root if home is None else Path(os.path.realpath(home))
    if home is not None and (root.is_relative_to(own) or own.is_relative_to(root)):
        return Said("记忆的家", "the home of the memory")
    of_a_bot = any(
        os.path.lexists(root / name) for name in ("cmd_config.json", "plugin_data", LOCK_NAME)
    )
    if of_a_bot or "plugin_data" in root.parts:
        return Said("机器人的数据", "the data of a bot")
    if ".git" in root.parts:
        return Said(" .git", ".git")
    marked = any(os.path.lexists(root / name) for name in (PROJECT_FOLDER, WORKFLOW))
    if marked and root != Path(os.path.realpath(project)):
        return Said("别的项目的文件夹", "the folder of another project")
    if os.path.lexists(root) and not is_folder(root):
        return Said("文件", "a file")
    return None
