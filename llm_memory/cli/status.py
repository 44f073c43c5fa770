"""``status``: what is open, how much is in it, what serves recall, and what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from ..errors import NoOwner, ScopedMemoryError
from ..home.agent_stores import AgentStore, holder, stores_of
from ..home.embedder_choice import missing_package
from ..home.memory_home import chosen_project
from ..models.owner import StoreStatus
from ..models.said import Said
from ..models.status import IndexState
from .config import key_source
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, PARTLY, fail, say, shown, words
from .owner_levels import OwnerLevel, asked, stores_here
from .paths import plugin_version

_CLOSED: Final = Said("索引没有打开", "the index is not open")
_WITHOUT: Final = {
    IndexState.LEXICAL: Said("不用，只按词语", "none, words alone"),
    IndexState.OFF: Said("索引用不了", "the index cannot be used"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    """A store, and how it is doing; ``fault`` says why that cannot be told. ``pid`` has it open,
    None where it is this command."""

    store: AgentStore
    status: StoreStatus | None
    fault: str = ""
    pid: int | None = None


def status(args: argparse.Namespace) -> int:
    """Print it. Raises HomeError."""
    loaded = read_settings(args)
    settings, folder = loaded.settings, project_folder(args)
    stores = {store.level: store for store in stores_of(loaded, folder)}

    async def work(levels: Sequence[OwnerLevel]) -> list[_Row]:
        asked_at = sorted(stores_here(levels), key=lambda one: one.level.own_store)
        return [
            await _row(stores["project" if one.level.own_store else "global"], one)
            for one in asked_at
        ]

    rows = asked(args, work)
    project, _ = chosen_project(loaded, folder)
    code = PARTLY if any(row.status is None for row in rows) else DONE
    key, missing = key_source(settings), missing_package(settings)
    if wants_json(args):
        content = {
            "code": code,
            "version": plugin_version().removeprefix("v"),
            "home": settings.home,
            "project": project and asdict(project),
            "stores": [_as_json(row) for row in rows],
            "embedding": settings.embedding,
            "missing": missing,
            "key": words(key.zh, key.en),
        }
        say(json.dumps(content, ensure_ascii=False, indent=2, default=str))
        return code
    say(f"家：{settings.home}", f"home: {settings.home}")
    here = shown(f"{project.name} ({project.root})") if project else words("这里没有", "none here")
    say(f"项目：{here}", f"project: {here}")
    for row in rows:
        _tell(row)
    say(f"嵌入：{settings.embedding}", f"embedding: {settings.embedding}")
    if missing:
        say(f"  还缺：{missing}", f"  it lacks: {missing}")
    say(f"密钥：{key.zh}", f"key: {key.en}")
    return code


async def _row(store: AgentStore, one: OwnerLevel) -> _Row:
    try:
        found = await one.owner.status(conversation_id=one.level.conversation)
    except NoOwner as error:
        return _Row(store, None, str(error), await asyncio.to_thread(holder, store.paths))
    except (ScopedMemoryError, OSError) as error:
        return _Row(store, None, str(error))
    return _Row(store, found, pid=None if found.pid == os.getpid() else found.pid)


def _tell(row: _Row) -> None:
    named, memory = row.store.named, shown(str(row.store.paths.memory))
    say(f"{named.zh}的记忆：{memory}", f"the {named.en}'s memory: {memory}")
    if row.pid is not None:
        say(f"  开着它的：进程 {row.pid}", f"  open in: process {row.pid}")
    elif row.status is not None:
        say("  没有程序开着它", "  no program has it open")
    if row.status is None:
        fail(f"  看不到里面：{shown(row.fault)}", f"  cannot be asked: {shown(row.fault)}")
        return
    found = row.status
    tell_counts(found)
    say(f"  未完成的任务：{found.tasks}", f"  open tasks: {found.tasks}")
    if found.refused:
        say(f"  没有用上嵌入服务：{found.refused}", f"  the service is not used: {found.refused}")
    for one in found.warnings:
        about = shown(" ".join(filter(None, (one.subject, one.detail))))
        say(f"  警告 {one.code}：{about}", f"  warning {one.code}: {about}")
    if found.warnings:
        say("  见 docs/troubleshooting.md", "  see docs/troubleshooting.md")


def tell_counts(found: StoreStatus) -> None:
    """Say what is in a store and in its indexes, a line each."""
    scopes = ", ".join(f"{scope} {count}" for scope, count in sorted(found.memories.items()))
    none = _WITHOUT.get(found.index, _CLOSED)
    vectors = f"{found.vectors} ({shown(found.embedder)})"
    for zh, en, value in (
        (
            "记忆",
            "memories",
            f"{sum(found.memories.values())}" + (f" ({scopes})" if scopes else ""),
        ),
        ("笔记段数", "pieces of notes", found.notes),
        ("词语", "words", words(_CLOSED.zh, _CLOSED.en) if found.words is None else found.words),
        ("向量", "vectors", words(none.zh, none.en) if found.vectors is None else vectors),
    ):
        say(f"  {zh}：{value}", f"  {en}: {value}")


def _as_json(row: _Row) -> dict[str, object]:
    about: dict[str, object] = {
        "level": row.store.level,
        "memory": str(row.store.paths.memory),
        "owner_pid": row.pid,
        "fault": row.fault,
    }
    if row.status is not None:
        about |= {key: value for key, value in asdict(row.status).items() if key != "pid"}
    return about
