"""What the owner of a home does to its memories, whichever program of the same user asks."""

from __future__ import annotations

import asyncio
import getpass
import os
from collections.abc import Callable
from functools import partial
from typing import Final

from ..composition.engine import Engine
from ..models.conversation import Actor, ConversationId
from ..models.data_models import Refused, RestoreOutcome, absent, is_absent
from ..models.deeds import DeedKind
from ..models.resolution import Usable
from ..models.scope import PUBLIC_NAME
from ..models.status import IndexState, Listing, Notice, NoticeCode, StoreStatus, StoreWarning
from ..models.tasks import TaskAction, TaskChange, TaskReport
from ..vault.rules.templates import CONSTITUTION

PERSON: Final = "owner:cli"
"""The account of whoever asks here. No caller can name another one."""
_OF_A_MAP: Final = frozenset(code for code in NoticeCode if code.startswith("map_"))
_OPEN: Final = (IndexState.BUILDING, IndexState.READY)
_OPENING_SECONDS: Final = 3.0
"""So long a status waits for the index of words, which opens beside the engine: a program that is
started for one status would tell of an index that is not open."""
_LOOK_SECONDS: Final = 0.02


class OwnerDoor:
    """Answers as ``OwnerMemory``, with the rights of an admin. Who asks has read the endpoint file,
    and could edit the Markdown as well."""

    def __init__(self, engine: Engine, refused: Callable[[], str]) -> None:
        """``refused`` tells why the embedding service of the settings is not used."""
        self._engine = engine
        self._refused = refused
        self._owner = Actor(PERSON, _login_name(), admin=True)
        # Of the conversation's own scope, and as the service does it for an admin.
        self.forget = partial(engine.service.forget, actor=self._owner)
        self.edit = partial(engine.service.edit, actor=self._owner)
        self.decide = partial(engine.service.decide, actor=self._owner)

    async def listed(
        self, *, conversation_id: ConversationId, limit: int, naming: str = "", public: bool = True
    ) -> Listing:
        """Returns the newest memories that the conversation sees. ``naming``: those alone that hold
        each of these words. ``public``: with those of the public scope."""
        found = await self._engine.service.newest(
            conversation_id=conversation_id, limit=limit + 1 if public else None, naming=naming
        )
        if not public:
            found = [stored for stored in found if stored.scope.name != PUBLIC_NAME]
        return Listing(tuple(found[:limit]), more=len(found) > limit)

    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId
    ) -> RestoreOutcome | Refused:
        """Take back what was done last to a memory of the conversation's own scope. Without an id:
        what the owner did last in that scope or in the public one and that can still be undone."""
        if not memory_id:
            return await self._undo_last(conversation_id)
        return await self._engine.service.restore(
            memory_id, conversation_id=conversation_id, actor=self._owner
        )

    async def _undo_last(self, conversation_id: ConversationId) -> RestoreOutcome | Refused:
        service, changed = self._engine.service, ""
        report = await service.describe(conversation_id=conversation_id)
        if not isinstance(report.resolution, Usable):
            return absent()
        sources = {report.resolution.scope.name, PUBLIC_NAME}
        for done in self._engine.parts.corrected.undoable(person=PERSON):
            if done.source in sources and done.kind is not DeedKind.BROUGHT:
                where = ConversationId.parse(done.deeds[0].door)
                outcome = await service.undo(done, conversation_id=where, actor=self._owner)
                if not is_absent(outcome):
                    return outcome
                changed = changed or outcome.detail
        return absent(changed)

    async def status(self, *, conversation_id: ConversationId) -> StoreStatus:
        """Returns how the store is doing now."""
        engine = self._engine
        await self._until_words()
        report = await engine.service.update_tasks(
            TaskChange(TaskAction.LIST), conversation_id=conversation_id, actor=self._owner
        )
        status = await engine.status()
        # A home has no scope map that could be wrong: each project has its scope by itself.
        notices = [notice for notice in status.notices if notice.code not in _OF_A_MAP]
        if await engine.parts.primer.rules_changed("owner"):
            notices.append(Notice(NoticeCode.CONSTITUTION_CHANGED, params={"path": CONSTITUTION}))
        notes = sum(status.notes.values())
        entries = status.total + notes
        words = entries - engine.parts.lexical.pending if status.words in _OPEN else None
        return StoreStatus(
            os.getpid(),
            memories=status.by_scope,
            notes=notes,
            tasks=len(report.open) if isinstance(report, TaskReport) else 0,
            words=words,
            vectors=entries - status.backlog if status.index in _OPEN else None,
            index=status.index,
            embedder=status.embedder,
            refused=self._refused(),
            warnings=tuple(map(_warning, notices)),
        )

    async def _until_words(self) -> None:
        words, now = self._engine.parts.lexical, asyncio.get_running_loop().time
        latest = now() + _OPENING_SECONDS
        while now() < latest:
            if words.in_step or words.state is IndexState.OFF:
                return
            await asyncio.sleep(_LOOK_SECONDS)


def _warning(notice: Notice) -> StoreWarning:
    return StoreWarning(notice.code, notice.subject, " ".join(filter(None, notice.params.values())))


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in a container
        return "owner"
