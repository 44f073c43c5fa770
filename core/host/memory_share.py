"""Lets coding agents on this machine use the bot's memory, where the owner has switched it on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from astrbot.api import logger

from ...llm_memory import CognitiveService
from ...llm_memory.texts import Texts


class _Server(Protocol):
    async def close(self) -> None: ...


@dataclass
class MemoryShare:
    """``open``, then ``close``; neither raises. ``address`` is ``host:port``, empty for a free port
    of this machine alone; None where sharing is off."""

    service: CognitiveService
    state: Path
    address: str | None
    texts: Texts
    _server: _Server | None = None

    async def open(self) -> None:
        """Listen, if it is on."""
        if self.address is None:
            return
        # Loaded where it is wanted alone.
        from ...llm_memory.sharing.server import LOOPBACK, SharingServer

        host, _, port = self.address.rpartition(":")
        at = host or LOOPBACK
        server = SharingServer(self.service, self.state, host=at, port=int(port or 0))
        try:
            await server.open()
        except (ImportError, OSError) as error:
            logger.warning(self.texts.say("log.share_failed", detail=error))
            return
        self._server = server

    async def close(self) -> None:
        """Answer the calls that began, and stop listening. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            await server.close()
