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
from ..models.notices import NoticeCode
from ..models.owner import StoreStatus
from ..models.said import Said
from ..models.status import IndexState
from ..models.workflow import Workflow
from .config import key_source
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, PARTLY, fail, say, say_json, say_value, shown, words
from .owner_levels import OwnerLevel, asked, stores_here
from .paths import plugin_version

_CLOSED: Final = Said("索引没有打开", "the index is not open")
_WITHOUT: Final = {
    IndexState.LEXICAL: Said("不用，只按词语", "none, words alone"),
    IndexState.OFF: Said("索引用不了", "the index cannot be used"),
}
_MEANT: Final[Mapping[str, Said]] = {
    NoticeCode.CONSTITUTION_CHANGED: Said("（上次看以后改过）", " (changed since you looked)"),
    NoticeCode.ROOT_READ: Said("（放在根文件夹里，当作笔记读）", " (in the root, read as notes)"),
    NoticeCode.ROOT_UNREAD: Said(
        "（没有读：放进 shared/ 或 scopes/<域>/）",
        " (not read: move to shared/ or scopes/<scope>/)",
    ),
}

type _Row = tuple[AgentStore, StoreStatus | str, int | None]
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
        say_json({
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
    here = f"{project.shown} ({project.root})" if project else Said("这里没有", "none here")
    say_value("家", "home", settings.home)
    say_value("项目", "project", shown(here) if isinstance(here, str) else here)
    if project and project.workflow:
        _tell_workflow(project.workflow, role_names(project.memory, project.workflow))
    for row in rows:
        _tell(*row)
    say_value("嵌入", "embedding", settings.embedding)
    if missing:
        say_value("  还缺", "  it lacks", missing)
    say_value("密钥", "key", key)
    return code


async def _row(store: AgentStore, one: OwnerLevel) -> _Row:
    try:
        found = await one.owner.status(conversation_id=one.level.conversation)
    except NoOwner as error:
        return store, str(error), await asyncio.to_thread(store.holder)
    except (ScopedMemoryError, OSError) as error:
        return store, str(error), None
    return store, found, None if found.pid == os.getpid() else found.pid


def _tell_workflow(workflow: Workflow, roles: Sequence[str]) -> None:
    """Say what a ``workflow.toml`` sets. What was not taken of it has been told by then."""
    say_value("  按", "  set by", shown(str(workflow.path)))
    if workflow.root:
        say_value("  记忆的根", "  memory root", shown(str(workflow.root)))
    say_value("  布局", "  layout", workflow.layout)
    if workflow.has_roles:
        say_value("  角色", "  roles", shown(", ".join(roles)) or Said("没有", "none"))


def _tell(store: AgentStore, found: StoreStatus | str, pid: int | None) -> None:
    name, memory = store.named, shown(str(store.paths.memory))
    say_value(f"{name.zh}的记忆", f"the {name.en}'s memory", memory)
    if pid is not None:
        say_value("  开着它的进程", "  open in process", pid)
    elif isinstance(found, StoreStatus):
        say("  没有程序开着它", "  no program has it open")
    if isinstance(found, str):
        fail(f"  看不到里面：{shown(found)}", f"  cannot be asked: {shown(found)}")
        return
    tell_counts(found)
    say_value("  未完成的任务", "  open tasks", found.tasks)
    if found.refused:
        say_value("  没有用上嵌入服务", "  the service is not used", found.refused)
    for one in found.warnings:
        about = shown(" ".join(filter(None, (one.subject, one.detail))))
        about += words(_MEANT.get(one.code, ""))
        say_value(f"  警告 {one.code}", f"  warning {one.code}", about)
    if found.warnings:
        say("  见 docs/troubleshooting.md", "  see docs/troubleshooting.md")


def tell_counts(found: StoreStatus) -> None:
    """Say what is in a store and in its indexes, a line each."""
    scopes = ", ".join(f"{scope} {count}" for scope, count in sorted(found.memories.items()))
    memories = f"{sum(found.memories.values())}" + (f" ({scopes})" if scopes else "")
    vectors = f"{found.vectors} ({shown(found.embedder)})"
    none = _WITHOUT.get(found.index, _CLOSED)
    say_value("  记忆", "  memories", memories)
    say_value("  笔记段数", "  pieces of notes", found.notes)
    say_value("  词语", "  words", _CLOSED if found.words is None else found.words)
    say_value("  向量", "  vectors", none if found.vectors is None else vectors)


def store_json(store: AgentStore, found: StoreStatus | None, **more: object) -> dict[str, object]:
    """Returns what scripts read of a store."""
    memory, data = store.paths.memory, store.paths.data
    counts = asdict(found) if found else {}
    counts.pop("pid", None)
    return {"level": store.level, "data": data, "memory": memory, **counts, **more}


def _as_json(store: AgentStore, found: StoreStatus | str, pid: int | None) -> dict[str, object]:
    if isinstance(found, str):
        return store_json(store, None, owner_pid=pid, fault=found)
    return store_json(store, found, owner_pid=pid, fault="")
