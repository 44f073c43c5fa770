"""``recall --hook``: what a coding agent's program runs before each prompt, so that the memories
that bear on it stand in the context. It blocks no prompt: it ends in time, and always with 0.

A person waits for it, so it imports little: where an owner answers, neither engine nor pydantic. It
reads what the MCP server of the same folder would read, and makes no store.
"""

from __future__ import annotations

import heapq
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, cast

from ..errors import EngineOff
from ..home.memory_home import home_of
from ..home.places import is_folder
from ..home.settings import HomeSettings, load_settings
from ..mcp_server.hit_lines import DATA_HEAD, fit, search_line
from ..mcp_server.levels import Level, levels_of
from ..models.recall import Hit
from ..service.paths import EnginePaths
from ..sharing.quick_recall import QuickRecall
from ..storage.directory_lock import is_free

SECONDS: Final = 1.7
"""For all, whatever it waits for: two seconds with the start of the program."""
_MOST_BYTES: Final = 1024 * 1024
_LONGEST_QUERY: Final = 2_000
_HEAD: Final = DATA_HEAD.replace(":", " (in full: scoped-memory read POINTER):")

type _Found = list[tuple[Hit, Level]]


class _Store:
    """In the place of a store: where it lies."""

    def __init__(self, paths: EnginePaths) -> None:
        self.memory, self.paths = self, paths

    def can_be_opened(self) -> bool:
        """Returns whether it was opened before, and nobody has it open now."""
        was_open = (self.paths.state / "state.sqlite").is_file()
        return was_open and is_folder(self.paths.memory) and is_free(self.paths.data)


def hook(unused: Sequence[str]) -> int:
    """Read the client's JSON from stdin, and print what bears on its prompt. Returns 0."""
    # No import, thread or loop that hangs outlives this. A store is whole, as after any death.
    late = threading.Timer(SECONDS, os._exit, (0,))
    late.daemon = True
    late.start()
    wrong = [f"not used: {' '.join(unused)}"] if unused else []
    try:
        if (asked := _asked(sys.stdin.buffer.read(_MOST_BYTES + 1))) is not None:
            _answer(*asked)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (other codes stop the prompt)
        wrong.append(str(error) or type(error).__name__)
    finally:
        late.cancel()
    sys.stderr.writelines(f"recall --hook: {line}\n" for line in wrong)
    return 0


def _asked(raw: bytes) -> tuple[str, Path, bool] | None:
    """Returns the prompt, the folder, and whether the client takes JSON alone; None for what is no
    prompt."""
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    match content:
        case {"prompt": str(prompt)} if prompt.strip():
            folder = content.get("cwd") or Path.cwd()
            takes_json = content.get("hook_event_name") == "BeforeAgent"  # Gemini CLI's
            query = prompt[:_LONGEST_QUERY].encode(errors="replace").decode()
            return query, Path(folder), takes_json
    return None


def _answer(prompt: str, folder: Path, takes_json: bool) -> None:
    """Print what bears on a prompt. Raises HomeError, and OSError where nobody reads it."""
    if not is_folder(folder):
        return
    loaded = load_settings(flags={}, environ=os.environ, cwd=folder)
    home, most = home_of(loaded, folder, _Store), loaded.settings.max_tokens
    if not home.topk:
        return
    wanted = {"query": prompt, "limit": home.topk, "token_budget": most, "in_talk": True}
    levels = [(level, cast("_Store", level.memory)) for level in levels_of(home).asked]
    asked = [QuickRecall(store.paths.state, one.conversation, wanted) for one, store in levels]
    found: list[_Found] = []
    alone: list[tuple[Level, EnginePaths]] = []
    for (level, store), recall in zip(levels, asked, strict=True):
        if (hits := recall.hits()) is not None:
            found.append([(hit, level) for hit in hits])
        elif store.can_be_opened():
            alone.append((level, store.paths))

    def tell(more: Sequence[_Found]) -> None:
        best = heapq.merge(*found, *more, key=lambda one: -one[0].relevance)
        lines = [search_line(hit, level) for hit, level in best][: home.topk]
        if lines:
            _print(fit(_HEAD, lines, most), takes_json)

    if alone:
        _open(alone, wanted, loaded.settings, tell)
    else:
        tell([])


def _print(text: str, takes_json: bool) -> None:
    """Print it as the client takes it, in bytes: a console may have any encoding."""
    if takes_json:
        told = {"hookEventName": "BeforeAgent", "additionalContext": text}
        text = json.dumps({"hookSpecificOutput": told})
    sys.stdout.buffer.write(f"{text}\n".encode(errors="replace"))
    sys.stdout.buffer.flush()


def _open(
    levels: Sequence[tuple[Level, EnginePaths]],
    wanted: dict[str, Any],
    settings: HomeSettings,
    tell: Callable[[Sequence[_Found]], None],
) -> None:
    """Open stores in this process, without vectors, and tell what is found before they close."""
    import asyncio

    from ..home.owned_store import OwnedStore
    from ..sharing.calls import as_agent
    from .paths import plugin_version

    version = plugin_version()
    stores = [OwnedStore(paths, settings, os.environ, version) for _, paths in levels]

    async def found(level: Level, store: OwnedStore) -> _Found:
        try:
            await store.open(shared=False, vectors=False)
        except EngineOff:
            return []
        recall = await store.memory.recall(
            conversation_id=level.conversation, actor=as_agent(None), **wanted
        )
        return [(hit, level) for hit in recall.hits]

    async def all_found() -> None:
        try:
            asked = (found(level, store) for (level, _), store in zip(levels, stores, strict=True))
            tell(await asyncio.gather(*asked))
        finally:
            await asyncio.gather(*(store.close() for store in stores), return_exceptions=True)

    asyncio.run(all_found())
