"""Which memory root a project's ``workflow.toml`` names, and which roots are none.

A stranger's checkout may bring the file: its root is used only once a person has agreed to it, and
some never are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from ..errors import HomeError
from ..models.scope import ROLES_FOLDER
from ..models.workflow import WORKFLOW, Workflow, is_role, parse_workflow
from ..storage.directory_lock import LOCK_NAME
from ..storage.files import is_link
from ..storage.toml_file import read_tables
from ..texts import Said, at
from .places import PROJECT_FOLDER, expanded, is_above_user, is_folder

_WINDOWS: Final = re.compile(r"[A-Za-z]:|//|.*\\", re.DOTALL)
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}(?=/|$)")


def is_workflow(path: Path) -> bool:
    """Returns whether there is such a file with a table of ours. Raises HomeError."""
    return bool(read_tables(path))


def project_workflow(
    path: Path, environ: Mapping[str, str], home: Path | None = None
) -> Workflow | None:
    """Returns what the file of an absolute ``path`` says, with the root that it names; None as
    ``read_workflow`` does. Nothing is made. ``environ`` is for ``~`` and ``${VAR}`` in the root;
    the folder of the ``home`` can be none.

    Raises HomeError where it is no TOML, or its root cannot be used on this machine, or at all.
    """
    tables = read_tables(path)
    if not tables:
        return None
    found = parse_workflow(path, tables)
    memory = tables.get("memory")
    if not isinstance(memory, dict) or "root" not in memory:
        return found
    root = _root(memory["root"], path.parent, environ, home)
    if isinstance(root, Said):
        raise HomeError(at(path, root))
    return replace(found, root=root)


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


def _root(
    value: object, project: Path, environ: Mapping[str, str], home: Path | None
) -> Path | Said:
    """Returns the real path, or what is wrong with it."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or not text.isprintable():
        return Said("root.empty")
    if "${" in text:
        found = _VARIABLE.match(text)
        stated = environ.get(found[1], "") if found else ""
        if not found or not Path(stated).is_absolute() or "\0" in stated:
            return Said("root.variable", name=found[0] if found else "${VAR}")
        text = stated + text[found.end() :]
    if os.name != "nt" and _WINDOWS.match(text):
        return Said("root.windows")
    root = Path(os.path.realpath(expanded(text, project, environ)))
    return _unfit(root, project, home) or root


def _unfit(root: Path, project: Path, home: Path | None) -> Said | None:
    """Returns why a folder can be no memory root, None if it can."""
    if root == root.parent or is_above_user(root):
        return Said("root.user")
    own = root if home is None else Path(os.path.realpath(home))
    if home is not None and (root.is_relative_to(own) or own.is_relative_to(root)):
        return Said("root.home")
    of_a_bot = any(
        os.path.lexists(root / name) for name in ("cmd_config.json", "plugin_data", LOCK_NAME)
    )
    if of_a_bot or "plugin_data" in root.parts:
        return Said("root.bot")
    if ".git" in root.parts:
        return Said("root.git")
    marked = any(os.path.lexists(root / name) for name in (PROJECT_FOLDER, WORKFLOW))
    if marked and root != Path(os.path.realpath(project)):
        return Said("root.project")
    if os.path.lexists(root) and not is_folder(root):
        return Said("root.file")
    return None
