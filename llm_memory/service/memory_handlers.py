"""Writing: draft -> gate -> route -> vault -> catalogue -> index."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import (
    MAX_STRENGTH,
    Memory,
    MemoryDraft,
    Provenance,
    Reinforced,
    Rejected,
    RejectReason,
    RememberOutcome,
    Stored,
    StoredMemory,
)
from ..models.notices import Notice, NoticeCode, Severity
from ..models.scope import Scope
from ..policies.gate import tidy
from ..policies.routing import route
from ..policies.text import same_words
from ..policies.vault_layout import ARCHIVE
from ..ports import Vault
from .catalogue import Catalogue
from .identifiers import Clock, make_id
from .living import LivingMemories
from .notice_board import NoticeBoard

_REINFORCE_BY = 5


class MemoryHandlers:
    """The one writer of memories. A write that began is finished, also if its caller goes away."""

    def __init__(
        self,
        vault: Vault,
        catalogue: Catalogue,
        living: LivingMemories,
        notices: NoticeBoard,
        clock: Clock,
    ) -> None:
        self._vault = vault
        self._catalogue = catalogue
        self._living = living
        self._notices = notices
        self._clock = clock
        self._lock = asyncio.Lock()

    async def write(
        self, draft: MemoryDraft, scope: Scope, *, conversation: str, trusted: bool, role: str
    ) -> RememberOutcome:
        """Acknowledged means on disk. The same words of the same speaker only grow stronger."""
        tidied = tidy(draft)
        if isinstance(tidied, Rejected):
            return tidied
        memory = self._memory(tidied, conversation=conversation, trusted=trusted, role=role)
        async with self._lock:
            try:
                known = self._catalogue.same_words(scope, memory)
                reinforced = await self._reinforce(known, memory) if known else None
                outcome = reinforced or await self._append(scope, memory)
            except VaultWriteFailed as error:
                return self._not_written(error)
            self._notices.clear(NoticeCode.VAULT_UNWRITABLE)
        return outcome

    async def _append(self, scope: Scope, memory: Memory) -> Stored:
        topic = route(memory.kind, memory.judgment, trusted=memory.provenance.trusted)
        stored = await asyncio.to_thread(self._vault.append, scope, topic, memory)
        self._living.take(stored)
        logger.debug("记住了 {} -> {}", stored.memory.memory_id, stored.path)
        return Stored(stored)

    async def _reinforce(self, known: StoredMemory, said: Memory) -> Reinforced | None:
        """None if a person has changed the entry or taken it out: said again, it is written."""
        current = await asyncio.to_thread(self._vault.current, known)
        if current is None:
            self._living.drop(known)
            return None
        if current != known:
            self._living.take(current)
        if same_words(current.memory.judgment) != same_words(said.judgment):
            return None
        strength = min(current.memory.strength + _REINFORCE_BY, MAX_STRENGTH)
        stronger = replace(current.memory, strength=strength, active=True)
        try:
            stored = await asyncio.to_thread(self._vault.replace, current, stronger)
        except KeyError:  # changed again between our two looks
            return None
        self._living.take(stored)
        return Reinforced(stored)

    def _memory(self, draft: MemoryDraft, *, conversation: str, trusted: bool, role: str) -> Memory:
        now = self._clock().replace(microsecond=0)
        actor = draft.actor or Actor(person="", name="")
        return Memory(
            memory_id=make_id("m", self._clock()),
            judgment=draft.judgment,
            created_at=now,
            reasoning=draft.reasoning,
            tags=draft.tags,
            kind=draft.kind,
            active=draft.active,
            strength=draft.strength,
            provenance=Provenance(actor.name, actor.person, conversation, draft.source, trusted),
            role=role,
            context=draft.context,
        )

    async def archive(self, stored: StoredMemory, by: Actor) -> str | Rejected | None:
        """The archive's path; None if a person has taken the entry out already."""
        async with self._lock:
            try:
                at = self._clock().replace(microsecond=0)
                target = await asyncio.to_thread(self._vault.archive, stored, by=by, at=at)
            except VaultWriteFailed as error:
                return self._not_written(error)
            except KeyError:
                self._living.drop(stored)
                return None
            self._living.drop(stored)
        return target

    async def archived(self, scope: Scope, memory_id: str) -> StoredMemory | None:
        """A forgotten entry of the scope."""
        memory = await asyncio.to_thread(self._vault.archived, scope, memory_id)
        return None if memory is None else StoredMemory(scope, ARCHIVE, memory)

    async def restore(self, scope: Scope, memory_id: str) -> StoredMemory | Rejected | None:
        """The entry, living again; None if the archive has none."""
        async with self._lock:
            try:
                stored = await asyncio.to_thread(self._vault.restore, scope, memory_id)
            except VaultWriteFailed as error:
                return self._not_written(error)
            if stored is not None:
                self._living.take(stored)
        return stored

    def _not_written(self, error: VaultWriteFailed) -> Rejected:
        params = {"detail": str(error)}
        self._notices.post(
            Notice(NoticeCode.VAULT_UNWRITABLE, params=params, severity=Severity.ERROR)
        )
        return Rejected(RejectReason.NOT_WRITTEN, detail=str(error))
