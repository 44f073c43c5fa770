"""A store that this process owns: its engine, what runs behind it, and the server for others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..composition.engine import Engine, build_engine
from ..composition.owner import Owner
from ..errors import InvalidService
from ..index.embedding.ports import Embedder
from ..index.embedding.service.address import key_from
from ..index.embedding.service.embedding_service import EmbeddingService
from ..log import logger
from ..models.settings import EngineSettings, LoopSettings, Pace
from ..models.soul import SoulEvolution
from ..models.status import Notice
from ..service.indexes import provider_embedder
from ..service.paths import EnginePaths
from ..sharing.ports import SharedMemory
from ..sharing.server import SharingServer
from .embedder_choice import chosen_embedder
from .setting_values import spoken
from .settings import HomeSettings


@dataclass(slots=True)
class OwnedStore:
    """``open``, then ``close``. ``memory`` and ``owner`` may be asked at once; they wait for
    ``open``.

    Attributes:
        pace: How the indexes are followed.
        refused: Why the embedding service of the settings is not used.
    """

    paths: EnginePaths
    settings: HomeSettings
    environ: Mapping[str, str]
    version: str
    pace: Pace = field(default_factory=Pace)
    engine: Engine = field(init=False)
    owner: Owner = field(init=False)
    refused: str = field(init=False, default="")
    _server: SharingServer | None = field(init=False, default=None)
    _behind: list[asyncio.Task[None]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        settings = replace(engine_settings(self.settings), pace=self.pace)
        self.engine = build_engine(self.paths, settings, version=self.version, remembers=True)
        self.owner = Owner(self.engine)

    @property
    def memory(self) -> SharedMemory:
        """The cognitive service."""
        return self.engine.service

    async def open(self, *, shared: bool = True, vectors: bool = True) -> None:
        """Own the folder, read it, follow it, and answer others. Without ``vectors`` their index
        stays as it is; neither ``shared`` nor with vectors, it is asked once, and follows nothing.
        Raises EngineOff; whatever it raises, ``close`` is due."""
        await self.engine.open()
        # A command asks once, and at once: what is taken in later comes too late for it.
        await self.engine.reconcile()
        await self.engine.scan_notes()
        embedder = None
        try:
            embedder = choose_embedder(self.engine, self.settings, self.environ)
        except InvalidService as error:
            self.refused = error.said.text(spoken(self.settings.language))
            logger.warning("service_unused", error=self.refused)
            params = {"embedder": "http", "detail": self.refused}
            self.engine.parts.notices.post(Notice("embedder_failing", params=params))
        if shared or vectors:
            self._behind = [asyncio.create_task(self.engine.follow())]
        if vectors:
            self._behind.append(asyncio.create_task(self.engine.run(embedder)))
        if shared:
            server = SharingServer(self.engine.service, self.paths.state, owner=self.owner)
            try:
                await server.open()
            except (ImportError, OSError) as error:
                logger.warning("not_shared", error=error)
            else:
                self._server = server

    async def close(self) -> None:
        """Answer the calls that began, then release the store. Idempotent."""
        if self._server is not None:
            await self._server.close()
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        await self.engine.close()


def engine_settings(settings: HomeSettings) -> EngineSettings:
    """What an engine of a home is told: agents have a scope for each project, no model reads
    turns, no manner is learned, and another process that has the folder is met at once."""
    return EngineSettings(
        scope_per_project=True,
        privacy_mode=settings.privacy_mode,
        soul_evolution=SoulEvolution.OFF,
        open_retry_seconds=0.0,
        loop=LoopSettings(
            reads_turns=False, sleep_at=None, english=spoken(settings.language) == "en"
        ),
    )


def choose_embedder(
    engine: Engine, settings: HomeSettings, environ: Mapping[str, str]
) -> Embedder | None:
    """Returns what the settings name. None: words alone. Raises InvalidService."""
    match chosen_embedder(settings):
        case "lexical":
            return None
        case "bundled":
            return engine.parts.bundled
        case "http":
            key = key_from(environ, settings.embedding_key_env, settings.embedding_key_file)
            url, model = settings.embedding_url, settings.embedding_model
            raw = EmbeddingService(url, model, key=key)
            return provider_embedder(raw, engine_settings(settings))
        case folder:
            return engine.parts.local(folder)
