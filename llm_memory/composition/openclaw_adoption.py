"""Takes the memories of a former six-tool memory into a store, through its gate.

What was taken once is noted beside the store's state, so that a second run adds nothing: neither a
copy, nor what was forgotten or edited here since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import batched
from pathlib import Path
from typing import Final

from ..composition.engine import Engine
from ..errors import EngineOff, HomeError
from ..migration.rules.openclaw_markdown import ForeignMemory
from ..models.data_models import Memory, Provenance, Source
from ..models.settings import EngineSettings, PrivacyMode
from ..models.transfer import End, Header, Imported, MemoryRecord, Record
from ..storage.files import append_durably
from ..transfer.line_files import LineFile
from ..transfer.rules.format import VERSION, line_of
from ..transfer.store_transfer import FIRST
from .engine import build_engine
from .paths import EnginePaths, local_now

NOTED: Final = "adopted.txt"
"""Below the state: a line a memory, of its words alone the hash."""
_FIRST_LINE: Final = 2
"""The number of the first memory's line: the header stands above it."""


@dataclass(slots=True)
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
    refused: list[tuple[str, str]] = field(default_factory=list)
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
    file = paths.state / NOTED
    noted = _noted(file)
    marked = {_mark(scope, memory): memory for memory in memories}
    new = {mark: memory for mark, memory in marked.items() if mark not in noted}
    done = Adopted(known=len(memories) - len(new))
    if not new:
        return done
    settings = EngineSettings(privacy_mode=privacy, open_retry_seconds=0.0)
    try:
        async with build_engine(paths, settings, version=version, remembers=False) as engine:
            # So few at a time that the report names each one that is refused.
            for some in batched(new.items(), FIRST):
                await _take(engine, dict(some), scope, file, done)
                if done.stopped:
                    break
    except EngineOff as error:
        if error.code != "directory_in_use":
            raise
        raise HomeError("adopt.in_use") from error
    return done


async def _take(
    engine: Engine, some: Mapping[str, ForeignMemory], scope: str, file: Path, done: Adopted
) -> None:
    report = await engine.service.import_for_owner(
        _lines(some.values()), scope, keep_trust=False, new=True
    )
    if not isinstance(report, Imported):
        raise HomeError("adopt.not_taken", why=report)
    by_line = dict(enumerate(some, _FIRST_LINE))
    refused = {
        line.number: str(line.rejected.reason if line.rejected else line.fault)
        for line in report.lines
    }
    end = report.stopped_at or len(some) + _FIRST_LINE
    if taken := [mark for line, mark in by_line.items() if line < end and line not in refused]:
        append_durably(file, "".join(f"{mark}\n" for mark in taken).encode())
    done.stored += report.stored + report.replaced
    done.known += report.known + report.reinforced
    done.refused += [(some[by_line[line]].text[:40], why) for line, why in refused.items()]
    done.redacted += report.redacted
    done.stopped = bool(report.stopped_at)


def _noted(file: Path) -> frozenset[str]:
    with suppress(FileNotFoundError):
        return frozenset(file.read_text("ascii", errors="replace").split())
    return frozenset()


def _mark(scope: str, memory: ForeignMemory) -> str:
    whole = "\0".join((scope, memory.kind.value, memory.text, memory.more))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


def _lines(memories: Iterable[ForeignMemory]) -> LineFile:
    """Returns memories that were read elsewhere as a file to be imported."""
    found = [
        Memory(
            memory_id="",
            judgment=memory.text,
            created_at=memory.said_at,
            reasoning=memory.more,
            kind=memory.kind,
            provenance=Provenance(source=Source.IMPORT),
        )
        for memory in memories
    ]
    records: list[Record] = [
        Header(VERSION, "", local_now(), (), whole=False),
        *(MemoryRecord("", "", memory, missing=frozenset({"id"})) for memory in found),
        End(len(found), 0),
    ]
    return LineFile("\n".join(map(line_of, records)).encode())
