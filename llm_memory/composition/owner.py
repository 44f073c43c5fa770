"""What the owner of a store asks at the command line, whichever program of his has it open."""

from __future__ import annotations

import asyncio
import getpass
from dataclasses import replace
from functools import partial
from typing import Final

from ..models.conversation import Actor, ConversationId
from ..models.scope import PUBLIC_NAME
from ..models.status import EngineStatus, Listing, Notice
from ..vault.rules.templates import CONSTITUTION
from .engine import Engine

PERSON: Final = "owner:cli"
"""The account of whoever asks here. No caller can name another one."""


class Owner:
    """Answers as ``OwnerMemory``, with the rights of an admin. Who asks has read the endpoint file,
    and could edit the Markdown as well."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        try:
            name = getpass.getuser()
        except (OSError, KeyError, ImportError):  # a user without a name, as in a container
            name = "owner"
        self._actor = Actor(PERSON, name, admin=True)
        # Of the conversation's own scope, and as the service does it for an admin.
        self.forget = partial(engine.service.forget, actor=self._actor)
        self.edit = partial(engine.service.edit, actor=self._actor)
        self.vouch = partial(engine.service.vouch, actor=self._actor)
        self.restore = partial(engine.service.restore, actor=self._actor)
        self.decide = partial(engine.service.decide, actor=self._actor)

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

    async def status(self, *, conversation_id: ConversationId) -> EngineStatus:
        """Returns how the store is doing now, whichever conversation asks."""
        status = await self._engine.status()
        # A home has no scope map that could be wrong: each project has its scope by itself.
        notices = [one for one in status.notices if not one.code.startswith("map_")]
        if await asyncio.to_thread(self._engine.parts.primer.rules_changed, "owner"):
            notices.append(Notice("constitution_changed", params={"path": CONSTITUTION}))
        return replace(status, notices=tuple(notices))
