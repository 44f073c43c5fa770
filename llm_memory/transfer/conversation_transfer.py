"""Export and import by command: what one conversation sees, and into its own scope."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.event_day import noted_day
from ..catalogue.rules.talk_anchor import without_anchor
from ..errors import EngineClosed, TransferFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import (
    Memory,
    MemoryDraft,
    Refused,
    RememberOutcome,
    Source,
    Stored,
    StoredMemory,
    Topic,
)
from ..models.passages import Key
from ..models.scope import Scope, ScopeFilter
from ..models.transfer import End, Exported, Header, Imported, MemoryRecord, RefusedLine
from ..models.vault_layout import topic_of
from ..remember.memory_handlers import MemoryHandlers, Said
from ..remember.rules.gate import MAX_NAME
from ..runtime.identifiers import Clock
from ..text.normalising import clean, one_line, same_words
from .line_files import MAX_IMPORT, LineFile, TransferFolders, write_lines
from .rules.format import VERSION, Line, LineBroken, line_of
from .store_transfer import read_header
from .store_zip import open_lines

_AT_ONCE = 50
_MAX_ID = 200

Write = Callable[[], Coroutine[object, object, RememberOutcome]]
Finish = Callable[[Write], Awaitable[RememberOutcome]]


@dataclass(frozen=True, slots=True)
class Terms:
    """How an import is done. ``keep_trust``: what the file calls trusted stays so; for the owner of
    the machine alone, who knows where the file comes from. ``anyway``: also what was corrected
    since it was said."""

    scope: Scope
    conversation: str = ""
    keep_trust: bool = False
    anyway: bool = False


class Transfer:
    """One export and one import at a time."""

    def __init__(
        self,
        files: TransferFolders,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        clock: Clock,
        version: str,
    ) -> None:
        self._files = files
        self._catalogue = catalogue
        self._handlers = handlers
        self._clock = clock
        self._version = version
        self._exporting = asyncio.Lock()
        self._importing = asyncio.Lock()

    async def export(self, scope_filter: ScopeFilter) -> Exported:
        """The living memories that the filter admits, in a new file. The first of its scopes names
        it. Raises TransferFailed."""
        scope, now = scope_filter.scopes[0], self._clock()
        if self._exporting.locked():
            raise TransferFailed("busy")
        async with self._exporting:
            memories = list(self._catalogue.visible(scope_filter))
            names = tuple(scope.name for scope in scope_filter.scopes)
            header = Header(VERSION, self._version, now, names, whole=False)
            name = f"{scope.name}-{now:%Y%m%d-%H%M%S}.jsonl"
            path = await asyncio.to_thread(self._files.free, name)
            await asyncio.to_thread(write_lines, path, _lines(header, memories))
        return Exported(path.name, dict(Counter(stored.scope.name for stored in memories)))

    async def import_named(self, name: str, terms: Terms, finish: Finish) -> Imported:
        """A file of ``imports/``, memory by memory through the doors that every draft goes through.

        ``finish`` does one of them to its end, also if the caller goes away. Raises TransferFailed
        where nothing was taken.
        """
        if self._importing.locked():
            raise TransferFailed("busy")
        async with self._importing:
            source = await asyncio.to_thread(self._open, name)
            return await self.import_from(source, terms, finish)

    def _open(self, name: str) -> LineFile:
        path = self._files.find(name)
        return open_lines(path, path.parent, most=MAX_IMPORT)

    async def import_from(self, source: LineFile, terms: Terms, finish: Finish) -> Imported:
        """The same from an open file, which is closed."""
        run = _Import(self._catalogue, self._handlers, terms, finish, self._clock())
        try:
            header = await asyncio.to_thread(read_header, source)
            run.latest = header.latest(self._clock())
            while lines := await asyncio.to_thread(source.take, _AT_ONCE):
                for line in lines:
                    await run.take(line)
                if run.report.stopped_at:
                    break
        except TransferFailed:
            if not run.line:
                raise
            run.stop()
        except EngineClosed:
            run.stop()
        except asyncio.CancelledError:
            logger.warning("import_stopped", line=run.line)
            raise
        finally:
            await asyncio.to_thread(source.close)
        return run.report


class _Import:
    """One import, line by line."""

    def __init__(
        self,
        catalogue: Catalogue,
        handlers: MemoryHandlers,
        terms: Terms,
        finish: Finish,
        latest: datetime,
    ) -> None:
        self._catalogue = catalogue
        self._handlers = handlers
        self._terms = terms
        self._finish = finish
        self.latest = latest
        """What the file dates later was said by then: it would be the newest for good."""
        self.line = 0
        """The last one that was taken."""
        self.report = Imported(terms.scope.name, cut_short=True)

    def stop(self) -> None:
        """What follows this line was not taken."""
        self.report = replace(self.report, stopped_at=max(self.line, 1))

    async def take(self, line: Line) -> None:
        """Raises EngineClosed."""
        if self.report.stopped_at:
            return
        self.line = line.number
        try:
            record = line.record()
        except LineBroken as error:
            refused = RefusedLine(line.number, error.fault, error.detail)
            self.report = self.report.without(refused)
            return
        match record:
            case MemoryRecord(state="living"):
                await self._memory(line.number, record)
            case End():
                self.report = replace(self.report, cut_short=False)
            case _:
                pass  # files, forgotten and former entries

    async def _memory(self, number: int, record: MemoryRecord) -> None:
        memory, origin = record.memory, record.memory.provenance
        trusted = self._terms.keep_trust and origin.trusted and not memory.quoted
        said_at = min(memory.created_at, self.latest).replace(microsecond=0)
        if self._is_known(record, said_at, trusted=trusted):
            self.report = replace(self.report, known=self.report.known + 1)
            return
        draft = MemoryDraft(
            judgment=memory.judgment,
            reasoning=memory.reasoning,
            tags=memory.tags,
            asks=memory.asks,
            kind=memory.kind,
            strength=memory.strength,
            active=memory.active,
            # What an agent stored unasked is no more asked for here.
            source=Source.AGENT if origin.source is Source.AGENT else Source.IMPORT,
            actor=Actor(_label(origin.person, _MAX_ID), origin.who),
            context=memory.context,
            heard="" if memory.model_worded else None,  # and so it is no person's word here either
            said_at=said_at,
            day=noted_day(memory),
        )
        where = _label(origin.conversation, _MAX_ID) or self._heard_in(memory)
        said = Said(where, _label(memory.role, MAX_NAME), trusted=trusted)
        scope, anyway = self._terms.scope, self._terms.anyway
        writing = partial(self._handlers.write, draft, scope, said, asked=anyway)
        self._count(number, await self._finish(writing))

    def _heard_in(self, memory: Memory) -> str:
        """Where the file names no conversation: it was brought here, and not overheard here."""
        return self._terms.conversation if memory.active else ""

    def _is_known(self, record: MemoryRecord, said_at: datetime, *, trusted: bool) -> bool:
        """True for a memory that never left, and for one that an import brought before."""
        scope, memory = self._terms.scope, record.memory
        there = self._catalogue.get(Key(scope.name, memory.memory_id))
        if there and same_words(there.memory.judgment) == same_words(memory.judgment):
            return True
        origin = replace(memory.provenance, trusted=trusted)
        brought = self._catalogue.same_words(
            scope, replace(memory, judgment=clean(memory.judgment), provenance=origin)
        )
        return brought is not None and brought.memory.created_at == said_at

    def _count(self, number: int, outcome: RememberOutcome) -> None:
        report = self.report
        match outcome:
            case Stored(how="reinforced"):
                report = replace(report, known=report.known + 1)
            case Stored():
                report = replace(report, stored=report.stored + 1)
            case Refused(reason="not_written"):
                # The disk takes no more: the others would be refused one by one.
                self.stop()
                self.report = self.report.without(RefusedLine(number, rejected=outcome))
                return
            case Refused():
                self.report = self.report.without(RefusedLine(number, rejected=outcome))
                return
        if outcome.hidden:
            report = replace(report, redacted=report.redacted + 1)
        self.report = report


def _lines(header: Header, memories: Sequence[StoredMemory]) -> Iterator[str]:
    yield line_of(header)
    for stored in memories:
        topic: Topic | None = topic_of(stored.path)
        name = topic.value if topic else ""
        memory = without_anchor(stored.memory)
        record = MemoryRecord(stored.scope.name, stored.path, memory, topic=name)
        yield line_of(record)
    yield line_of(End(len(memories), 0))


def _label(text: str, most: int) -> str:
    return one_line(clean(text))[:most]
