"""What comes from elsewhere is brought behind the bot, once its own files were read."""

from __future__ import annotations

from ...llm_memory import Engine


async def bring_memories(engine: Engine) -> None:
    """Run the engine's migrations, and go on listening for what admins ask, until cancelled. The
    engine's log says what begins and ends; how far it is and what it waits for, the status."""
    await engine.migrate()
