"""Edits, moves and undo: what an admin does to a memory by command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.talk_anchor import without_anchor
from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.corrections import CorrectionKind
from ..models.data_models import (
    Edited,
    Memory,
    MemoryDraft,
    Moved,
    Refused,
    Source,
    StoredMemory,
    Undone,
)
from ..models.passages import Key
from ..models.scope import Scope
from ..models.status import NoticeCode
from ..models.vault_layout import ARCHIVE
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import content_hash
from ..vault.archive import forgotten_note
from ..vault.markdown.escaping import escape_inline
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import UndoKind, UndoRecord
from .corrected_statements import CorrectedStatements
from .draft_checks import DraftChecks, not_written
from .rules.gate import is_quotation

_CORRECTION_OF: Final = {
    UndoKind.FORGET: CorrectionKind.FORGOTTEN,
    UndoKind.EDIT: CorrectionKind.EDITED,
    UndoKind.MOVE: CorrectionKind.MOVED,
}


@dataclass(frozen=True, slots=True)
class Requester:
    """The actor of a change, and the conversation."""

    actor: Actor
    conversation: str


@dataclass(eq=False)
class MemoryEditor:
    """Edits and moves entries, and undoes both. None stands for an entry that a person deleted."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _notices: NoticeBoard
    _checks: DraftChecks
    _corrected: CorrectedStatements
    _clock: Clock

    async def edit(
        self, stored: StoredMemory, text: str, requester: Requester, *, own: bool
    ) -> Edited | Refused | None:
        """Replace an entry's words; its speaker and all else are kept. ``own``: its speaker edits
        it. Else the words are another's from now on, and are marked so."""
        actor = requester.actor
        by = "" if own else escape_inline(actor.name or actor.person, also="·")
        draft = MemoryDraft(text, source=Source.COMMAND, actor=requester.actor)
        passed = await self._checks.examine(draft, stored.scope)
        if isinstance(passed, Refused):
            return passed
        now = self._clock().replace(microsecond=0)
        words = await asyncio.to_thread(resolve_dates, passed.draft.judgment, now)

        def step() -> StoredMemory:
            current = self._vault.current(stored)
            if current is None:
                raise KeyError(stored.memory.memory_id)
            memory = current.memory
            said = (words, memory.reasoning, *memory.tags)
            quoted = is_quotation(said, trusted=memory.provenance.trusted)
            changed = replace(memory.with_words(words, by), quoted=quoted)
            return self._vault.edit(current, changed, by=requester.actor, at=now)

        edited = await self._corrected_by(CorrectionKind.EDITED, stored, step, requester)
        if isinstance(edited, StoredMemory):
            await self._corrected.edited(edited.scope.name, edited.memory)
            await self.note(UndoKind.EDIT, edited, edited.scope, requester, left_words(edited))
            return Edited(edited, stored.memory.judgment, passed.hidden)
        return edited

    async def amend(
        self, stored: StoredMemory, made: Callable[[Memory], Memory], requester: Requester
    ) -> StoredMemory | Refused | None:
        """Apply ``made`` to an entry as it is now; the former version is archived. The bot does it
        for the requester: an undo takes it back by the id alone, not as the person's last deed."""

        def step() -> StoredMemory:
            current = self._vault.current(stored)
            if current is None:
                raise KeyError(stored.memory.memory_id)
            changed = made(current.memory)
            if changed == current.memory:
                return current
            at = self._clock().replace(microsecond=0)
            return self._vault.edit(current, changed, by=requester.actor, at=at)

        amended = await self._change(stored, step)
        if isinstance(amended, StoredMemory):
            bot = replace(requester, actor=replace(requester.actor, person=""))
            await self.note(UndoKind.EDIT, amended, amended.scope, bot, left_words(amended))
        return amended

    async def annotate(
        self, stored: StoredMemory, made: Callable[[Memory], Memory]
    ) -> StoredMemory | Refused | None:
        """Apply ``made`` to the fields of an entry as it is now. No undo takes it back."""

        def step() -> StoredMemory:
            current = self._vault.current(stored)
            if current is None:
                raise KeyError(stored.memory.memory_id)
            changed = made(current.memory)
            return current if changed == current.memory else self._vault.replace(current, changed)

        return await self._change(stored, step)

    async def move(
        self, stored: StoredMemory, target: Scope, requester: Requester
    ) -> Moved | Refused | None:
        """Move the entry to the other scope."""
        moved = await self._corrected_by(
            CorrectionKind.MOVED,
            stored,
            lambda: self._vault.move(stored, target),
            requester,
            target,
        )
        if isinstance(moved, StoredMemory):
            # If the target had an entry of that id already, an undo must not take its words.
            await self.note(UndoKind.MOVE, moved, stored.scope, requester, left_words(stored))
            return Moved(moved, stored.scope.name)
        return moved

    async def undo_record(self, memory_id: str, sources: Collection[Scope]) -> UndoRecord | None:
        """Returns the last undo record of a memory in these scopes: not that it was to be
        forgotten, where a kill came before it was."""
        names = {source.name for source in sources}
        for one in await self._look_up(lambda: self._vault.ledger.undo_records(memory_id)):
            stands = one.kind is UndoKind.FORGET and self.standing(one.source, memory_id)
            if one.source in names and not stands:
                return one
        return None

    async def undo_records(self, requester: Requester) -> list[UndoRecord]:
        """Returns what this person did in this conversation, the last first. Raises
        StateUnavailable."""
        person, conversation = requester.actor.person, requester.conversation
        if not person:
            return []
        return await asyncio.to_thread(
            lambda: self._vault.ledger.undo_records(person=person, conversation=conversation)
        )

    def standing(self, scope: str, memory_id: str) -> StoredMemory | None:
        """Returns the living memory of that scope and id, if any."""
        return self._catalogue.get(Key(scope, memory_id))

    async def folders(self) -> list[str]:
        """Returns the names of the scopes that have a folder."""
        return [scope.name for scope in await asyncio.to_thread(self._vault.scopes)]

    async def inhabited(self) -> list[str]:
        """Returns the names of the scopes in whose files anything stands."""
        return await asyncio.to_thread(self._vault.inhabited)

    async def take_back(self, undo_record: UndoRecord) -> Undone | Refused | None:
        """Undo an edit or a move."""
        stored = self.standing(undo_record.target, undo_record.memory_id)
        if stored is None:
            return None
        back: StoredMemory | Refused | None
        if undo_record.kind is UndoKind.MOVE:
            home = self._vault.named(undo_record.source)
            if home is None:
                return None
            back = await self._change(stored, lambda: self._back(stored, home, undo_record))
        else:
            back = await self._change(stored, lambda: self._unedited(stored, undo_record))
        if isinstance(back, StoredMemory):
            await self.drop_undo_record(undo_record)
            kind = _CORRECTION_OF[undo_record.kind]
            await self._corrected.withdraw([kind], undo_record.source, [undo_record.memory_id])
            return Undone(back, moved=undo_record.kind is UndoKind.MOVE)
        return back

    def _back(self, stored: StoredMemory, home: Scope, undo_record: UndoRecord) -> StoredMemory:
        """Move an entry back as it left; later changes in the other scope stay there."""
        return self._vault.move(self._unchanged(stored, undo_record), home)

    def _unedited(self, stored: StoredMemory, undo_record: UndoRecord) -> StoredMemory | None:
        """Restore an entry's former words, unless a person has changed it since."""
        return self._vault.unedit(self._unchanged(stored, undo_record))

    def _unchanged(self, stored: StoredMemory, undo_record: UndoRecord) -> StoredMemory:
        """Returns the entry as the change left it. Raises KeyError if it was changed since."""
        current = self._vault.current(stored)
        if current is None or left_words(current) != undo_record.words:
            raise KeyError(undo_record.memory_id)
        return current

    async def note(
        self,
        kind: UndoKind,
        stored: StoredMemory,
        source: Scope,
        requester: Requester,
        words: str = "",
    ) -> None:
        """Record a change for undo. A failure to record does not undo the change."""
        memory_id, target = stored.memory.memory_id, stored.scope.name
        person, conversation = requester.actor.person, requester.conversation
        undo_record = UndoRecord(
            0, kind, memory_id, source.name, target, person, conversation, words
        )
        await self._keep(lambda: self._vault.ledger.add_undo_record(undo_record))

    async def note_forgotten(
        self, leaving: Sequence[StoredMemory], at: datetime, requester: Requester
    ) -> None:
        """Record entries that are about to be forgotten together, for one undo: a kill may come
        when only some of them are. ``at``: as the archive will note it."""
        words = content_hash(repr(forgotten_note(requester.actor, at)))
        if len(leaving) == 1:
            await self.note(UndoKind.FORGET, leaving[0], leaving[0].scope, requester, words)
            return
        keys = " ".join(f"{one.scope.name}/{one.memory.memory_id}" for one in leaving)
        person, conversation = requester.actor.person, requester.conversation
        undo_record = UndoRecord(0, UndoKind.SEVERAL, keys, "", "", person, conversation, words)
        await self._keep(lambda: self._vault.ledger.add_undo_record(undo_record))

    async def note_replaced(
        self, new: StoredMemory, former: StoredMemory, requester: Requester
    ) -> None:
        """Record that an entry took the place of another one of its scope."""
        former_id = former.memory.memory_id
        await self.note(UndoKind.REPLACE, new, new.scope, requester, former_id)

    async def note_batch(
        self, batch: str, source: Scope, target: Scope, requester: Requester
    ) -> None:
        """Record a batch that is about to be brought from one scope to another."""
        person, conversation = requester.actor.person, requester.conversation
        names = (batch, source.name, target.name)
        undo_record = UndoRecord(0, UndoKind.BRING, *names, person, conversation)
        await self._keep(lambda: self._vault.ledger.add_undo_record(undo_record))

    async def drop_undo_records(self, memory_id: str, target: str) -> None:
        """Drop all undo records of what stood in this scope: a memory that was purged, or a batch
        that was undone."""
        for one in await self._look_up(lambda: self._vault.ledger.undo_records(memory_id)):
            if one.target == target:
                await self.drop_undo_record(one)

    async def drop_undo_record(self, undo_record: UndoRecord) -> None:
        """Drop the undo record of a change, which was undone."""
        await self._keep(lambda: self._vault.ledger.drop_undo_record(undo_record.number))

    async def _corrected_by(
        self,
        kind: CorrectionKind,
        stored: StoredMemory,
        step: Callable[[], StoredMemory | None],
        requester: Requester,
        target: Scope | None = None,
    ) -> StoredMemory | Refused | None:
        """Record the correction first: a kill in between must not lose it."""
        number = await self._corrected.note(
            kind,
            stored.scope.name,
            stored.memory,
            by=requester.actor.name or requester.actor.person,
            target=target.name if target else "",
        )
        changed = await self._change(stored, step)
        if not isinstance(changed, StoredMemory):
            await self._corrected.drop([number])
        return changed

    async def _change(
        self, stored: StoredMemory, step: Callable[[], StoredMemory | None]
    ) -> StoredMemory | Refused | None:
        async with self._recallable.writing:
            try:
                changed = await asyncio.to_thread(step)
            except VaultWriteFailed as error:
                return not_written(error, self._notices)
            except KeyError:
                # A person changed or deleted it; the next round finds out which.
                return None
            if changed is not None:
                if changed.scope != stored.scope:
                    self._recallable.drop(stored)
                self._recallable.take(changed)
            self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
            return changed

    async def _keep(self, step: Callable[[], None]) -> None:
        try:
            await asyncio.to_thread(step)
        except StateUnavailable as error:
            logger.warning("undo_not_noted", error=error)

    async def _look_up(self, step: Callable[[], list[UndoRecord]]) -> list[UndoRecord]:
        try:
            return await asyncio.to_thread(step)
        except StateUnavailable as error:
            logger.warning("undo_unread", error=error)
            return []


def left_words(stored: StoredMemory) -> str:
    """Returns the hash by which an undo tells what a change left: an entry's content without its
    strength, which changes by itself; of an archived one, when and by whom it was forgotten."""
    if stored.path == ARCHIVE:
        return content_hash(repr(stored.memory.extra[-2:]))
    memory = without_anchor(stored.memory)  # a move drops it
    said = (memory.judgment, memory.reasoning, memory.tags, memory.context)
    return content_hash(repr((*said, memory.provenance.who, memory.extra)))
