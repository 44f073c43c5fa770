"""``index``: brings the indexes of an agent's memory up to its files, or builds them anew."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from dataclasses import dataclass

from ..errors import DirectoryInUse, EngineOff
from ..home.agent_stores import AgentStore, holder, stores_of
from ..home.index_building import VECTORS, WORDS, Built, build_index
from ..home.memory_home import chosen_project, make_home
from ..home.settings import LoadedSettings
from ..models.said import Said
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, PARTLY, say, warn, words
from .paths import plugin_version
from .progress import ProgressLine
from .status import tell_counts

_PARTS = {WORDS: Said("词语", "words"), VECTORS: Said("向量", "vectors")}


@dataclass(frozen=True, slots=True)
class _Row:
    """A store, and what was built; None where another program has it open, ``pid`` if it says."""

    store: AgentStore
    built: Built | None
    pid: int | None = None

    @property
    def code(self) -> int:
        """The exit code for this store alone."""
        if self.built is None or self.built.words_fault:
            return FAILED
        return PARTLY if self.built.fault else DONE


def index(args: argparse.Namespace) -> int:
    """Build, and say what there is. Raises HomeError."""
    loaded = read_settings(args)
    folder = project_folder(args)
    warn((*loaded.warnings, *chosen_project(loaded, folder)[1]))
    make_home(loaded.settings.home)
    stores = stores_of(loaded, folder)

    async def all_built() -> list[_Row]:
        return [await _row(store, loaded, line, rebuild=args.rebuild) for store in stores]

    with ProgressLine(sys.stderr) as line:
        rows = asyncio.run(all_built())
    codes = {row.code for row in rows}
    code = codes.pop() if len(codes) == 1 else PARTLY
    if wants_json(args):
        content = {"code": code, "stores": [_as_json(row) for row in rows]}
        say(json.dumps(content, ensure_ascii=False, indent=2))
        return code
    for row in rows:
        _tell(row)
    return code


async def _row(
    store: AgentStore, loaded: LoadedSettings, line: ProgressLine, *, rebuild: bool
) -> _Row:
    def show(part: str, done: int, total: int) -> None:
        line.show(words(_PARTS[part].zh, _PARTS[part].en), done, total)

    try:
        built = await build_index(
            store.paths,
            loaded.settings,
            os.environ,
            plugin_version(),
            rebuild=rebuild,
            progress=show,
        )
    except (DirectoryInUse, EngineOff) as error:
        if isinstance(error, EngineOff) and error.code != "directory_in_use":
            raise
        return _Row(store, None, await asyncio.to_thread(holder, store.paths))
    return _Row(store, built)


def _tell(row: _Row) -> None:
    zh, en = row.store.named.zh, row.store.named.en
    built = row.built
    if built is None:
        who = Said("另一个程序", "another program")
        if row.pid is not None:
            who = Said(f"进程 {row.pid}", f"process {row.pid}")
        say(
            f"{zh}：{who.zh}正开着它，索引由它跟着更新；这里什么也没做",
            f"{en}: {who.en} has it open and keeps the index up by itself; nothing was done here",
        )
        return
    memory = row.store.paths.memory
    say(f"{zh}：{memory}", f"{en}: {memory}")
    tell_counts(built.status)
    if built.words_fault:
        fault = built.words_fault
        say(f"  词语没有建完：{fault}", f"  words are not complete: {fault}")
    if built.fault:
        left, fault = built.left, built.fault
        say(f"  {left} 条没有向量：{fault}", f"  {left} without a vector: {fault}")


def _as_json(row: _Row) -> dict[str, object]:
    about: dict[str, object] = {
        "level": row.store.level,
        "data": str(row.store.paths.data),
        "memory": str(row.store.paths.memory),
        "code": row.code,
    }
    if row.built is None:
        return {**about, "owner_pid": row.pid}
    status = row.built.status
    return {
        **about,
        "memories": dict(status.memories),
        "notes": status.notes,
        "words": status.words,
        "vectors": status.vectors,
        "embedder": status.embedder,
        "left": row.built.left,
        "words_fault": row.built.words_fault,
        "fault": row.built.fault,
    }
