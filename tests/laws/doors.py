"""Every door through which a place is told of memories.

``EXACT`` doors show the ids of all that the place may see, ``TELLING`` ones some of their words.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    Exported,
    Hit,
    StoredMemory,
    TaskChange,
)
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import Level, Levels
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.tools import MemoryTools
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulRequest,
)
from astrbot_plugin_scoped_memory.tests.laws.cast import QUERY, Place
from astrbot_plugin_scoped_memory.tests.laws.living_bot import LivingBot, conversation, history_of
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.deciding import ListDecisions

MOST, TOKENS = 90, 20_000
ADMIN = Actor("aiocqhttp:9", "管理员", admin=True)


@dataclass(frozen=True)
class Asking:
    """A bot, and the place that asks it. ``pointers`` lead to all that lives, wherever."""

    bot: LivingBot
    place: Place
    pointers: tuple[str, ...]

    @property
    def where(self) -> ConversationId:
        """As the bot framework names it."""
        return conversation(self.place)

    @property
    def who(self) -> Actor:
        """Who asks: the person of a private chat, else nobody that is known."""
        if not self.place.human:
            return Actor("aiocqhttp:10002", "路人")
        where = self.where
        return Actor(f"{where.adapter}:{where.peer}", self.place.human)


def _ids(hits: Iterable[Hit]) -> set[str]:
    """What others have said just so stands in the same line."""
    return {one.memory_id for hit in hits for one in (hit, *hit.also)}


async def recalled(at: Asking) -> set[str]:
    """By a question."""
    recall = await at.bot.rig.engine.service.recall(
        QUERY, conversation_id=at.where, limit=MOST, token_budget=TOKENS, actor=at.who
    )
    return _ids(recall.hits)


async def by_words(at: Asking) -> set[str]:
    """By the index of words alone."""
    return await _by(at, Arm.LEXICAL)


async def by_vectors(at: Asking) -> set[str]:
    """By the index of vectors alone."""
    return await _by(at, Arm.DENSE)


async def _by(at: Asking, arm: Arm) -> set[str]:
    recall = await recall_by(
        at.bot.rig.engine,
        {arm},
        QUERY,
        conversation_id=at.where,
        limit=MOST,
        token_budget=TOKENS,
    )
    return _ids(recall.hits)


async def newest(at: Asking) -> set[str]:
    """The list."""
    found = await at.bot.rig.engine.service.newest(conversation_id=at.where)
    return {one.memory.memory_id for one in found}


async def exported(at: Asking) -> set[str]:
    """A file for the admin."""
    service = at.bot.rig.engine.service
    outcome = await service.export(conversation_id=at.where, actor=ADMIN)
    assert isinstance(outcome, Exported), outcome
    path = at.bot.root / "exports" / outcome.name
    lines = path.read_text("utf-8").splitlines()
    path.unlink()
    return {name for line in lines if (name := json.loads(line).get("id"))}


async def expanded(at: Asking) -> set[str]:
    """By pointers, which anybody may guess."""
    service = at.bot.rig.engine.service
    found = set()
    for pointer in at.pointers:
        opened = await service.expand(pointer, conversation_id=at.where)
        if isinstance(opened, StoredMemory):
            found.add(opened.memory.memory_id)
    return found


async def told(at: Asking) -> object:
    """The list, as recall tells it."""
    service = at.bot.rig.engine.service
    found = await service.newest(conversation_id=at.where)
    return await service.told(found, conversation_id=at.where, actor=at.who, chars=80)


async def explained(at: Asking) -> object:
    """How recalls came to what they found, and that a primer was given."""
    service = at.bot.rig.engine.service
    return (
        await service.explain(conversation_id=at.where),
        await service.last_primer(conversation_id=at.where),
    )


async def injected(at: Asking) -> tuple[object, object, object]:
    """What a turn begins with, the primer of a conversation that was silent for long in it."""
    start = await at.bot.rig.engine.service.begin_turn(
        QUERY, conversation_id=at.where, actor=at.who, seconds=30.0, limit=MOST,
        token_budget=TOKENS, history=history_of(at.place), new_talk=True, primed=True,
    )  # fmt: skip
    assert not start.faults, start.faults
    if start.contact is not None:
        await start.contact
    return start.text, start.recall.hits, start.primer


async def overviewed(at: Asking) -> object:
    """Where things stand."""
    return await at.bot.rig.engine.service.overview(
        conversation_id=at.where, actor=at.who, token_budget=TOKENS
    )


async def tasks(at: Asking) -> object:
    """What is to be done."""
    change = TaskChange("list")
    return await at.bot.rig.engine.service.update_tasks(
        change, conversation_id=at.where, actor=at.who
    )


async def read(at: Asking) -> object:
    """Files by their paths, and what pointers lead to."""
    service = at.bot.rig.engine.service
    names = {one.path.name for one in at.bot.files()} | {"MEMORY.md", "PRIMER.md"}
    asked = [*sorted(names), "shared/DECISIONS.md", *at.pointers]
    return [await service.read(one, conversation_id=at.where) for one in asked]


async def transcripts(at: Asking) -> object:
    """The talk that memories came from, as the bot framework keeps it: that of this place alone,
    whoever may see the memory."""
    service, told = at.bot.rig.engine.service, list[object]()
    for one in at.pointers:
        history = await service.talk_of(one, conversation_id=at.where)
        turns = at.bot.said.get(at.place.umo, [])
        messages = [
            {"role": role, "content": words}
            for said in turns
            for role, words in (("user", said), ("assistant", "好的"))
        ]
        kept = json.dumps(messages, ensure_ascii=False) if isinstance(history, str) else ""
        told.append((history, await service.transcript(one, kept, conversation_id=at.where)))
    return told


async def decisions(at: Asking) -> object:
    """Proposals and records."""
    return await at.bot.rig.engine.service.decide(
        ListDecisions(everything=True), conversation_id=at.where, actor=ADMIN
    )


async def souls(at: Asking) -> object:
    """The manner that a persona has learned."""
    souls = at.bot.rig.engine.service.souls
    return (
        souls.injected(""),
        await souls.ask(SoulRequest("show"), "", ADMIN),
        await souls.ask(SoulRequest("log"), "", ADMIN),
    )


async def rules(at: Asking) -> object:
    """What was learned from an admin's talk."""
    return await at.bot.rig.engine.service.new_rules(conversation_id=at.where, actor=ADMIN)


