"""Finds the stores of Angel Memory and LivingMemory, and has copies of them read by a child."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..log import logger
from ..storage.child_process import Child, ChildEnd, RunChild, python_program
from ..storage.files import make_folder
from . import legacy_reader_program
from .legacy_copy import CopyFailed, copy_store, fingerprint
from .legacy_port import FoundStore, JsonlStore, StoreKind, StoreUnreadable

ANGEL: Final = "astrbot_plugin_angel_memory"
LIVING: Final = "astrbot_plugin_livingmemory"
_LIVING_FIRST: Final = "livingmemory"
"""What its folder was called in the first releases, in whatever case."""
_CHROMA_FILE: Final = "chroma.sqlite3"
_SIMPLE_FILE: Final = "simple_memory.db"
_LIVING_FILE: Final = "livingmemory.db"
_CENTER: Final = "memory_center"
_DEPTH: Final = 3
_PASSED_BY: Final = frozenset({"raw", "backups", "logs", "temp"})
"""Folders of notes, and of what is no store but a copy of one."""
_LEAST_SECONDS: Final = 120.0
_BYTES_A_SECOND: Final = 1 << 20
_WAYS: Final = {
    StoreKind.ANGEL_CHROMA: "chroma",
    StoreKind.ANGEL_SQLITE: "simple",
    StoreKind.LIVING: "living",
}


class PluginStores:
    """Implements ``LegacyStores``.

    Args:
        neighbours: The folder in which plugins have their data folders.
        own: A folder of ours for copies, on the disk that has room for our state.
        run: Starts the child; None for one that can be given up.
    """

    def __init__(self, neighbours: Path, own: Path, run: RunChild | None = None) -> None:
        self._neighbours = neighbours
        self._own = own
        self._run = run
        self._reading: set[Child] = set()

    def find(self) -> Sequence[FoundStore]:
        angel = self._neighbours / ANGEL
        places = [(StoreKind.ANGEL_SQLITE, path) for path in _named(angel, _SIMPLE_FILE)]
        # The one in the middle came last, and knows better than those that stood there before.
        places.sort(key=lambda place: (_CENTER not in place[1].parts, place[1]))
        places += [(StoreKind.ANGEL_CHROMA, path) for path in sorted(_named(angel, _CHROMA_FILE))]
        places += [(StoreKind.LIVING, path) for path in self._living()]
        found = []
        for kind, path in places:
            named = path.parent if kind is StoreKind.ANGEL_CHROMA else path
            name = named.relative_to(self._neighbours).as_posix().removeprefix("astrbot_plugin_")
            try:
                found.append(FoundStore(name, kind, fingerprint(path), str(path)))
            except OSError as error:
                logger.warning("store_unreadable", store=name, error=error)
        return found

    def _living(self) -> list[Path]:
        with contextlib.suppress(OSError):
            folders = [
                folder
                for folder in sorted(self._neighbours.iterdir())
                if folder.name == LIVING or folder.name.lower() == _LIVING_FIRST
            ]
            return [
                folder / _LIVING_FILE for folder in folders if (folder / _LIVING_FILE).is_file()
            ]
        return []

    @contextlib.contextmanager
    def scratch(self, *, keep: bool) -> Iterator[str]:
        if keep:
            shutil.rmtree(self._own, ignore_errors=True)  # of a start that was killed
            make_folder(self._own)
        folder = tempfile.mkdtemp(prefix="scoped-memory-", dir=self._own if keep else None)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def read(self, store: FoundStore, scratch: str) -> JsonlStore:
        number = sum(1 for _ in Path(scratch).iterdir())
        target = Path(scratch) / f"store-{number}"
        target.mkdir()
        child = Child()
        self._reading.add(child)
        try:
            copy = copy_store(Path(store.place), target / "copy")
            return self._read(store, copy, target, self._run or child.run)
        except CopyFailed as error:
            raise StoreUnreadable(error.code, str(error)) from error
        except OSError as error:
            raise StoreUnreadable("unreadable", str(error)) from error
        finally:
            self._reading.discard(child)
            shutil.rmtree(target / "copy", ignore_errors=True)

    def give_up(self) -> None:
        for child in self._reading.copy():
            child.close()

    def _read(self, store: FoundStore, copy: Path, target: Path, run: RunChild) -> JsonlStore:
        records = target / "records.jsonl"
        seconds = _LEAST_SECONDS + copy.stat().st_size / _BYTES_A_SECOND
        options = {
            "way": _WAYS[store.kind],
            "source": str(copy),
            "records": str(records),
            "seconds": seconds + 5,
        }
        command = python_program(Path(legacy_reader_program.__file__), json.dumps(options))
        if command:
            count, problem = _answer(run(command, seconds))
        else:
            count, problem = _told(json.dumps(legacy_reader_program.main(options)))
        return JsonlStore(store, records, count, problem)


def _answer(end: ChildEnd) -> tuple[int, str]:
    """How many records were read, and why the rest was not. Raises StoreUnreadable."""
    if end.status is None:
        raise StoreUnreadable("native", "no answer in time")
    if end.death:
        raise StoreUnreadable("native", end.death)
    for line in reversed(end.output.splitlines()):
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return _told(line)
    last = next((line for line in reversed(end.errors.splitlines()) if line.strip()), "")
    raise StoreUnreadable("native", f"exit status {end.status}: {last[:200]}")


def _told(line: str) -> tuple[int, str]:
    answer = json.loads(line)
    return int(answer["count"]), str(answer["fault"])


def _named(folder: Path, name: str, depth: int = _DEPTH) -> Iterator[Path]:
    """Files of a name, at most so deep; links are not followed."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name == name and entry.is_file() and not entry.is_symlink():
            yield entry
        elif depth and entry.name not in _PASSED_BY and entry.is_dir() and not entry.is_symlink():
            yield from _named(entry, name, depth - 1)
