"""What comes before the vault: drafts, which are checked for quality, requests for secrecy and
private data, and batches that pass no checks: adopted, migrated and restored memories."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..errors import VaultWriteFailed
from ..models.data_models import Memory, MemoryDraft, Reason, Refused, StoredMemory, Topic
from ..models.passages import Key
from ..models.scope import Scope
from ..models.settings import PrivacyMode
from ..models.status import Notice
from ..runtime.cooperative import unhurried
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.scope_book import ScopeBook
from ..vault.markdown_vault import MarkdownVault
from ..vault.models import PartlyWritten
from .deeds import Deeds
from .rules.gate import is_off_the_record, says_nothing, tidy, told_in_confidence
from .rules.private import protect
from .rules.routing import topic_for


@dataclass(eq=False)
class DraftChecks:
    """All writes except people's edits of files pass here: tools, commands, reflection."""

    _book: ScopeBook
    _mode: PrivacyMode

    async def examine(self, draft: MemoryDraft, scope: Scope) -> MemoryDraft | Refused:
        """Returns the draft as it may be stored in the scope, or why it is rejected."""
        return await asyncio.to_thread(self._examined, draft, scope)

    def _examined(self, draft: MemoryDraft, scope: Scope) -> MemoryDraft | Refused:
        # Tidied first: invisible characters must not hide a number from the privacy rules.
        tidied = tidy(draft)
        if isinstance(tidied, Refused):
            return tidied
        if says_nothing(tidied.judgment):
            return Refused(Reason.EMPTY)
        heard = draft.heard or ""
        if is_off_the_record(heard) or is_off_the_record(tidied.judgment):
            return Refused(Reason.NOT_TO_BE_KEPT)
        refused = self._book.no_confidence(scope)
        if refused is not None and told_in_confidence(tidied, heard):
            return refused
        return protect(tidied, self._mode)


def not_written(error: VaultWriteFailed, notices: NoticeBoard) -> Refused:
    """Post a notice for the owner's status. Returns the answer for the caller."""
    params = {"detail": str(error)}
    notices.post(Notice("vault_unwritable", params=params, error=True))
    return Refused(Reason.NOT_WRITTEN, detail=str(error))


@dataclass(eq=False)
class Intake:
    """Takes batches as they are. The caller is responsible for their scope, and for idempotent ids:
    a record has the same id each time it is brought. A batch that was begun is completed also if
    the caller is cancelled; EngineClosed is raised before that."""

    _vault: MarkdownVault
    _catalogue: Catalogue
    _recallable: RecallableMemories
    _notices: NoticeBoard
    _book: ScopeBook
    _deeds: Deeds
    _life: Lifespan

    async def take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        """Write what the scope does not hold yet, and make it recallable. Returns what was written.

        An entry that the scope has, or that was forgotten or corrected there, is not changed: a
        repeated batch adds nothing. Raises VaultWriteFailed: some may have been written; a
        repetition writes the rest.
        """
        return await self._life.finish(partial(self._take, scope, memories))

    async def _take(self, scope: Scope, memories: Sequence[Memory]) -> list[StoredMemory]:
        async with self._recallable.writing:
            entries = await asyncio.to_thread(self._wanted, scope, memories)
            if not entries:
                return []
            await self._book.bring(scope)
            stored: Sequence[StoredMemory] = ()
            try:
                stored = await asyncio.to_thread(self._vault.append_many, scope, entries)
            except VaultWriteFailed as error:
                stored = error.written if isinstance(error, PartlyWritten) else ()
                not_written(error, self._notices)
                raise
            finally:
                async for one in unhurried(stored):
                    self._recallable.take(one)
            self._notices.clear("vault_unwritable")
        return [*stored]

    def _wanted(self, scope: Scope, memories: Sequence[Memory]) -> list[tuple[Topic, Memory]]:
        """Returns those that are neither there, nor forgotten or corrected, each id once."""
        living = self._catalogue.get
        by_id = {m.memory_id: m for m in memories if living(Key(scope.name, m.memory_id)) is None}
        forgotten = self._vault.forgotten(scope, by_id.keys())
        would_revive = self._deeds.texts.would_revive
        return [
            (topic_for(memory), memory)
            for name, memory in by_id.items()
            if name not in forgotten and not would_revive(scope.name, memory, memory.created_at)
        ]
