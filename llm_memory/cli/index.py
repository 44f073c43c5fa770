"""``index``: brings the indexes of an agent's memory up to its files, or builds them anew."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from ..errors import DirectoryInUse, EngineOff
from ..home.agent_stores import AgentStore, chosen_project, stores_of
from ..home.index_building import PACE, Built, build_index
from ..home.memory_home import make_home
from ..home.owned_store import OwnedStore
from ..home.settings import LoadedSettings
from ..texts import Said, Sayable, at
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, PARTLY, say, show_json, texts, warn, words
from .paths import plugin_version
from .status import store_json, tell_counts


def index(args: argparse.Namespace) -> int:
    """Build, and say what there is. Raises HomeError."""
    loaded = read_settings(args)
    folder = project_folder(args)
    warn((*loaded.warnings, *chosen_project(loaded, folder)[1]))
    make_home(loaded.settings.home)
    stores = stores_of(loaded, folder)
    rows = [(one, _built(one, loaded, rebuild=args.rebuild)) for one in stores]
    codes = {_code(found) for _, found in rows}
    code = codes.pop() if len(codes) == 1 else PARTLY
    if wants_json(args):
        show_json({"code": code, "stores": [_as_json(*row) for row in rows]})
        return code
    for row in rows:
        _tell(*row)
    return code


def _built(store: AgentStore, loaded: LoadedSettings, *, rebuild: bool) -> Built | int | None:
    """Returns what was built, or the process that has the store open, if its lock tells."""
    try:
        mine = OwnedStore(store.paths, loaded.settings, os.environ, plugin_version(), PACE)
        return asyncio.run(build_index(mine, rebuild=rebuild, progress=_draw))
    except (DirectoryInUse, EngineOff) as error:
        if isinstance(error, EngineOff) and error.code != "directory_in_use":
            raise
        return store.holder()
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _draw(part: Sayable, done: int, total: int) -> None:
    """Draw how far it is over what was drawn before, where somebody looks."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{words(part)} {max(done, 0)}/{total}\x1b[K")
        sys.stderr.flush()


def _code(found: Built | int | None) -> int:
    """Returns the exit code for one store alone."""
    if not isinstance(found, Built) or found.words_fault:
        return FAILED
    return PARTLY if found.fault else DONE


def _tell(store: AgentStore, found: Built | int | None) -> None:
    if not isinstance(found, Built):
        who = Said("indexes.somebody") if found is None else Said("indexes.process", pid=found)
        say(at(store.named, "indexes.in_use", who=who))
        return
    say("common.at", where=store.named, why=store.paths.memory)
    tell_counts(found.status)
    if found.words_fault:
        say("indexes.words_fault", why=found.words_fault)
    if found.fault:
        say("indexes.fault", count=found.left, why=found.fault, remedy=_remedy(found.fault))


def _remedy(fault: str) -> Said | str:
    """Returns what to do where an embedding service failed: its fault begins with a code."""
    code = f"service_fault.{fault.partition(':')[0]}"
    return Said(code) if texts().knows(code) else ""


def _as_json(store: AgentStore, found: Built | int | None) -> dict[str, object]:
    code = _code(found)
    if not isinstance(found, Built):
        return store_json(store, None, code=code, owner_pid=found)
    faults = {"words_fault": found.words_fault, "fault": found.fault}
    return store_json(store, found.status, code=code, left=found.left, **faults)
