"""Python runs this at the start of a bot whose memory has a clock that is moved.

The plugin's modules are made anew at each of its reloads, so its clock module is changed whenever
it is imported: its `datetime.now` is as many seconds ahead as the file says that
`SCOPED_MEMORY_AHEAD` names.
"""

import os
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

SUBJECT = "data.plugins.astrbot_plugin_scoped_memory.core.host.bot"
AHEAD = Path(os.environ["SCOPED_MEMORY_AHEAD"])


class MovedTime(datetime):
    """A `datetime` whose now is ahead of the machine's."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        """The machine's now, moved."""
        return datetime.now(tz) + timedelta(seconds=float(AHEAD.read_text("ascii")))


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != SUBJECT:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def run_and_move(module: ModuleType) -> None:
            run(module)
            if "datetime" not in vars(module):
                raise ImportError(f"{SUBJECT} has no datetime to move")
            vars(module)["datetime"] = MovedTime

        spec.loader.exec_module = run_and_move  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Finder())
