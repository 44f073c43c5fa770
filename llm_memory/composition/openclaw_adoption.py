"""Takes the memories of a former six-tool memory into a store, through its gate.

A second run adds nothing: the importer knows what stands there, and what was forgotten or edited
here since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import EngineOff, HomeError
from ..migration.rules.openclaw_markdown import ForeignMemory
from ..models.data_models import Memory, Provenance, Reason, Source
from ..models.settings import EngineSettings, PrivacyMode
from ..models.transfer import End, Header, Imported, MemoryRecord, Record
from ..transfer.line_files import LineFile
from ..transfer.rules.format import VERSION, line_of
from .engine import build_engine
from .paths import EnginePaths, local_now


@dataclass(slots=True)
class Adopted:
    """What became of the memories of a folder: those that took another's place are stored, those
    that were taken or corrected here before known. Of the refused the first are named, by a text's
    beginning and why. ``stopped``: the disk takes no more; the same command goes on there."""

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
    settings = EngineSettings(privacy_mode=privacy, open_retry_seconds=0.0)
    try:
        async with build_engine(paths, settings, version=version, remembers=False) as engine:
            report = await engine.service.import_for_owner(
                _lines(memories), scope, keep_trust=False, new=True
            )
    except EngineOff as error:
        if error.code != "directory_in_use":
            raise
        raise HomeError("adopt.in_use") from error
    if not isinstance(report, Imported):
        raise HomeError("adopt.not_taken", why=report)
    done = Adopted(
        report.stored + report.replaced,
        report.known + report.reinforced,
        redacted=report.redacted,
        stopped=bool(report.stopped_at),
    )
    for line in report.lines:
        why = line.rejected.reason if line.rejected else line.fault
        if why is Reason.CORRECTED:
            done.known += 1
        else:
            # The header stands above the first one.
            done.refused.append((memories[line.number - 2].text[:40], str(why)))
    return done


def _lines(memories: Sequence[ForeignMemory]) -> LineFile:
    """Returns memories that were read elsewhere as a file to be imported."""
    records: list[Record] = [Header(VERSION, exported_at=local_now())]
    for one in memories:
        memory = Memory(
            memory_id="",
            judgment=one.text,
            created_at=one.said_at,
            reasoning=one.more,
            kind=one.kind,
            provenance=Provenance(source=Source.IMPORT),
        )
        records.append(MemoryRecord("", "", memory, missing=frozenset({"id"})))
    records.append(End(len(memories), 0))
    return LineFile("\n".join(map(line_of, records)).encode())
