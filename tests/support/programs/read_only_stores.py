"""Other plugins' stores in folders that may only be read.

    python run.py read_only_stores.py FOLDER

FOLDER holds ``plugin_data``; prints a JSON object, or ends with status 77 and a reason where rights
cannot be made to count.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph


def lock_up(folder: Path) -> None:
    """Nothing below may be written, nor anything made."""
    for path in (folder, *sorted(folder.rglob("*"))):
        path.chmod(0o555 if path.is_dir() else 0o444)


def is_locked(folder: Path) -> bool:
    """Whether we are one of those who may not."""
    try:
        (folder / "x").touch()
    except PermissionError:
        return True
    return False


def play(root: Path) -> dict[str, Any]:
    """Each store: how it was read, how many records, and what was not."""
    plugins = root / "plugin_data"
    lock_up(plugins)
    before = photograph(plugins)
    stores = PluginStores(plugins, root / "own")
    found: dict[str, Any] = {"locked": all(map(is_locked, [plugins, *plugins.glob("*/*")]))}
    with stores.scratch(keep=True) as scratch:
        for store in stores.find():
            read = stores.read(store, scratch)
            found[store.name] = [read.path.stem, len(list(read.records())), read.fault]
    found["untouched"] = photograph(plugins) == before
    found["left"] = [path.name for path in (root / "own").iterdir()]
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(play(Path(sys.argv[1]))))
