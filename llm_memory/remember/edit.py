"""Changes of entries that stand: edit, move, settle, archive, restore, and what an undo does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.closing import closed, closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.day_journal import NOTHING
from ..catalogue.rules.proposals import is_accepted, is_decided
from ..catalogue.rules.talk_anchor import without_anchor
from ..catalogue.rules.tasks import done, is_task, reopened
from ..errors import VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import (
    Changed,
    Memory,
    MemoryDraft,
    Refused,
    Source,
    StoredMemory,
    shown_day,
)
from ..models.deeds import DeedKind, Done, Requester
from ..models.passages import Key, place_name
from ..models.scope import Scope
from ..models.status import NoticeCode
from ..models.vault_layout import ARCHIVE
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import content_hash, same_words
from ..vault.archive import forgotten_note
from ..vault.markdown.escaping import escape_inline
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import PartlyWritten
from .deeds import Deeds
from .draft_checks import DraftChecks, not_written
from .rules.gate import is_quotation

_SLICE: Final = 25
"""Entries handed to the indexes, or taken out of them, before control returns to the event loop."""
_EMPTIED: Final = Actor("", "空了的日记")

type Made = Callable[[Memory], Memory]
type Step = Callable[[StoredMemory], StoredMemory | None]
"""Given an entry as it stands now, writes and returns it. KeyError: a person was faster."""


@dataclass(eq=False)
class MemoryEditor:
    """Changes entries one at a time. None stands for an entry that a person changed or deleted
    meanwhile."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _notices: NoticeBoard
    _checks: DraftChecks
    _deeds: Deeds
    _clock: Clock

    async def edit(
        self, stored: StoredMemory, text: str, requester: Requester, *, own: bool
    ) -> Changed | Refused | None:
        """Replace an entry's words; its speaker and all else are kept. ``own``: its speaker edits
        it. Else the words are another's from now on, and are marked so."""
        by = "" if own else escape_inline(requester.name, also="·")
        draft = MemoryDraft(text, source=Source.COMMAND, actor=requester.actor)
        passed = await self._checks.examine(draft, stored.scope)
        if isinstance(passed, Refused):
            return passed
        words = await asyncio.to_thread(resolve_dates, passed.draft.judgment, self._now())

        def made(memory: Memory) -> Memory:
            said = (words, memory.reasoning, *memory.tags)
            quoted = is_quotation(said, trusted=memory.provenance.trusted)
            return replace(memory.with_words(words, by), quoted=quoted)

        step = self._rewriting(made, requester.actor)
        edited = await self._corrected_by(DeedKind.EDITED, stored, step, requester)
        if not isinstance(edited, StoredMemory):
            return edited
        await self._deeds.edited(edited.scope.name, edited.memory)
        before, hidden = stored.memory.judgment, passed.hidden
        return Changed(DeedKind.EDITED, edited, before=before, hidden=hidden)

    async def move(
        self, stored: StoredMemory, target: Scope, requester: Requester
    ) -> Changed | Refused | None:
        """Move the entry to the other scope."""
        # If the target had an entry of that id already, an undo must not take its words.
        moved = await self._corrected_by(
            DeedKind.MOVED,
            stored,
            lambda _: self._vault.move(stored, target),
            requester,
            target.name,
        )
        if not isinstance(moved, StoredMemory):
            return moved
        return Changed(DeedKind.MOVED, moved, before=stored.scope.name)

    async def amend(
        self, stored: StoredMemory, made: Made, requester: Requester
    ) -> StoredMemory | Refused | None:
        """Apply ``made`` to an entry as it is now; the former version is archived. The bot does it
        for the requester: an undo takes it back by the id alone, not as the person's last deed."""
        amended = await self._change(stored, self._rewriting(made, requester.actor))
        if isinstance(amended, StoredMemory):
            bot = replace(requester, actor=replace(requester.actor, person=""))
            key = entry_key(amended)
            await self._deeds.note_done(
                DeedKind.AMENDED, key.scope, key.memory_id, bot, after=left_words(amended)
            )
        return amended

    async def annotate(self, stored: StoredMemory, made: Made) -> StoredMemory | Refused | None:
        """Apply ``made`` to the fields of an entry as it is now. No undo takes it back."""
        return await self._change(stored, self._replacing(made))

    async def close(self, former: StoredMemory, by: StoredMemory) -> bool:
        """Mark an entry as settled by another one with the same readers. Returns False if that
        failed, a person has changed its words or deleted it, or it is an accepted proposal: a
        record alone settles that."""
        if place_name(former) != place_name(by) or entry_key(former) == entry_key(by):
            return False
        day, who = shown_day(by.memory.created_at, ""), by.memory.who

        def settled(current: StoredMemory) -> StoredMemory | None:
            if not _says_as(former, current) or is_accepted(current.memory):
                raise KeyError(former.memory.memory_id)
            memory = done(current.memory, day, who) if is_task(current) else current.memory
            return self._vault.replace(current, closed(memory, by.memory.memory_id))

        return isinstance(await self._change(former, settled), StoredMemory)

    async def supersede(self, former: StoredMemory, successor: StoredMemory) -> bool:
        """Archive an entry that ``successor``, an entry of its scope on disk, replaces. Returns
        False if that failed, a person has changed its words or deleted it, it is a decided
        proposal, or the successor is gone meanwhile: two that replace each other must not both
        go."""
        async with self._recallable.writing:
            if self._catalogue.get(entry_key(successor)) is None:
                return False
            current = await self._unchanged(former)
            return current is not None and await self._put_away(current, successor)

    async def repoint(self, former: StoredMemory, successor: StoredMemory) -> None:
        """Re-point entries that ``former`` settled to ``successor``, before ``former`` is archived.
        The caller holds the lock."""
        if place_name(former) != place_name(successor):
            return
        heir = successor.memory.memory_id
        for stored in await self.settled_in(former.scope):
            if closed_by(stored.memory) == former.memory.memory_id:
                own = stored.memory.memory_id == heir
                await self._reclose(stored, _opened if own else partial(closed, by=heir))

    async def reopen(self, stored: StoredMemory) -> None:
        """Take the mark off an entry whose settling statement is gone, and off its task."""
        async with self._recallable.writing:
            await self._reclose(stored, _opened)

    async def settled_in(self, scope: Scope) -> list[StoredMemory]:
        """Returns the entries of a scope that another one settled."""
        entries = self._catalogue.of_scope(scope)
        return await asyncio.to_thread(lambda: [one for one in entries if closed_by(one.memory)])

    async def _reclose(self, stored: StoredMemory, made: Made) -> None:
        """Rewrite the entry unless a person has changed the mark or deleted the entry."""

        def step(current: StoredMemory) -> StoredMemory:
            if closed_by(current.memory) != closed_by(stored.memory):
                raise KeyError(stored.memory.memory_id)
            return self._vault.replace(current, made(current.memory))

        try:
            await self._do(stored, step)
        except VaultWriteFailed as error:
            logger.debug("the closing of {} was not rewritten: {}", stored.memory.memory_id, error)

    async def rewrite_journal(self, stored: StoredMemory, words: str) -> None:
        """Put other words in a day's journal; one without any goes to the archive, without the
        words that were corrected. Raises VaultWriteFailed."""

        def step(current: StoredMemory) -> StoredMemory | None:
            told = replace(current.memory, judgment=words or NOTHING)
            if told != current.memory:
                current = self._vault.replace(current, told)
            if words:
                return current
            self._vault.archive(current, by=_EMPTIED, at=self._now())
            return None

        async with self._recallable.writing:
            await self._do(stored, step)

    async def archive(
        self, found: Sequence[StoredMemory], by: Actor, at: datetime
    ) -> tuple[list[StoredMemory], Refused | None]:
        """Archive entries, a file at a time. Returns those that it did archive, and why not all, if
        the vault cannot be written; what a person has deleted already is passed over."""
        by_file: dict[tuple[str, str], list[StoredMemory]] = {}
        for one in found:
            by_file.setdefault((one.scope.name, one.path), []).append(one)
        gone: list[StoredMemory] = []
        steps = list(by_file.values())
        for some in steps:
            async with self._recallable.writing:
                try:
                    left = await asyncio.to_thread(self._archive, some, by, at)
                except VaultWriteFailed as error:
                    return gone, not_written(error, self._notices)
                gone += left
                await self._sliced(self._recallable.drop, left if len(some) > 1 else some)
            if len(some) > 1:  # what a person has just reworded goes one by one, as it is now
                there = {one.memory.memory_id for one in left}
                steps += [[one] for one in some if one.memory.memory_id not in there]
        return gone, None

    def _archive(self, some: list[StoredMemory], by: Actor, at: datetime) -> list[StoredMemory]:
        if len(some) > 1:
            return self._vault.archive_many(some, by=by, at=at)
        try:
            self._vault.archive(some[0], by=by, at=at)
        except KeyError:
            return []
        return some

    async def purge(self, scope: Scope, memory_ids: Collection[str]) -> str:
        """Delete every copy of forgotten entries from the archive. Returns what could not be
        deleted, and why; empty if nothing is left. What is left is tried again at night."""
        for memory_id in memory_ids:
            await self._deeds.note_purged(scope.name, memory_id)
            await self._deeds.no_undo(memory_id, scope.name)

        def is_one(memory: Memory) -> bool:
            return memory.memory_id in memory_ids

        async with self._recallable.writing:
            try:
                await asyncio.to_thread(self._vault.purge, scope, is_one, memory_ids)
            except VaultWriteFailed as error:
                return str(error)
        return ""

    async def archived(self, scope: Scope, memory_ids: Collection[str]) -> list[StoredMemory]:
        """Returns those of these entries that were forgotten in the scope."""
        found = await asyncio.to_thread(self._vault.archived, scope, memory_ids)
        return [StoredMemory(scope, ARCHIVE, memory) for memory in found]

    async def restore(
        self, scope: Scope, memory_ids: Collection[str]
    ) -> tuple[list[StoredMemory], Refused | None]:
        """Returns the restored entries, without those that the archive does not have, and why not
        all, if the vault cannot be written."""
        refused = None
        async with self._recallable.writing:
            try:
                back = await asyncio.to_thread(self._vault.restore, scope, memory_ids)
            except VaultWriteFailed as error:
                back = list(error.written) if isinstance(error, PartlyWritten) else []
                refused = not_written(error, self._notices)
            await self._sliced(self._recallable.take, back)
        return back, refused

    # Undo

    async def scopes(self) -> list[Scope]:
        """Returns the scopes that have a folder."""
        return list(await asyncio.to_thread(self._vault.scopes))

    async def folders(self) -> list[str]:
        """Returns the names of the scopes that have a folder."""
        return [scope.name for scope in await self.scopes()]

    async def inhabited(self) -> list[str]:
        """Returns the names of the scopes in whose files anything stands."""
        return await asyncio.to_thread(self._vault.inhabited)

    async def take_back(self, deed: Done) -> Changed | Refused | None:
        """Undo an edit or a move, unless the entry was changed since."""
        stored = self._catalogue.get(Key(deed.target, deed.memory_id))
        if stored is None:
            return None
        moved = deed.kind is DeedKind.MOVED
        home = self._vault.named(deed.source) if moved else stored.scope
        if home is None:
            return None

        def step(current: StoredMemory) -> StoredMemory | None:
            if left_words(current) != deed.deeds[0].after:
                raise KeyError(deed.memory_id)
            back = self._vault.move(current, home) if moved else self._vault.unedit(current)
            if back is None:
                raise KeyError(deed.memory_id)
            return back

        back = await self._change(stored, step)
        if not isinstance(back, StoredMemory):
            return back
        await self._deeds.undone(deed)
        if deed.kind is not DeedKind.AMENDED:
            await self._deeds.withdraw([deed.kind], deed.source, [deed.memory_id])
        return Changed(deed.kind, back, undone=True)

    # How an entry is changed

    def _rewriting(self, made: Made, by: Actor) -> Step:
        """A step whose former version goes to the archive."""

        def step(current: StoredMemory) -> StoredMemory:
            changed = made(current.memory)
            if changed == current.memory:
                return current
            return self._vault.edit(current, changed, by=by, at=self._now())

        return step

    def _replacing(self, made: Made) -> Step:
        def step(current: StoredMemory) -> StoredMemory:
            changed = made(current.memory)
            return current if changed == current.memory else self._vault.replace(current, changed)

        return step

    async def _corrected_by(
        self,
        kind: DeedKind,
        stored: StoredMemory,
        step: Step,
        requester: Requester,
        target: str = "",
    ) -> StoredMemory | Refused | None:
        """Note the correction first: a kill in between must not lose it."""
        number = await self._deeds.note(kind, stored, requester, target=target)
        changed = await self._change(stored, step)
        if not isinstance(changed, StoredMemory):
            await self._deeds.drop([number])
            return changed
        left = stored if kind is DeedKind.MOVED else changed
        await self._deeds.done(number, requester, left_words(left))
        return changed

    async def _change(self, stored: StoredMemory, step: Step) -> StoredMemory | Refused | None:
        """One change of one entry, as it stands now."""
        async with self._recallable.writing:
            try:
                return await self._do(stored, step)
            except VaultWriteFailed as error:
                return not_written(error, self._notices)

    async def _do(self, stored: StoredMemory, step: Step) -> StoredMemory | None:
        """The same for who holds the lock. Raises VaultWriteFailed."""

        def now() -> StoredMemory | None:
            current = self._vault.current(stored)
            if current is None:
                raise KeyError(stored.memory.memory_id)
            return step(current)

        try:
            changed = await asyncio.to_thread(now)
        except KeyError:  # a person changed or deleted it; the next round finds out which
            return None
        if changed is None or changed.scope != stored.scope:
            self._recallable.drop(stored)
        if changed is not None:
            self._recallable.take(changed)
        self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
        return changed

    async def _unchanged(self, known: StoredMemory) -> StoredMemory | None:
        """Returns the entry as it is now; None if a person has changed its words or deleted it."""
        current = await asyncio.to_thread(self._vault.current, known)
        if current is None:
            self._recallable.drop(known)
            return None
        if current != known:
            self._recallable.take(current)
        return current if _says_as(known, current) else None

    async def _put_away(self, former: StoredMemory, successor: StoredMemory) -> bool:
        memory = successor.memory
        if is_decided(former.memory):
            return False
        by = Actor(memory.provenance.person, f"被 {memory.memory_id} 取代")
        await self.repoint(former, successor)
        try:
            await asyncio.to_thread(self._vault.archive, former, by=by, at=memory.created_at)
        except (KeyError, VaultWriteFailed) as error:
            logger.debug("the former memory was not archived: {}", error)
            return False
        self._recallable.drop(former)
        return True

    async def _sliced(
        self, step: Callable[[StoredMemory], None], entries: Sequence[StoredMemory]
    ) -> None:
        for number, one in enumerate(entries):
            step(one)
            if number % _SLICE == 0:
                await asyncio.sleep(0)

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)


def _says_as(known: StoredMemory, current: StoredMemory) -> bool:
    return same_words(current.memory.judgment) == same_words(known.memory.judgment)


def _opened(memory: Memory) -> Memory:
    """Returns the entry without its mark, and its task open if it is one."""
    return still_open(reopened(memory))


def forgotten_words(requester: Requester, at: datetime) -> str:
    """Returns ``left_words`` of what is about to be forgotten at that time."""
    return content_hash(repr(forgotten_note(requester.actor, at)))


def left_words(stored: StoredMemory) -> str:
    """Returns the digest by which an undo tells what a change left: an entry's content without its
    strength, which changes by itself; of an archived one, when and by whom it was forgotten."""
    if stored.path == ARCHIVE:
        return content_hash(repr(stored.memory.extra[-2:]))
    memory = without_anchor(stored.memory)  # a move drops it
    said = (memory.judgment, memory.reasoning, memory.tags, memory.context)
    return content_hash(repr((*said, memory.provenance.who, memory.extra)))
