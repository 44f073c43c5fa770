"""``/memory decide``: admins decide on what is proposed, and see first what all will read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ...llm_memory import MemoryDraft, Refused, Source
from ...llm_memory.catalogue.rules.decision_words import item_line, outcome_words
from ...llm_memory.catalogue.rules.proposals import proposal_of
from ...llm_memory.models.decisions import (
    Accept,
    DecisionChange,
    DecisionFault,
    Decisions,
    Draft,
    ListDecisions,
    NotRecorded,
    RecordFile,
    Reference,
    Reject,
    Withdraw,
)
from ...llm_memory.text.safe_text import cut
from ..replies.outcome_text import added_text
from .call import Call
from .command_words import folded_word
from .memory_reference import named_one

_ACTIONS: Final = {
    "": "list", "列表": "list", "接受": "accept", "否决": "reject", "取代": "supersede",
    "撤回": "withdraw", "定": "settle", "提议": "settle", "propose": "settle",
}  # fmt: skip
_ALL: Final = frozenset({"all", "全部"})
_ANYWAY: Final = frozenset({"anyway", "仍要"})
_EVERYBODY: Final = frozenset({"everyone", "everybody", "大家"})
_OPTION: Final = re.compile(r"(issue|pr|to)=(\S+)", re.IGNORECASE)
_WHY: Final = re.compile(r"\s+(?:why|理由)[=＝]\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"D-(\d{1,9})", re.IGNORECASE)


async def decide(call: Call) -> str:
    """List, settle, accept, supersede, reject or withdraw. What would be written is shown, and is
    written after a yes."""
    first, more = call.split()
    if first.lower() in _ALL:
        first, more = "", first
    action = _ACTIONS.get(folded_word(first), first.lower())
    change: DecisionChange | None
    to, (who, *_) = None, (*more.split(maxsplit=1), "")
    if who.lower() in _EVERYBODY:
        to, more = RecordFile.DECISIONS, more.removeprefix(who).strip()
    if action == "settle" and more:
        named = named_one(call, more)
        if named is None:
            return await _settled(call, more, to)
        change = Accept(named, to=to, settles=True)
    else:
        change = _read(call, action, more.split(), to)
    if change is not None:
        return await _told(call, change)
    words = more.split()[action == "supersede" :]
    if action in ("accept", "reject", "supersede") and words and not named_one(call, words[0]):
        return call.say("decide.no_such", word=cut(words[0]))
    return call.say("decide.usage")


async def _settled(call: Call, more: str, to: RecordFile | None) -> str:
    """The admin has decided: what would be written is shown at once."""
    words, *why = _WHY.split(more, maxsplit=1)
    draft = MemoryDraft(words, "".join(why), source=Source.COMMAND, actor=call.actor, proposed=True)
    stored = await call.service.remember(draft, conversation_id=call.where)
    said = added_text(call.texts, stored)
    if isinstance(stored, Refused) or proposal_of(stored.memory.memory) is None:
        return said
    return await _told(call, Accept(stored.memory.memory.memory_id, to=to))


def _read(
    call: Call, action: str, words: Sequence[str], to: RecordFile | None
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
    named = named_one(call, left.pop(0)) if left else None
    if named is None:
        return None
    if action == "reject":
        return Reject(named, " ".join(left))
    options = {one[1].lower(): one[2] for word in left if (one := _OPTION.fullmatch(word))}
    file = options.get("to", "").lower()
    if len(options) + len(_ANYWAY.intersection(left)) < len(left):
        return None
    if action not in ("accept", "supersede") or (file and file not in list(RecordFile)):
        return None
    return Accept(
        named,
        Reference(options.get("issue", ""), options.get("pr", "")),
        to=RecordFile(file) if file else to,
        supersedes=number,
        anyway=bool(_ANYWAY.intersection(left)),
    )


async def _told(call: Call, change: DecisionChange) -> str:
    outcome = await call.service.decide(change, conversation_id=call.where, actor=call.actor)
    if isinstance(outcome, Decisions):
        lines = [item_line(call.texts, item) for item in outcome.items]
        return "\n".join(lines) or call.say("decide.none")
    reply = outcome_words(call.texts, outcome)
    if isinstance(outcome, Draft) and isinstance(change, Accept | Withdraw):
        shown = partial(_told, change=replace(change, shown=outcome.digest))
        return call.ask(reply, shown, short=call.say("decide.deed"))
    if isinstance(outcome, NotRecorded) and outcome.fault is DecisionFault.OBJECTION:
        return f"{reply}\n{call.say('decide.anyway')}"
    return reply
