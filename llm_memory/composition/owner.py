"""What the owner of a store asks at the command line, whichever program of his has it open."""

from __future__ import annotations

import asyncio
import getpass
import os
from contextlib import closing
from functools import partial
from typing import Final

from ..models.conversation import Actor, ConversationId
from ..models.data_models import UndoOutcome, absent, is_absent
from ..models.deeds import DeedKind
from ..models.resolution import Usable
from ..models.scope import PUBLIC_NAME
from ..models.settings import EngineSettings
from ..models.soul import soul_folder
from ..models.soul_requests import SoulOutcome, SoulRequest
from ..models.status import IndexState, Listing, Notice, NoticeCode, StoreStatus, StoreWarning
from ..models.tasks import TaskAction, TaskChange, TaskReport
from ..soul.soul_files import SoulFiles
from ..soul.soul_reader import SoulReader, or_refused
from ..storage.soul_heads import SoulHeads
from ..storage.state_store import ForgetfulState, SqliteStateStore
from ..vault.rules.templates import CONSTITUTION
from .engine import Engine, build_engine
from .paths import EnginePaths

PERSON: Final = "owner:cli"
"""The account of whoever asks here. No caller can name another one."""
_OF_A_MAP: Final = frozenset(code for code in NoticeCode if code.startswith("map_"))
_OPEN: Final = (IndexState.BUILDING, IndexState.READY)
_OPENING_SECONDS: Final = 3.0
"""So long a status waits for the index of words, which opens beside the engine: a program that is
started for one status would tell of an index that is not open."""
_LOOK_SECONDS: Final = 0.02


class Owner:
    """Answers as ``OwnerMemory``, with the rights of an admin. Who asks has read the endpoint file,
    and could edit the Markdown as well."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._service = engine.service
        self._actor = Actor(PERSON, _login_name(), admin=True)
        self.refused = ""
        """Why the embedding service of the settings is not used."""
        # Of the conversation's own scope, and as the service does it for an admin.
        self.forget = partial(engine.service.forget, actor=self._actor)
        self.edit = partial(engine.service.edit, actor=self._actor)
        self.decide = partial(engine.service.decide, actor=self._actor)

    async def listed(
        self, *, conversation_id: ConversationId, limit: int, naming: str = "", public: bool = True
    ) -> Listing:
        """Returns the newest memories that the conversation sees. ``naming``: those alone that hold
        each of these words. ``public``: with those of the public scope."""
        found = await self._service.newest(
            conversation_id=conversation_id, limit=limit + 1 if public else None, naming=naming
        )
        if not public:
            found = [stored for stored in found if stored.scope.name != PUBLIC_NAME]
        return Listing(tuple(found[:limit]), more=len(found) > limit)

    async def restore(self, memory_id: str = "", *, conversation_id: ConversationId) -> UndoOutcome:
        """Take back what was done last to a memory of the conversation's own scope. Without an id:
        what the owner did last in that scope or in the public one and that can still be undone."""
        if memory_id:
            return await self._service.restore(
                memory_id, conversation_id=conversation_id, actor=self._actor
            )
        report = await self._service.describe(conversation_id=conversation_id)
        if not isinstance(report.resolution, Usable):
            return absent()
        changed, sources = "", {report.resolution.scope.name, PUBLIC_NAME}
        for done in self._engine.parts.corrected.undoable(person=PERSON):
            if done.scope in sources and done.kind is not DeedKind.BROUGHT:
                where = ConversationId.parse(done.door)
                outcome = await self._service.undo(done, conversation_id=where, actor=self._actor)
                if not is_absent(outcome):
                    return outcome
                changed = changed or outcome.detail
        return absent(changed)

    async def status(self, *, conversation_id: ConversationId) -> StoreStatus:
        """Returns how the store is doing now."""
        parts = self._engine.parts
        await self._until_words()
        report = await self._service.update_tasks(
            TaskChange(TaskAction.LIST), conversation_id=conversation_id, actor=self._actor
        )
        status = await self._engine.status()
        # A home has no scope map that could be wrong: each project has its scope by itself.
        notices = [notice for notice in status.notices if notice.code not in _OF_A_MAP]
        if await parts.primer.rules_changed("owner"):
            notices.append(Notice(NoticeCode.CONSTITUTION_CHANGED, params={"path": CONSTITUTION}))
        notes = sum(status.notes.values())
        entries = status.total + notes
        return StoreStatus(
            os.getpid(),
            memories=status.by_scope,
            notes=notes,
            tasks=len(report.open) if isinstance(report, TaskReport) else 0,
            words=entries - parts.lexical.pending if status.words in _OPEN else None,
            vectors=entries - status.backlog if status.index in _OPEN else None,
            index=status.index,
            embedder=status.embedder,
            refused=self.refused,
            warnings=tuple(
                StoreWarning(one.code, one.subject, " ".join(filter(None, one.params.values())))
                for one in notices
            ),
        )

    async def _until_words(self) -> None:
        words, now = self._engine.parts.lexical, asyncio.get_running_loop().time
        latest = now() + _OPENING_SECONDS
        while now() < latest:
            if words.in_step or words.state is IndexState.OFF:
                return
            await asyncio.sleep(_LOOK_SECONDS)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in a container
        return "owner"


async def change_soul(
    paths: EnginePaths,
    settings: EngineSettings,
    request: SoulRequest,
    persona: str,
    *,
    version: str = "",
) -> SoulOutcome:
    """Carry out what the owner of a bot asks of a persona's soul, or say why not. The rules alone
    evaluate. Raises ScopedMemoryError, EngineOff while the bot has the store open."""
    # What an engine without the bot remembers is forgotten, but for the ends of the chains.
    state = SqliteStateStore(paths.state / "state.sqlite", version=version)
    parts = {"soul_state": state}
    async with build_engine(
        paths, settings, version=version, remembers=False, replacing=parts
    ) as engine:
        return await engine.service.souls.ask(request, persona, Actor("", "", admin=True))


def look_at_soul(paths: EnginePaths, request: SoulRequest, persona: str) -> SoulOutcome:
    """Returns what the owner asks to see. Writes nothing, so a bot may have the store open.
    Blocks."""
    with closing(ForgetfulState(paths.state / "state.sqlite")) as state:
        state.open()
        reader = SoulReader(SoulFiles(paths.memory), SoulHeads(state))
        role = soul_folder(persona)
        return or_refused(lambda: reader.answer(request, reader.standing(role)))
