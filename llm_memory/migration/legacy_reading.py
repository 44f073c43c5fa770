"""What other plugins' stores hold, read from copies and judged: what becomes of each record."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import batched
from typing import Final

from ..errors import InvalidConversationId
from ..models.conversation import ConversationId, ConversationKind
from ..models.scope import Scope
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..scopes.scope_book import ScopeBook
from .adoption_staging import AdoptionStaging
from .batch_intake import BatchIntake
from .legacy_port import FoundStore, JsonlStore, LegacyStores, StoreKind, StoreUnreadable
from .migration_store import SqliteMigrationStore
from .rules.legacy_plan import Plan, Planned
from .rules.legacy_records import Foreign, Judged, judge, judge_recallable, placed_as_before

KIND: Final = "adoption"
"""Of the jobs that bring what was read."""
_SLICE: Final = 200
"""Records judged between two looks at the event loop."""


@dataclass(frozen=True, slots=True)
class StoreReading:
    """What was read of some stores. ``records``: by an id that no other record has. ``unread``:
    the stores of which something could not be read, with a stable code, and why."""

    read: tuple[JsonlStore, ...]
    unread: tuple[tuple[FoundStore, str, str], ...]
    records: dict[str, Foreign]
    plan: Plan

    def broken(self) -> Iterator[tuple[Planned, Foreign]]:
        """The records that hold nothing to remember."""
        for planned in self.plan.planned:
            if planned.fate == "broken":
                yield planned, self.records[planned.record_id]


@dataclass(slots=True)
class _Known:
    """What earlier batches hold: by the ids of records, by the names that their stores have for
    them, and the ids of memories."""

    records: dict[str, Planned] = field(default_factory=dict)
    named: dict[str, Planned] = field(default_factory=dict)
    memories: set[str] = field(default_factory=set)


class LegacyReading:
    """Changes nothing but what lies in the scratch folder. Touched from the event loop only."""

    def __init__(
        self,
        stores: LegacyStores,
        staging: AdoptionStaging,
        store: SqliteMigrationStore,
        intake: BatchIntake,
        book: ScopeBook,
        clock: Clock,
    ) -> None:
        self._stores = stores
        self._staging = staging
        self._store = store
        self._intake = intake
        self._book = book
        self._clock = clock

    async def fresh(self) -> list[FoundStore]:
        """Stores that look otherwise than when they were read."""
        found = await asyncio.to_thread(self._stores.find)
        seen = await asyncio.to_thread(self._staging.seen)
        return [store for store in found if seen.get(store.name) != store.mark]

    @asynccontextmanager
    async def scratch(self, *, keep: bool) -> AsyncIterator[str]:
        """A folder for copies; what ``keep`` means says ``LegacyStores.scratch``."""
        stack = ExitStack()
        folder = await asyncio.to_thread(stack.enter_context, self._stores.scratch(keep=keep))
        try:
            yield folder
        finally:
            await asyncio.to_thread(stack.close)  # what was copied may take a while to remove

    def close(self) -> None:
        """What a thread still reads is given up."""
        self._stores.give_up()

    async def read(self, stores: Sequence[FoundStore], folder: str) -> StoreReading:
        """All of some stores, and what is new in them planned. ``folder`` is a scratch folder; what
        was read stands there. Raises StateUnavailable."""
        read: list[JsonlStore] = []
        unread: list[tuple[FoundStore, str, str]] = []
        for store in stores:
            try:
                one = await asyncio.to_thread(self._stores.read, store, folder)
            except StoreUnreadable as error:
                unread.append((store, error.code, str(error)))
                continue
            if one.fault:
                unread.append((store, "damaged", one.fault))
            read.append(one)
        known = await asyncio.to_thread(self._known)
        gone = await self._intake.look_at_archives() | known.memories
        records: dict[str, Foreign] = {}
        judged: list[tuple[str, Judged]] = []
        for one in read:
            slices = batched(one.records(), _SLICE)
            while some := await asyncio.to_thread(next, slices, ()):
                await asyncio.to_thread(self._judge, one, some, known, records, judged)
        recallable = self._intake.recallable()
        plan = partial(self._intake.plan, judged, recallable, gone)
        made = await asyncio.to_thread(plan)
        return StoreReading(tuple(read), tuple(unread), records, made)

    def _known(self) -> _Known:
        """Blocks."""
        known = _Known()
        for staged in self._staging.batches():
            letters = self._store.dead_letters(f"{KIND}-{staged.batch}", staged.count)
            never_came = {letter.record_id for letter in letters if not letter.scope}
            for one in self._staging.planned(staged.batch):
                known.records[one.record_id] = one
                known.named[_name(one.record_id)] = one
                if one.record_id not in never_came:
                    known.memories.add(one.memory_id)
        return known

    def _judge(
        self,
        read: JsonlStore,
        some: Sequence[Foreign],
        known: _Known,
        records: dict[str, Foreign],
        judged: list[tuple[str, Judged]],
    ) -> None:
        """Blocks."""
        now = self._clock()
        for record in cooperative(some):
            record_id = _record_id(record)
            if record_id in known.records:
                continue
            number = 1
            while (own := record_id if number == 1 else f"{record_id}#{number}") in records:
                number += 1
            records[own] = record
            if read.store.kind is StoreKind.LIVING:
                one = judge_recallable(record, now, self._scope_of)
                if (before := known.named.get(_name(record_id))) is not None:
                    one = placed_as_before(one, before.scope, before.memory_id)
                judged.append((own, one))
            else:
                judged.append((own, judge(record, now)))

    def _scope_of(self, umo: str, persona: str) -> Scope | None:
        try:
            parsed = ConversationId.parse(umo)
        except InvalidConversationId:
            return None
        group = parsed.session if parsed.kind is ConversationKind.GROUP else None
        found = self._book.resolve(replace(parsed, group=group, persona=persona))
        return found.scope


def _name(record_id: str) -> str:
    """Of a record, whatever stands in it."""
    return record_id.rpartition(":")[0]


def _record_id(record: Foreign) -> str:
    """Of a record as it stands: one that was changed since is another."""
    content = json.dumps([record.document, record.fields], sort_keys=True, default=repr)
    digest = hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
    return f"{record.source}:{record.record_id}:{digest}"
