"""Opens what a process left behind, without its index, and holds it against the ledger."""

from __future__ import annotations

from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EnginePaths,
    EngineSettings,
    NoticeCode,
    build_engine,
)
from astrbot_plugin_scoped_memory.tests.support.load.cast import (
    CONVERSATIONS,
    PUBLIC,
    SCOPES,
    base_map,
    conversation,
    marks_in,
    scope_of,
)
from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures
from astrbot_plugin_scoped_memory.tests.support.load.ledger import Found, Ledger

_EVERYTHING = 10**9
_DAMAGE = frozenset(
    {
        NoticeCode.DIRECTORY_IN_USE,
        NoticeCode.MAP_DAMAGED,
        NoticeCode.STATE_RESET,
        NoticeCode.VAULT_FILE_BROKEN,
        NoticeCode.VAULT_UNWRITABLE,
    }
)


async def compare(root: Path, ledger: Ledger, figures: Figures) -> None:
    """Every acknowledged text is in its scope, once, and nowhere else; damage that the
    engine reports counts as a failure, too."""
    figures.checks += 1
    engine = build_engine(EnginePaths.under(root), EngineSettings(scope_map=base_map()))
    await engine.open()
    try:
        status = await engine.status()
        found: list[Found] = []
        for scope, reader in _readers().items():
            newest = await engine.service.newest(conversation_id=reader, limit=_EVERYTHING)
            for stored in newest:
                if stored.scope.name != scope:
                    continue
                memory = stored.memory
                (mark,) = marks_in(memory.judgment)
                place = memory.provenance.conversation
                found.append(Found(mark.serial, scope, mark.scope, memory.memory_id, place))
    finally:
        await engine.close()
    figures.verdict.add(ledger.settle(found))
    strange = {s: n for s, n in status.by_scope.items() if s not in {*SCOPES, PUBLIC}}
    if strange:
        figures.failures.append({"event": "strange scopes", "scopes": strange})
    said = [n for n in status.notices if n.code in _DAMAGE]
    if said:
        figures.failures.append({"event": "notices at a comparison", "notices": str(said)})


def _readers() -> dict[str, ConversationId]:
    """A conversation for each scope."""
    scope_map = base_map()
    here = {n: scope_of(conversation(n).umo, scope_map) for n in range(CONVERSATIONS)}
    return {scope: conversation(n) for n, scope in here.items() if scope is not None}
