"""``index``: brings the indexes of an agent's memory up to its files, or builds them anew."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from dataclasses import dataclass
from functools import partial

from ..composition.paths import EnginePaths
from ..errors import DirectoryInUse, EngineOff
from ..home.agent_stores import AgentStore, stores_of
from ..home.index_building import VECTORS, WORDS, IndexCounts, build_index
from ..home.memory_home import chosen_project, make_home
from ..home.settings import LoadedSettings
from ..storage.directory_lock import LOCK_NAME
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, PARTLY, say, warn
from .paths import plugin_version
from .progress import ProgressLine

_PARTS = {WORDS: "词语 / words", VECTORS: "向量 / vectors"}
_LEVELS = {"global": "家 / home", "project": "项目 / project"}


@dataclass(frozen=True, slots=True)
class _Held:
    """Another program has the store open. ``pid`` is None where it does not say."""

    pid: int | None


@dataclass(frozen=True, slots=True)
class _Row:
    store: AgentStore
    found: IndexCounts | _Held

    @property
    def code(self) -> int:
        """The exit code for this store alone."""
        if isinstance(self.found, _Held) or self.found.words_fault:
            return FAILED
        return PARTLY if self.found.fault else DONE


def index(args: argparse.Namespace) -> int:
    """Build, and say what there is. Raises HomeError."""
    loaded = read_settings(args)
    folder = project_folder(args)
    warn((*loaded.warnings, *chosen_project(loaded, folder)[1]))
    make_home(loaded.settings.home)
    stores = stores_of(loaded, folder)
    with ProgressLine(sys.stderr) as line:
        rows = asyncio.run(_all_built(stores, loaded, line, rebuild=args.rebuild))
    codes = {row.code for row in rows}
    code = codes.pop() if len(codes) == 1 else PARTLY
    if wants_json(args):
        content = {"code": code, "stores": [_as_json(row) for row in rows]}
        say(json.dumps(content, ensure_ascii=False, indent=2))
        return code
    for row in rows:
        for text in _row_lines(row):
            say(text)
    return code


async def _all_built(
    stores: tuple[AgentStore, ...], loaded: LoadedSettings, line: ProgressLine, *, rebuild: bool
) -> list[_Row]:
    return [_Row(store, await _built(store, loaded, line, rebuild=rebuild)) for store in stores]


async def _built(
    store: AgentStore, loaded: LoadedSettings, line: ProgressLine, *, rebuild: bool
) -> IndexCounts | _Held:
    try:
        return await build_index(
            store.paths,
            loaded.settings,
            os.environ,
            plugin_version(),
            rebuild=rebuild,
            progress=partial(_shown, line),
        )
    except DirectoryInUse:
        return _Held(await asyncio.to_thread(_owner, store.paths))
    except EngineOff as error:
        if error.code != "directory_in_use":
            raise
        return _Held(await asyncio.to_thread(_owner, store.paths))


def _shown(line: ProgressLine, part: str, done: int, total: int) -> None:
    line.show(_PARTS[part], done, total)


def _owner(paths: EnginePaths) -> int | None:
    """Returns the process that has the store open. Blocks."""
    for folder in paths.owned:
        try:
            signed = (folder / LOCK_NAME).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if found := re.match(r"pid ([0-9]{1,10})\b", signed):
            return int(found[1])
    return None


def _row_lines(row: _Row) -> list[str]:
    name, found = _LEVELS[row.store.level], row.found
    if isinstance(found, _Held):
        who = "另一个程序 / another program" if found.pid is None else f"进程 / process {found.pid}"
        return [
            f"{name}: {who} 正开着它，索引由它跟着更新；这里什么也没做 / has it open and keeps the "
            "index up by itself; nothing was done here"
        ]
    scopes = ", ".join(f"{scope} {count}" for scope, count in sorted(found.memories.items()))
    total = sum(found.memories.values())
    lines = [
        f"{name}: {row.store.paths.memory}",
        f"  记忆 / memories: {total}" + (f" ({scopes})" if scopes else ""),
        f"  笔记 / pieces of notes: {found.notes}",
        f"  词语 / words: {found.words}",
    ]
    if found.words_fault:
        lines.append(f"  词语没有建完 / words are not complete: {found.words_fault}")
    if found.vectors is not None:
        lines.append(f"  向量 / vectors: {found.vectors} ({found.embedder})")
    elif not found.fault:
        lines.append("  向量 / vectors: 不用，只按词语 / none, words alone")
    if found.fault:
        lines.append(f"  {found.left} 条没有向量 / without a vector: {found.fault}")
    return lines


def _as_json(row: _Row) -> dict[str, object]:
    found = row.found
    about: dict[str, object] = {
        "level": row.store.level,
        "data": str(row.store.paths.data),
        "memory": str(row.store.paths.memory),
        "code": row.code,
    }
    if isinstance(found, _Held):
        return {**about, "owner_pid": found.pid}
    return {
        **about,
        "memories": dict(found.memories),
        "notes": found.notes,
        "words": found.words,
        "vectors": found.vectors,
        "embedder": found.embedder,
        "left": found.left,
        "words_fault": found.words_fault,
        "fault": found.fault,
    }
