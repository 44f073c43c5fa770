"""Changes of entries that stand: edit, move, settle, archive, restore, and what an undo does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final

from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.rules.closing import closed
from ..catalogue.rules.proposals import is_accepted, is_decided
from ..catalogue.rules.talk_anchor import without_anchor
from ..catalogue.rules.tasks import done, is_task
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
    Topic,
    absent,
    shown_day,
)
from ..models.deeds import Deed, DeedKind, Requester
from ..models.passages import place_name
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from ..models.status import Notice
from ..models.vault_layout import ARCHIVE, topic_of
from ..runtime.cooperative import unhurried
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..text.dates.date_annotation import resolve_dates
from ..text.normalising import content_hash, same_words
from ..vault.markdown.escaping import escape_inline
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import PartlyWritten
from .deeds import Deeds, lost
from .exclusions import Exclusions
from .rules.gate import is_off_the_record, says_nothing, tidy, told_in_confidence, topic_for
from .rules.private import protect
from .vouching import HomeVouchers, as_vouched, quoted

REPLACED: Final = ("被 {} 取代", "Replaced by {}")
"""Who has forgotten it, as the archive says, in Chinese and in English."""

type Made = Callable[[Memory], Memory]
type Step = Callable[[StoredMemory], StoredMemory | None]
"""Given an entry as it stands now, writes and returns it. None, KeyError: a person was faster."""

_FILE: Final = attrgetter("scope.name", "path")
_SCOPE: Final = attrgetter("scope")


@dataclass(eq=False)
class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    _book: ScopeBook
    _mode: PrivacyMode
    _exclusions: Exclusions

    def examine(self, draft: MemoryDraft, scope: Scope) -> MemoryDraft | Refused:
        """Returns the draft as it may be stored in the scope, or why it is rejected. Blocks."""
        # Tidied first: invisible characters must not hide a number from the privacy rules.
        tidied = tidy(draft)
        if isinstance(tidied, Refused):
            return tidied
        if says_nothing(tidied.judgment):
            return Refused("empty")
        heard = draft.heard or ""
        if is_off_the_record(heard) or is_off_the_record(tidied.judgment):
            return Refused("not_to_be_kept")
        learned = draft.source is Source.REFLECTION  # and not what somebody wants remembered
        person = draft.actor.person if draft.actor else ""
        text = f"{tidied.judgment}\n{tidied.reasoning}"
        if learned and self._exclusions.forbids(scope.name, text, person):
            return Refused("not_to_be_kept")
        refused = self._book.no_confidence(scope)
        if refused is not None and told_in_confidence(tidied, heard):
            return refused
        return protect(tidied, self._mode)


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Refused:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice("vault_unwritable", params=params, error=True))
    return Refused("not_written", detail=str(error))


@dataclass(eq=False)
class MemoryEditor:
    """Changes entries one at a time. What a person changed or deleted meanwhile is ``absent``."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _notices: NoticeBoard
    _checks: DraftChecks
    _deeds: Deeds
    _vouchers: HomeVouchers | None
    _clock: Clock
    _english: bool

    async def edit(
        self, stored: StoredMemory, text: str, requester: Requester, *, own: bool
    ) -> Changed | Refused:
        """Replace an entry's words alone. Unless its speaker edits his ``own``, they are marked as
        another's."""
        by = "" if own else escape_inline(requester.name, also="·")
        draft = MemoryDraft(text, source=Source.COMMAND, actor=requester.actor)
        passed = await asyncio.to_thread(self._checks.examine, draft, stored.scope)
        if isinstance(passed, Refused):
            return passed
        words = await asyncio.to_thread(resolve_dates, passed.judgment, self._now())

        def made(memory: Memory) -> Memory:
            return quoted(memory.with_words(words, by))

        after = left_words(replace(stored, memory=made(stored.memory)))
        deed = replace(lost(DeedKind.EDITED, stored.scope.name, stored.memory), after=after)
        step = self._writing(made, requester.actor)
        edited = await self._correct(stored, step, deed, requester)
        if isinstance(edited, Refused):
            return edited
        await self._deeds.stands(edited.scope.name, [edited.memory])
        said, hidden = stored.memory.judgment, passed.hidden
        return Changed(DeedKind.EDITED, edited, before=said, hidden=hidden)

    async def move(
        self, stored: StoredMemory, target: Scope, requester: Requester
    ) -> Changed | Refused:
        """Move the entry to the other scope."""
        kind, home = DeedKind.MOVED, stored.scope.name
        # If the target has an entry of that id already, an undo must not take its words.
        deed = replace(
            lost(kind, home, stored.memory, target=target.name), after=left_words(stored)
        )
        step = partial(self._vault.move, target=target)
        moved = await self._correct(stored, step, deed, requester)
        return moved if isinstance(moved, Refused) else Changed(kind, moved, before=home)

    async def annotate(
        self, stored: StoredMemory, made: Made, requester: Requester | None = None
    ) -> StoredMemory | Refused:
        """Apply ``made`` to an entry as it is now. For a requester its former version is archived,
        and an undo by its id takes that back: the bot does it, so it is no deed of the person."""
        step = self._writing(made, requester.actor if requester else None)
        changed = await self._change(stored, step)
        if requester is not None and isinstance(changed, StoredMemory):
            bot = replace(requester, actor=replace(requester.actor, person=""))
            deed = Deed(DeedKind.AMENDED, changed.scope.name, changed.memory.memory_id)
            await self._deeds.note([replace(deed, after=left_words(changed), undoable=True)], bot)
        return changed

    async def vouch(self, stored: StoredMemory, *, trusted: bool) -> Changed | Refused:
        """Vouch for an entry, or take that back: a standing instruction moves to those, or leaves
        them."""
        made = partial(as_vouched, trusted=trusted)

        def step(current: StoredMemory) -> StoredMemory | None:
            if self._vouchers is not None:
                self._vouchers.vouch(current.scope, current.memory, trusted=trusted)
            wanted = made(current.memory)
            topic, rules = topic_for(wanted), Topic.INSTRUCTIONS
            if (topic is rules) is (topic_of(current.path) is rules):
                return self._writing(made)(current)
            return self._vault.refile(current, topic, wanted)

        vouched = await self._change(stored, step)
        if isinstance(vouched, Refused):
            return vouched
        # A home has vouchers of its own, whatever the file says.
        return Changed(DeedKind.AMENDED, self._catalogue.get(entry_key(vouched)) or vouched)

    async def close(self, former: StoredMemory, by: StoredMemory) -> bool:
        """Mark an entry as settled by another one with the same readers. Returns False if that
        failed, a person has changed it, or a record alone settles it."""
        if place_name(former) != place_name(by) or entry_key(former) == entry_key(by):
            return False

        def settled(current: StoredMemory) -> StoredMemory | None:
            memory, new = current.memory, by.memory
            if not _says_as(former, current) or is_accepted(memory):
                return None
            if is_task(current):
                memory = done(memory, shown_day(new.created_at, ""), new.who)
            return self._vault.replace(current, closed(memory, new.memory_id))

        return isinstance(await self._change(former, settled), StoredMemory)

    async def supersede(self, former: StoredMemory, successor: StoredMemory) -> bool:
        """Archive an entry that ``successor``, an entry of its scope on disk, replaces. Returns
        False if that failed, a person has changed it, it is a decided proposal, or the successor is
        gone meanwhile: two that replace each other must not both go."""
        async with self._recallable.writing:
            there = self._catalogue.get(entry_key(successor)) is not None
            current = await self._unchanged(former) if there else None
            return current is not None and await self._put_away(current, successor)

    async def _put_away(self, former: StoredMemory, successor: StoredMemory) -> bool:
        """The same for who holds the lock and has looked."""
        memory = successor.memory
        why = REPLACED[self._english].format(memory.memory_id)
        by = Actor(memory.provenance.person, why)
        try:
            kept = is_decided(former.memory)
            return not kept and await self._leave(former, by, memory.created_at)
        except VaultWriteFailed as error:
            logger.debug("the former memory was not archived: {}", error)
            return False

    async def archive(
        self, found: Iterable[StoredMemory], by: Actor
    ) -> tuple[list[StoredMemory], Refused | None]:
        """Archive entries, a file at a time, but for what a person has deleted already. Returns
        what it did archive, and why not all, if the vault cannot be written."""
        gone, at = list[StoredMemory](), self._now()
        try:
            for _, some in groupby(sorted(found, key=_FILE), _FILE):
                known = list(some)
                async with self._recallable.writing:
                    left = await asyncio.to_thread(self._vault.archive_many, known, by=by, at=at)
                    gone += left
                    async for one in unhurried(left):
                        self._recallable.drop(one)
                    there = set(map(entry_key, left))
                    for one in known:  # what a person has just reworded goes as it is now
                        if entry_key(one) not in there and await self._leave(one, by, at):
                            gone.append(one)
        except VaultWriteFailed as error:
            return gone, not_written(error, self._notices)
        return gone, None

    async def _leave(self, stored: StoredMemory, by: Actor, at: datetime) -> bool:
        """Archive one for who holds the lock. Returns False if a person has deleted it. Raises
        VaultWriteFailed."""
        path = None
        with suppress(KeyError):
            path = await asyncio.to_thread(self._vault.archive, stored, by=by, at=at)
        self._recallable.drop(stored)
        return path is not None

    async def purge(self, found: Iterable[StoredMemory]) -> str:
        """Delete every copy of forgotten entries from the archive. Returns what is left for the
        night, and why; empty for nothing."""
        left = ""
        for scope, some in groupby(sorted(found, key=_FILE), _SCOPE):
            ids = {one.memory.memory_id for one in some}
            await self._deeds.purged(scope.name, ids)
            async with self._recallable.writing:
                try:
                    await asyncio.to_thread(self._vault.purge, scope, partial(_is_of, ids), ids)
                except VaultWriteFailed as error:
                    left = str(error)
        return left

    async def restore(
        self, found: Iterable[StoredMemory]
    ) -> tuple[list[StoredMemory], Refused | None]:
        """Bring back entries of the archive, and turns that are not read yet. Returns what stands
        again, and why not all, if the vault cannot be written."""
        back, refused = list[StoredMemory](), None
        for scope, some in groupby(sorted(found, key=_FILE), _SCOPE):
            here = list(some)
            ids = {one.memory.memory_id for one in here if one.path == ARCHIVE}
            async with self._recallable.writing:
                try:
                    entries = await asyncio.to_thread(self._vault.restore, scope, ids)
                except VaultWriteFailed as error:
                    entries = list(error.written) if isinstance(error, PartlyWritten) else []
                    refused = not_written(error, self._notices)
                async for one in unhurried(entries):
                    self._recallable.take(one)
            standing = [*entries, *(one for one in here if one.path != ARCHIVE)]
            await self._deeds.stands(scope.name, [one.memory for one in standing])
            back += standing
            if refused is not None:
                break
        return back, refused

    async def take_back(self, standing: StoredMemory, deed: Deed) -> Changed | Refused:
        """Undo an edit or a move, unless the entry was changed since."""
        home = self._vault.named(deed.scope)

        def step(current: StoredMemory) -> StoredMemory | None:
            if home is None or left_words(current) != deed.after:
                return None
            edited = deed.kind is not DeedKind.MOVED
            return self._vault.unedit(current) if edited else self._vault.move(current, home)

        back = await self._change(standing, step)
        if isinstance(back, Refused):
            return back
        await self._deeds.drop([deed.number])
        return Changed(deed.kind, back, undone=True)

    async def folders(self) -> list[str]:
        """Returns the scopes that have a folder."""
        return [scope.name for scope in await asyncio.to_thread(self._vault.scopes)]

    async def _correct(
        self, stored: StoredMemory, step: Step, deed: Deed, requester: Requester
    ) -> StoredMemory | Refused:
        """Note the correction first: a kill in between must not lose it."""
        numbers = await self._deeds.note([replace(deed, undoable=True)], requester)
        changed = await self._change(stored, step)
        if isinstance(changed, Refused):
            await self._deeds.drop(numbers)
        return changed

    async def _change(self, stored: StoredMemory, step: Step) -> StoredMemory | Refused:
        """One change of one entry, as it stands now."""
        async with self._recallable.writing:
            try:
                changed = await self._do(stored, step)
            except VaultWriteFailed as error:
                return not_written(error, self._notices)
        return changed or absent(stored.memory.memory_id)

    async def _do(self, stored: StoredMemory, step: Step) -> StoredMemory | None:
        """The same for who holds the lock. Raises VaultWriteFailed."""

        def now() -> StoredMemory | None:
            current = self._vault.current(stored)
            return step(current) if current else None

        changed = None
        with suppress(KeyError):
            changed = await asyncio.to_thread(now)
        if changed is None:  # a person changed or deleted it; the next round finds out which
            return None
        if changed.scope != stored.scope:
            self._recallable.drop(stored)
        self._recallable.take(changed)
        self._notices.clear("vault_unwritable")
        return changed

    def _writing(self, made: Made, by: Actor | None = None) -> Step:
        """``by``: who gives it other words, so that its former version goes to the archive."""

        def step(current: StoredMemory) -> StoredMemory:
            changed = made(current.memory)
            if changed == current.memory:
                return current
            edit = partial(self._vault.edit, by=by, at=self._now()) if by else self._vault.replace
            return edit(current, changed)

        return step

    async def _unchanged(self, known: StoredMemory) -> StoredMemory | None:
        """Returns the entry as it is now; None if a person has changed its words or deleted it."""
        current = await asyncio.to_thread(self._vault.current, known)
        if current is None:
            self._recallable.drop(known)
        elif current != known:
            self._recallable.take(current)
        return current if current is not None and _says_as(known, current) else None

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)


def _is_of(memory_ids: Collection[str], memory: Memory) -> bool:
    return memory.memory_id in memory_ids


def _says_as(known: StoredMemory, current: StoredMemory) -> bool:
    return same_words(current.memory.judgment) == same_words(known.memory.judgment)


def left_words(stored: StoredMemory) -> str:
    """Returns the digest of what a change left, without its strength, which changes by itself."""
    memory = without_anchor(stored.memory)  # a move drops it
    said = (memory.judgment, memory.reasoning, memory.tags, memory.context)
    return content_hash(repr((*said, memory.provenance.who, memory.extra)))
