"""The engine's own recall, in a process of its own: a line with a question in, a line with the
milliseconds out. Started by ``mcp_server.py`` with the interpreter that its servers have."""

import asyncio
import sys
import time
from pathlib import Path

from llm_memory import Actor, ConversationId
from llm_memory.home.owned_store import OwnedStore
from llm_memory.home.settings import load_settings
from llm_memory.service.paths import EnginePaths

WHERE = ConversationId.parse("mcp:global:home")
AGENT = Actor("mcp:agent", "benchmark")


async def main(home: str, embedding: str, limit: int, budget: int) -> None:
    flags = {"home": home, "embedding": embedding}
    loaded = load_settings(flags=flags, environ={"HOME": home}, cwd=Path(home))
    store = OwnedStore(EnginePaths.under(loaded.settings.home), loaded.settings, {}, "")
    await store.open(shared=False)
    words, notes = store.engine.parts.lexical, store.engine.parts.note_book
    while not (words.in_step and notes.scanned):  # noqa: ASYNC110  (nothing tells when)
        await asyncio.sleep(0.05)
    print("ready", flush=True)  # noqa: T201
    loop = asyncio.get_running_loop()
    while question := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        began = time.perf_counter()
        await store.memory.recall(
            question, conversation_id=WHERE, limit=limit, token_budget=budget, actor=AGENT
        )
        print((time.perf_counter() - began) * 1000, flush=True)  # noqa: T201
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
