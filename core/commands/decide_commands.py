"""``/memory decide``: admins decide on what is proposed, and see first what all will read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...llm_memory import Actor, ConversationId, MemoryDraft, Rejected, Source
from ...llm_memory.catalogue.rules.decision_words import item_line, outcome_words
from ...llm_memory.catalogue.rules.proposals import is_proposed
from ...llm_memory.models.decisions import (
    Accept,
    DecisionChange,
    DecisionFault,
    Decisions,
    Draft,
    ListDecisions,
    NotRecorded,
    Propose,
    RecordFile,
    Reference,
    Reject,
    Withdraw,
)
from ..plugin_context import PluginContext
from ..replies.outcome_text import added_text
from .memory_reference import MemoryReference, UnknownReference

_ACTIONS: Final = {
    "": "list", "列表": "list", "提议": "propose", "接受": "accept", "否决": "reject",
    "取代": "supersede", "撤回": "withdraw", "是": "yes", "确认": "yes",
}  # fmt: skip
_ALL: Final = frozenset({"all", "全部"})
_ANYWAY: Final = frozenset({"anyway", "仍要"})
_OPTION: Final = re.compile(r"(issue|pr|to)=(\S+)", re.IGNORECASE)
_WHY: Final = re.compile(r"\s+(?:why|理由)[=＝]\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"D-(\d{1,9})", re.IGNORECASE)
_MOST_SHOWN: Final = 100
"""Persons who were shown a draft; the engine keeps the drafts themselves for ten minutes."""


class DecideCommands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext, naming: MemoryReference) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        self._naming = naming
        self._shown: dict[tuple[str, str], Accept | Withdraw] = {}
        """What waits for a yes, by conversation and person. It names a draft, not its words."""

    async def decide(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """List, propose, accept, supersede, reject or withdraw. What would be written is shown, and
        is written after a yes."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        first, _, more = rest.strip().partition(" ")
        if first.lower() in _ALL:
            first, more = "", first
        action, more = _ACTIONS.get(first, first.lower()), more.strip()
        change: DecisionChange | None
        if action == "propose" and more:
            named = self._naming.read_one(more, conversation_id, actor)
            if isinstance(named, UnknownReference):
                return named.text
            if named is None:
                return await self._proposed(more, conversation_id, actor)
            change = Propose(named)
        elif action == "yes":
            change = self._shown.pop((conversation_id.umo, actor.person), None)
            if change is None:
                return self._say("decide.nothing_shown")
        else:
            change = self._read(action, more.split(), conversation_id, actor)
        if change is None:
            return self._say("decide.usage")
        return await self._told(change, conversation_id, actor)

    async def _proposed(self, more: str, conversation_id: ConversationId, actor: Actor) -> str:
        words, *why = _WHY.split(more, maxsplit=1)
        draft = MemoryDraft(words, "".join(why), source=Source.COMMAND, actor=actor, proposed=True)
        stored = await self._plugin.service.remember(draft, conversation_id=conversation_id)
        said = added_text(self._plugin.texts, stored)
        if isinstance(stored, Rejected) or not is_proposed(stored.memory.memory):
            return said
        named = stored.memory.memory.memory_id
        return f"{said}\n{self._say('decide.proposed', id=named)}"

    def _read(
        self, action: str, words: Sequence[str], conversation_id: ConversationId, actor: Actor
    ) -> DecisionChange | None:
        """Returns the change that is asked for, None for words that ask for none."""
        if action == "list":
            return ListDecisions(everything=any(word.lower() in _ALL for word in words))
        number, left = 0, list(words)
        if action in ("supersede", "withdraw"):
            found = _NUMBER.fullmatch(left.pop(0)) if left else None
            if found is None:
                return None
            number = int(found[1])
        if action == "withdraw":
            return Withdraw(number, " ".join(left))
        named = self._naming.read_one(left.pop(0), conversation_id, actor) if left else None
        if not isinstance(named, str):
            return None
        if action == "reject":
            return Reject(named, " ".join(left))
        options = {one[1].lower(): one[2] for word in left if (one := _OPTION.fullmatch(word))}
        to = options.get("to", RecordFile.DECISIONS).lower()
        if len(options) + len(_ANYWAY.intersection(left)) < len(left) or to not in list(RecordFile):
            return None
        if action not in ("accept", "supersede"):
            return None
        return Accept(
            named,
            Reference(options.get("issue", ""), options.get("pr", "")),
            to=RecordFile(to),
            supersedes=number,
            anyway=bool(_ANYWAY.intersection(left)),
        )

    async def _told(
        self, change: DecisionChange, conversation_id: ConversationId, actor: Actor
    ) -> str:
        outcome = await self._plugin.service.decide(
            change, conversation_id=conversation_id, actor=actor
        )
        said = self._plugin.texts.said
        if isinstance(outcome, Decisions):
            lines = [said(item_line(item)) for item in outcome.items]
            if isinstance(change, Propose):
                ids = [item.memory_id for item in outcome.items if not item.number]
                lines += [self._say("decide.proposed", id=one) for one in ids]
            return "\n".join(lines) or self._say("decide.none")
        reply = said(outcome_words(outcome))
        if isinstance(outcome, Draft) and isinstance(change, Accept | Withdraw):
            while len(self._shown) >= _MOST_SHOWN:
                self._shown.pop(next(iter(self._shown)))
            waiting = replace(change, shown=outcome.digest)
            self._shown[conversation_id.umo, actor.person] = waiting
            return f"{reply}\n{self._say('decide.confirm')}"
        if isinstance(outcome, NotRecorded) and outcome.fault is DecisionFault.OBJECTION:
            return f"{reply}\n{self._say('decide.anyway')}"
        return reply
