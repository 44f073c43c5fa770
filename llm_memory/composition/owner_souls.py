"""A soul of a bot's store for its owner at the command line, where no model is."""

from __future__ import annotations

import asyncio
from contextlib import closing

from ..models.conversation import Actor
from ..models.settings import EngineSettings
from ..models.soul import soul_folder
from ..models.soul_requests import SoulOutcome, SoulRequest
from ..soul.soul_files import SoulFiles
from ..soul.soul_reader import SoulReader, or_refused
from ..storage.soul_heads import SoulHeads
from ..storage.state_store import ForgetfulState, SqliteStateStore
from .engine import build_engine
from .paths import EnginePaths


async def ask_as_owner(
    paths: EnginePaths,
    settings: EngineSettings,
    request: SoulRequest,
    persona: str,
    *,
    version: str = "",
) -> SoulOutcome:
    """Carry out what the owner asks of a persona's soul, or say why not. The rules alone evaluate.
    Raises ScopedMemoryError, DirectoryInUse while a bot has the store open."""
    # What an engine without the bot remembers is forgotten, but for the ends of the chains.
    engine = build_engine(paths, settings, version=version, remembers=False)
    state = SqliteStateStore(paths.state / "state.sqlite", version=version)
    try:
        await engine.open()
        await asyncio.to_thread(state.open)
        souls = engine.parts.souls_over(state, None)
        return await souls.ask(request, persona, Actor("", "", admin=True))
    finally:
        state.close()
        await engine.close()


def look_as_owner(paths: EnginePaths, request: SoulRequest, persona: str) -> SoulOutcome:
    """Returns what the owner asks to see. Writes nothing, so a bot may have the store open.
    Blocks."""
    with closing(ForgetfulState(paths.state / "state.sqlite")) as state:
        state.open()
        reader = SoulReader(SoulFiles(paths.memory), SoulHeads(state))
        role = soul_folder(persona)
        return or_refused(lambda: reader.answer(request, reader.standing(role)))
