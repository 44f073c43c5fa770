"""Takes the memories of a former six-tool memory into a store, through its gate.

What was taken once is noted beside the store's state, so that a second run adds nothing: neither a
copy, nor what was forgotten or edited here since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import batched
from typing import Final

from ..composition.engine import build_engine
from ..composition.paths import EnginePaths, local_now
from ..errors import DirectoryInUse, EngineOff, HomeError
from ..migration.rules.openclaw_markdown import ForeignMemory
from ..models.data_models import Memory, Provenance, Source
from ..models.settings import EngineSettings, PrivacyMode
from ..models.transfer import End, Header, Imported, MemoryRecord, Record
from ..service.engine import Engine
from ..storage.files import append_durably
from ..transfer.line_files import LineFile
from ..transfer.rules.format import VERSION, line_of
from ..transfer.store_transfer import FIRST

NOTED: Final = "adopted.txt"
"""Below the state: a line a memory, of its words alone the hash."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of the memories of a folder.

    Attributes:
        stored: New ones, the ones that took another's place among them.
        known: Those that an earlier run took, or that stood there.
        refused: A text's beginning and why it was not taken.
        redacted: Those in which something private was hidden.
        stopped: The disk takes no more; the same command goes on there.
    """

    stored: int = 0
    known: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    redacted: int = 0
    stopped: bool = False


async def adopt(
    memories: Sequence[ForeignMemory],
    paths: EnginePaths,
    scope: str,
    *,
    privacy: PrivacyMode,
    version: str,
) -> Adopted:
    """Take memories into a scope of a store that no other program has open, as untrusted ones.

    Raises:
        HomeError: another program has the store open.
        EngineOff: the store cannot be opened.
    """
    noted = _noted(paths)
    new = {_mark(scope, memory): memory for memory in memories}
    done = Adopted(known=len(memories) - len(new))
    left = {mark: memory for mark, memory in new.items() if mark not in noted}
    done = replace(done, known=done.known + len(new) - len(left))
    if not left:
        return done
    settings = EngineSettings(privacy_mode=privacy, open_retry_seconds=0.0)
    engine = build_engine(paths, settings, version=version, remembers=False)
    try:
        await _opened(engine)
        # So few at a time that the report names each one that is refused.
        for some in batched(left.items(), FIRST):
            done = await _taken(engine, dict(some), scope, paths, done)
            if done.stopped:
                break
    finally:
        await engine.close()
    return done


async def _opened(engine: Engine) -> None:
    try:
        await engine.open()
    except (DirectoryInUse, EngineOff) as error:
        if isinstance(error, EngineOff) and error.code != "directory_in_use":
            raise
        raise HomeError(
            "另一个程序正开着这里的记忆（serve 或机器人），先停下它再来",
            "another program has these memories open (serve or a bot), stop it first",
        ) from error


async def _taken(
    engine: Engine, some: dict[str, ForeignMemory], scope: str, paths: EnginePaths, done: Adopted
) -> Adopted:
    lines = _lines(some.values())
    report = await engine.service.import_for_owner(lines, scope, keep_trust=False, new=True)
    if not isinstance(report, Imported):
        raise HomeError(f"没有收下：{report}", f"not taken in: {report}")
    marks, refused, why = list(some), set(), list(done.refused)
    for line in report.lines:
        place = line.number - _FIRST_LINE
        refused.add(place)
        memory = some[marks[place]]
        why.append((memory.text[:40], str(line.rejected.reason if line.rejected else line.fault)))
    end = report.stopped_at - _FIRST_LINE if report.stopped_at else len(marks)
    taken = [mark for place, mark in enumerate(marks[:end]) if place not in refused]
    if taken:
        append_durably(paths.state / NOTED, "".join(f"{mark}\n" for mark in taken).encode())
    return replace(
        done,
        stored=done.stored + report.stored + report.replaced,
        known=done.known + report.known + report.reinforced,
        refused=tuple(why),
        redacted=done.redacted + report.redacted,
        stopped=bool(report.stopped_at),
    )


def _noted(paths: EnginePaths) -> frozenset[str]:
    with suppress(FileNotFoundError):
        return frozenset((paths.state / NOTED).read_text("ascii", errors="replace").split())
    return frozenset()


def _mark(scope: str, memory: ForeignMemory) -> str:
    whole = "\0".join((scope, memory.kind.value, memory.text, memory.more))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


_FIRST_LINE: Final = 2
"""The number of the first memory's line: the header stands above it."""


def _lines(memories: Iterable[ForeignMemory]) -> LineFile:
    """Returns memories that were read elsewhere as a file to be imported."""
    header = Header(VERSION, "", local_now(), (), whole=False)
    found = [_record(memory) for memory in memories]
    records: list[Record] = [header, *found, End(len(found), 0)]
    return LineFile("\n".join(map(line_of, records)).encode())


def _record(memory: ForeignMemory) -> MemoryRecord:
    return MemoryRecord(
        scope="",
        path="",
        memory=Memory(
            memory_id="",
            judgment=memory.text,
            created_at=memory.said_at,
            reasoning=memory.more,
            kind=memory.kind,
            provenance=Provenance(source=Source.IMPORT),
        ),
        missing=frozenset({"id"}),
    )
