"""The whole store as a file, and out of it again: for the command line and for admins."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path

from ..errors import TransferFailed
from ..models.transfer import End, StoreRestored
from ..models.vault_layout import ENDINGS
from ..remember.deeds import Deeds
from ..service.paths import EnginePaths, local_now
from ..storage.directory_lock import DirectoryLock
from ..storage.files import scratch_folder
from ..storage.formats.store_formats import StoreFormats
from ..storage.state_store import ForgetfulState, SoulHeads, SqliteStateStore
from ..transfer.line_files import named_in, write_lines
from ..transfer.rules.format import counted, line_of
from ..transfer.store_reader import StoreReader
from ..transfer.store_transfer import Restoring, heads
from ..transfer.store_writer import StoreWriter
from ..transfer.store_zip import open_lines
from ..vault.ledger import SqliteLedger


@contextmanager
def owned(paths: EnginePaths, *, version: str = "") -> Iterator[None]:
    """Sole use of a store whose formats are of this version, for a program that works on its files.
    Raises DirectoryInUse while a bot has it open, FormatNewer."""
    locks = [DirectoryLock(folder) for folder in paths.owned]
    try:
        for lock in locks:
            lock.acquire()
        StoreFormats(paths.memory, paths.data, version).open()
        yield
    finally:
        for lock in locks:
            lock.release()


def export_store(
    paths: EnginePaths,
    target: Path,
    *,
    scopes: Collection[str] | None = None,
    now: datetime,
    version: str = "",
    settings: Mapping[str, object] | None = None,
) -> tuple[End, list[tuple[str, str]]]:
    """Writes a whole store, or some of its scopes, into a new file; with the owner's ``settings``
    where it is whole. Returns what it holds, and which paths were left out, and why. Blocks. Raises
    TransferFailed."""
    store, done = StoreReader(paths.memory), End(0, 0)
    named = (name for name in store.scopes() if scopes is None or name in scopes)
    whole = scopes is None
    head = heads(named, now=now, version=version, settings=settings or {}, whole=whole)

    def lines() -> Iterator[str]:
        nonlocal done
        for record in counted(chain(head, store.records(scopes), [done])):
            done = record if isinstance(record, End) else done
            yield line_of(record)

    write_lines(target, lines())
    return done, store.left_out


def restore_store(
    paths: EnginePaths,
    source: Path,
    *,
    scopes: Collection[str] | None = None,
    anyway: bool = False,
    dry: bool = False,
) -> StoreRestored:
    """What a file holds, back where it was, or of these scopes alone. Blocks. What was corrected
    since it was said stays out, unless it is wanted ``anyway``. ``dry`` tells what would be done,
    by doing it to a copy: a bot may have the store open. Raises TransferFailed."""
    corrected = None if anyway else _corrected(paths)
    with (
        closing(open_lines(source, paths.data)) as lines,
        _copy_of(paths) if dry else nullcontext(paths) as written,
        closing(_writer(written)) as store,
    ):
        restoring = Restoring(store, now=local_now(), only=scopes, corrected=corrected)
        return restoring.run(lines)


def _writer(paths: EnginePaths) -> StoreWriter:
    known = paths.state / "state.sqlite"

    def forget_head(role: str) -> None:
        if known.is_file():
            with closing(SqliteStateStore(known)) as state:
                state.open()
                SoulHeads(state).forget(role)

    return StoreWriter(paths.memory, SqliteLedger(paths.state / "vault.sqlite"), forget_head)


def _corrected(paths: EnginePaths) -> Deeds:
    with closing(ForgetfulState(paths.state / "state.sqlite")) as state:
        state.open()
        corrected = Deeds(state, local_now)
        corrected.load()
    return corrected


def find_backup(paths: EnginePaths, name: str) -> Path:
    """The file of that name in ``imports/``, ``exports/`` or among the nightly backups, the first
    that has it. Raises TransferFailed."""
    for folder in (paths.data / "imports", paths.data / "exports", paths.daily_backups):
        with suppress(TransferFailed):
            return named_in(folder, name)
    return named_in(paths.data / "imports", name)


@contextmanager
def _copy_of(paths: EnginePaths) -> Iterator[EnginePaths]:
    """The files that are carried alone, as far as they can be read."""
    if not paths.data.is_dir():
        raise TransferFailed("not_found", str(paths.data))
    with scratch_folder(paths.data) as folder:
        copy = EnginePaths.under(Path(folder))
        if paths.memory.is_dir():
            with suppress(shutil.Error):
                shutil.copytree(paths.memory, copy.memory, symlinks=True, ignore=_not_carried)
        yield copy


def _not_carried(folder: str, names: list[str]) -> list[str]:
    return [n for n in names if not n.lower().endswith(ENDINGS) and not Path(folder, n).is_dir()]
