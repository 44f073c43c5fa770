"""Memories and queued turns that are brought from a former scope of a conversation to the one that
it has now, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.unread_turns import UnreadTurns
from ..models.consent import has_known_readers
from ..models.conversation import ConversationId
from ..models.data_models import Rejected, RejectReason, StoredMemory
from ..models.former_scopes import Brought, BroughtBack, MustBeNamed, Remainder
from ..models.key import Key
from ..models.migration import Added, WalkBatch
from ..models.scope import Scope
from ..remember.corrected_statements import CorrectedStatements
from ..remember.edit import MemoryEditor, Requester
from ..remember.rules.confidences import may_stand
from ..storage.loop_port import TurnStore
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import UndoRecord
from .former_scopes import FormerScopes
from .migration_store import SqliteMigrationStore
from .ports import Walk
from .scope_migration import entry_digest

_TURN: Final = "turn"
"""Stands for the digest of what was brought and is no memory, but a queued turn."""


class Bringing:
    """One batch for each pair of scopes: what was interrupted goes on when it is asked for again,
    and is undone as a whole."""

    def __init__(
        self,
        former: FormerScopes,
        turns: TurnStore,
        store: SqliteMigrationStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
        editor: MemoryEditor,
        corrected: CorrectedStatements,
        unread: UnreadTurns,
        run: Callable[[Walk], Awaitable[None]],
    ) -> None:
        """``run``: a walk that a person asked for, while nothing else goes over memories."""
        self._former = former
        self._turns = turns
        self._store = store
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._editor = editor
        self._corrected = corrected
        self._unread = unread
        self._run = run

    async def bring_named(
        self, names: Collection[str], conversation_id: ConversationId, requester: Requester
    ) -> list[Brought] | MustBeNamed | Rejected:
        """What ``CognitiveService.bring`` does for an admin."""
        here = self._former.of(conversation_id)
        known = dict.fromkeys([*here, *await self._former.everywhere()])
        chosen = [one for one in known if one.source.name in names] or here
        left = await self._former.count(chosen)
        strange = set(names) - {name for one in left for name in (one.source, one.target)}
        if strange:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=min(strange))
        unnamed = tuple(one for one in left if one.shared and one.target not in names)
        if unnamed:
            return MustBeNamed(unnamed)
        return [await self.bring(one.remainder, requester) for one in left]

    async def bring(self, remainder: Remainder, requester: Requester) -> Brought:
        """All of it. Raises StateUnavailable, VaultWriteFailed; the rest comes when it is called
        again."""
        source, target = remainder.source, remainder.target
        batch = f"bring-{source.name}-{target.name}"
        await asyncio.to_thread(self._vault.ensure, target)
        await self._editor.note_batch(batch, source, target, requester)
        # What was corrected there must not come back here with turns that were said before.
        persons = None if remainder.whole else await asyncio.to_thread(self._persons, remainder)
        await self._corrected.carry(source.name, target.name, persons)
        # The queue first: what is learned from now on is learned where it belongs.
        turns = await asyncio.to_thread(self._bring_turns, remainder, batch)
        self._unread.drop_scope(source.name)
        carry = _Carry(
            batch, target, remainder, self._former, self._store, self._vault, self._catalogue,
            self._living,
        )  # fmt: skip
        await self._run(carry)
        return Brought(source.name, target.name, carry.done, turns, carry.left)

    def _persons(self, remainder: Remainder) -> set[str]:
        """Who has said what is brought."""
        ours = remainder.conversations
        turns = self._turns.of_scope(remainder.source.name)
        return {turn.person for turn in turns if {turn.conversation, turn.map_key} & ours}

    def _bring_turns(self, remainder: Remainder, batch: str) -> int:
        source, target = remainder.source.name, remainder.target.name
        tickets = self._turns.tickets(source, remainder.conversations)
        _note(self._store, batch, [Added(target, ticket, _TURN) for ticket in tickets])
        return len(self._turns.rescope(tickets, source, target))

    async def last(self, requester: Requester) -> UndoRecord | None:
        """What this person did last in this conversation, if it was to bring something."""
        return await self._editor.last_batch(requester)

    async def take_back(self, undo_record: UndoRecord) -> BroughtBack:
        """What was brought goes back, as far as it is as it came. Raises StateUnavailable."""
        source = await asyncio.to_thread(self._vault.named, undo_record.source)
        back = _CarryBack(
            undo_record, source, self._store, self._vault, self._catalogue, self._living
        )
        await self._run(back)
        await asyncio.to_thread(self._take_turns_back, undo_record)
        self._unread.drop_scope(undo_record.target)
        await self._editor.drop_undo_batch(undo_record)
        return BroughtBack(undo_record.source, undo_record.target, back.done, back.left)

    def _take_turns_back(self, undo_record: UndoRecord) -> None:
        added = self._store.added(undo_record.memory_id)
        tickets = [one.memory_id for one in added if one.digest == _TURN]
        back = self._turns.rescope(tickets, undo_record.target, undo_record.source)
        keys = [Key(undo_record.target, ticket) for ticket in back]
        self._store.mark_taken_back(undo_record.memory_id, keys)


def _note(store: SqliteMigrationStore, batch: str, added: Sequence[Added]) -> None:
    """As it is now, whether or not it was noted before. Blocks."""
    store.keep_added(batch, added)
    store.renew_added(batch, added)


class _Mover:
    """Moves one memory at a time: no write waits for more than that."""

    def __init__(self, vault: MarkdownVault, living: RecallableMemories) -> None:
        self._vault = vault
        self._living = living
        self.done = 0
        self.left = 0

    async def move(self, stored: StoredMemory, target: Scope) -> StoredMemory | None:
        """None where a person has changed it or taken it out. Raises VaultWriteFailed."""
        async with self._living.writing:
            try:
                moved = await asyncio.to_thread(self._vault.move, stored, target)
            except KeyError:
                self.left += 1
                return None
            self._living.drop(stored)
            self._living.take(moved)
        self.done += 1
        return moved


class _Carry(_Mover):
    """A ``Walk`` over what belongs to the other scope."""

    def __init__(
        self,
        batch: str,
        target: Scope,
        remainder: Remainder,
        former: FormerScopes,
        store: SqliteMigrationStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
    ) -> None:
        super().__init__(vault, living)
        self._batch = batch
        self._target = target
        self._remainder = remainder
        self._former = former
        self._store = store
        self._catalogue = catalogue

    @property
    def name(self) -> str:
        """Of its own."""
        return f"carry-{self._batch}"

    async def list(self) -> Sequence[str]:
        """The memories that still stand in the former scope."""
        return [one.memory.memory_id for one in self._former.memories(self._remainder)]

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Some of them."""
        for memory_id in ids:
            stored = self._catalogue.get(Key(self._remainder.source.name, memory_id))
            if stored is None:
                continue
            memory, target = stored.memory, self._target
            if not (may_stand(memory, target) and has_known_readers(target, memory)):
                self.left += 1
                continue
            # Before it moves: a crash in between leaves a note of what did not move, and a taking
            # back passes that over.
            await self._note(stored)
            moved = await self.move(stored, self._target)
            if moved is not None and moved.memory != stored.memory:
                await self._note(moved)
        return WalkBatch()

    async def _note(self, stored: StoredMemory) -> None:
        memory = stored.memory
        added = Added(self._target.name, memory.memory_id, entry_digest(memory))
        await asyncio.to_thread(_note, self._store, self._batch, [added])