async def searched(at: Asking) -> object:
    """By a coding agent, over MCP."""
    level = Level("global", at.bot.rig.engine.service, at.where)
    tools = MemoryTools(Levels(level), max_tokens=8_000)
    return [
        (await tools.call("memory_search", {"query": QUERY})).text,
        (await tools.call("memory_primer", {})).text,
    ]


async def reported(at: Asking) -> object:
    """What is said of the place, and how much it sees."""
    service = at.bot.rig.engine.service
    report = await service.describe(conversation_id=at.where)
    assert report.visible == len(await service.newest(conversation_id=at.where))
    return report


type IdsDoor = Callable[[Asking], Awaitable[set[str]]]
type TellingDoor = Callable[[Asking], Awaitable[object]]

IDS: dict[str, IdsDoor] = {
    "recall": recalled,
    "words": by_words,
    "newest": newest,
    "export": exported,
    "expand": expanded,
}
"""Each shows exactly what the place sees."""
SOME_IDS: dict[str, IdsDoor] = {"vectors": by_vectors}
"""Each shows no more than that."""
TELLING: dict[str, TellingDoor] = {
    "told": told,
    "explain": explained,
    "injected": injected,
    "overview": overviewed,
    "tasks": tasks,
    "read": read,
    "transcript": transcripts,
    "decisions": decisions,
    "souls": souls,
    "rules": rules,
    "mcp": searched,
    "status": reported,
}
"""Each says no words but those that the place sees."""
SILENT_ON_PAUSE = frozenset({"recall", "expand"})
