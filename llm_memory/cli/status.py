"""``status``: what is open, how much is in it, what serves recall, and what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from ..errors import NoOwner, ScopedMemoryError
from ..home.agent_stores import AgentStore, chosen_project, stores_of
from ..home.embedder_choice import missing_package
from ..home.workflow import role_names
from ..models.status import EngineStatus
from ..models.workflow import Workflow
from ..texts import Said
from .config import key_source
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, PARTLY, fail, say, show_json, words
from .owner_levels import OwnerLevel, asked, stores_here
from .paths import plugin_version

_CLOSED: Final = Said("state.index_closed")
_WITHOUT: Final = {
    "lexical": Said("state.words_alone"),
    "off": Said("state.index_off"),
}
_MEANT: Final[Mapping[str, Said]] = {
    "constitution_changed": Said("state.rules_changed"),
    "root_read": Said("state.root_read"),
    "root_unread": Said("state.root_unread"),
}

type _Row = tuple[AgentStore, EngineStatus | str, int | None]
"""A store; how it is doing, or why that cannot be told; the other process that has it open."""


def status(args: argparse.Namespace) -> int:
    """Print it. Raises HomeError."""
    loaded = read_settings(args)
    settings, folder = loaded.settings, project_folder(args)
    stores = {store.level: store for store in stores_of(loaded, folder)}

    async def work(levels: Sequence[OwnerLevel]) -> list[_Row]:
        return [
            await _row(stores["project" if one.level.own_store else "global"], one)
            for one in reversed(stores_here(levels))
        ]

    rows = asked(args, work)
    project, _ = chosen_project(loaded, folder)
    code = PARTLY if any(isinstance(found, str) for _, found, _ in rows) else DONE
    key, missing = key_source(settings), missing_package(settings)
    if wants_json(args):
        show_json({
            "code": code,
            "version": plugin_version().removeprefix("v"),
            "home": settings.home,
            "project": project and project.content(),
            "stores": [_as_json(*row) for row in rows],
            "embedding": settings.embedding,
            "missing": missing,
            "key": words(key),
        })  # fmt: skip
        return code
    here = f"{project.shown} ({project.root})" if project else Said("settings.no_project")
    say("settings.home", path=settings.home)
    say("settings.project", project=here)
    if project and project.workflow:
        _tell_workflow(project.workflow, role_names(project.memory, project.workflow))
    for row in rows:
        _tell(*row)
    say("state.embedding", embedding=settings.embedding)
    if missing:
        say("state.missing", missing=missing)
    say("settings.key", source=key)
    return code


async def _row(store: AgentStore, one: OwnerLevel) -> _Row:
    try:
        found = await one.owner.status(conversation_id=one.level.conversation)
    except (ScopedMemoryError, OSError) as error:
        pid = await asyncio.to_thread(store.holder) if isinstance(error, NoOwner) else None
        return store, str(error), pid
    pid = await asyncio.to_thread(store.holder)
    return store, found, None if pid == os.getpid() else pid


def _tell_workflow(workflow: Workflow, roles: Sequence[str]) -> None:
    """Say what a ``workflow.toml`` sets. What was not taken of it has been told by then."""
    say("state.set_by", path=workflow.path)
    if workflow.root:
        say("state.root", path=workflow.root)
    if workflow.has_roles:
        say("state.roles", roles=", ".join(roles) or Said("common.none"))


def _tell(store: AgentStore, found: EngineStatus | str, pid: int | None) -> None:
    say("state.memory", level=store.named, path=store.paths.memory)
    if pid is not None:
        say("state.process", pid=pid)
    elif isinstance(found, EngineStatus):
        say("state.closed")
    if isinstance(found, str):
        fail("state.silent", why=found)
        return
    tell_counts(found)
    for one in found.notices:
        about = " ".join(filter(None, (one.subject, *one.params.values())))
        say("state.warning", code=one.code, about=about, meant=_MEANT.get(one.code, ""))
    if found.notices:
        say("state.see")


def tell_counts(found: EngineStatus) -> None:
    """Say what is in a store and in its index of vectors, a line each."""
    scopes = ", ".join(f"{scope} {count}" for scope, count in sorted(found.by_scope.items()))
    memories = f"{found.total}" + (f" ({scopes})" if scopes else "")
    vectors = f"{found.vectors} ({found.embedder})"
    say(
        "state.counts",
        memories=memories,
        notes=sum(found.notes.values()),
        vectors=_WITHOUT.get(found.index, _CLOSED) if found.vectors is None else vectors,
    )


def store_json(store: AgentStore, found: EngineStatus | None, **more: object) -> dict[str, object]:
    """Returns what scripts read of a store."""
    memory, data = store.paths.memory, store.paths.data
    row: dict[str, object] = {"level": store.level, "data": data, "memory": memory, **more}
    if found:
        row |= {"memories": found.by_scope, "notes": sum(found.notes.values())}
        row |= {"vectors": found.vectors, "index": found.index, "embedder": found.embedder}
        row["warnings"] = list(map(asdict, found.notices))
    return row


def _as_json(store: AgentStore, found: EngineStatus | str, pid: int | None) -> dict[str, object]:
    if isinstance(found, str):
        return store_json(store, None, owner_pid=pid, fault=found)
    return store_json(store, found, owner_pid=pid, fault="")