class _CarryBack(_Mover):
    """A ``Walk`` over what a batch brought: back to where it was."""

    def __init__(
        self,
        undo_record: UndoRecord,
        source: Scope | None,
        store: SqliteMigrationStore,
        vault: MarkdownVault,
        catalogue: Catalogue,
        living: RecallableMemories,
    ) -> None:
        super().__init__(vault, living)
        self._batch = undo_record.memory_id
        self._source = source
        self._store = store
        self._catalogue = catalogue

    @property
    def name(self) -> str:
        """Of its own."""
        return f"carry-back-{self._batch}"

    async def list(self) -> Sequence[str]:
        """The memories that were brought and did not go back yet."""
        added = await asyncio.to_thread(self._store.added, self._batch)
        self.left = 0
        return [one.memory_id for one in added if one.digest and one.digest != _TURN]

    async def step(self, ids: Sequence[str]) -> WalkBatch:
        """Some of them: those that are as they came."""
        for one in await asyncio.to_thread(self._store.added, self._batch, ids):
            stored = self._catalogue.get(Key(one.scope, one.memory_id))
            same = stored is not None and entry_digest(stored.memory) == one.digest
            if stored is None or not same or self._source is None:
                self.left += 1
            elif await self.move(stored, self._source) is not None:
                await asyncio.to_thread(
                    self._store.mark_taken_back, self._batch, [entry_key(stored)]
                )
        return WalkBatch()
