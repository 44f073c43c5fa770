"""What a ``workflow.toml`` says of a project's memory. A stranger's checkout may bring the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, TypeGuard

from ..texts import Said, at
from .scope import may_be_given, role_folder

WORKFLOW: Final = "workflow.toml"
WORKFLOW_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": ("root", "layout", "auto_inject_topk", "project"),
    "roles": ("enabled",),
}
"""Our tables, and what they may hold. Nothing else in the file is ours."""
TOPK: Final = 3
_MOST_TOPK, _MOST_ROLES, _MOST_WARNINGS, _LONGEST_ROLE = 20, 50, 20, 64
_PLAIN, _WITH_ROLES = "project-only", "project+roles"


@dataclass(frozen=True, slots=True)
class Workflow:
    """What a ``workflow.toml`` says; None where it does not. ``root`` is a real path. Without
    ``has_roles``, the layout ``project-only``, no role's folder is read or written. ``topk``: how
    many memories a prompt is given by itself, 0 to 20. ``project``: a name to show; it opens
    nothing. ``enabled`` roles: where it does not say, the folders below ``roles/`` count.
    ``warnings``: what was not taken, and what is done instead."""

    path: PurePath
    root: PurePath | None = None
    has_roles: bool = True
    topk: int | None = None
    project: str = ""
    enabled: tuple[str, ...] | None = None
    warnings: tuple[Said, ...] = ()


_RULES: Final[Mapping[str, tuple[Callable[[Any], bool], Any]]] = {
    "layout": (lambda value: value in (_PLAIN, _WITH_ROLES), _PLAIN),
    # True is an int in Python, and no number of memories.
    "auto_inject_topk": (lambda value: type(value) is int and 0 <= value <= _MOST_TOPK, TOPK),
    "project": (lambda value: isinstance(value, str) and may_be_given(value), ""),
    "enabled": (lambda value: isinstance(value, list), None),
}
"""What each value must be, and what is taken instead."""


def parse_workflow(path: PurePath, tables: Mapping[str, Any]) -> Workflow:
    """Returns what our ``tables`` of a file say, without the root: whether that can be used, the
    disk must tell."""
    values, wrong = dict[str, Any](), list[Said]()
    for table, content in tables.items():
        if not isinstance(content, dict):
            wrong.append(_wrong(f"[{table}]"))
            continue
        for key, value in content.items():
            fits, instead = _RULES.get(key, (None, None))
            if key not in WORKFLOW_KEYS[table]:
                wrong.append(Said("workflow.unknown", key=f"{key[:40]!r}"))
            elif fits is None or fits(value):
                values[key] = value
            else:
                values[key] = instead
                wrong.append(_wrong(key, instead))
    enabled = values.get("enabled")
    if enabled is not None:
        enabled, refused = _roles(enabled)
        wrong += [Said("workflow.role", role=role) for role in refused]
    return Workflow(
        path,
        has_roles=values.get("layout", _WITH_ROLES) == _WITH_ROLES,
        topk=values.get("auto_inject_topk"),
        project=values.get("project", ""),
        enabled=enabled,
        warnings=tuple(at(path, one) for one in wrong[:_MOST_WARNINGS]),
    )


def _wrong(key: str, instead: object = None) -> Said:
    return Said("workflow.wrong", key=key, used=instead or Said("workflow.unset"))


def _roles(listed: list[object]) -> tuple[tuple[str, ...], list[str]]:
    """Returns the names that roles can have, and the others as they are shown."""
    taken, refused = dict[str, str](), list[str]()
    for name in listed:
        # Some disks have one folder for names that differ in case.
        if is_role(name) and name.casefold() not in taken and len(taken) < _MOST_ROLES:
            taken[name.casefold()] = name
        else:
            refused.append(f"{str(name)[:40]!r}")
    return tuple(taken.values()), refused


def is_role(name: object) -> TypeGuard[str]:
    """Returns whether a role can be called so: its folder is, on every disk."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_ROLE:
        return False
    return name.isprintable() and role_folder(name) == name
