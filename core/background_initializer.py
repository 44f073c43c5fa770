"""The owner task: open the engine, choose the embedder, keep the index up, behind the bot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from astrbot.api import logger

from .host.bot import LEXICAL, choose_embedder
from .host.package_installer import bundled_model_for_here
from .migrations.memory_scope_migration import bring_memories

if TYPE_CHECKING:
    from .plugin_context import PluginContext

_BREATH_SECONDS = 5.0
"""After AstrBot's own start, before the index: importing Chroma and reading a dictionary take the
interpreter for seconds, while the panel gives its first answers and the chat platforms connect."""


async def own(plugin: PluginContext) -> None:
    """Open; keep up with the files from then on, whatever comes of the rest; choose an embedder,
    and keep the index up. Runs until cancelled."""
    engine, say, just_started = plugin.engine, plugin.texts.say, plugin.up.is_set()
    for text in plugin.unusable():
        logger.warning(text)
    await engine.open()
    plugin.spawn(engine.follow(), "files")
    total = (await engine.status()).total
    logger.info(say("log.opened", version=plugin.version, total=total))
    if plugin.config.mcp_share is not None:
        plugin.spawn(_share(plugin, plugin.config.mcp_share), "share")
    await engine.scan_notes()
    if just_started:
        await asyncio.sleep(_BREATH_SECONDS)
    plugin.spawn(bring_memories(engine), "migrations")
    plugin.spawn(engine.reflection.run(), "reader")
    wanted = plugin.config.embedding
    embedder = choose_embedder(plugin.astrbot, wanted, engine.parts)
    plugin.spawn(plugin.schedule.run(), "nights")
    label = embedder.label if embedder is not None else ""
    code = "log.embedder" if label else "log.words_alone" if wanted == LEXICAL else "log.no_model"
    logger.info(say(code, label=label, name=bundled_model_for_here()))
    await engine.run(embedder)


async def _share(plugin: PluginContext, address: str) -> None:
    """Let coding agents on this machine use the bot's memory; a server that cannot listen is told
    in the log. Ends when the calls that began are answered."""
    # Loaded where it is wanted alone.
    from ..llm_memory.sharing.server import LOOPBACK, SharingServer

    host, _, port = address.rpartition(":")
    try:
        number, state = int(port or 0), plugin.paths.state
        server = SharingServer(plugin.service, state, host=host or LOOPBACK, port=number)
        try:
            await server.open()
            await asyncio.Event().wait()
        finally:
            await server.close()
    except (ImportError, OSError, OverflowError, ValueError) as error:
        logger.warning(plugin.texts.say("log.share_failed", detail=error))
