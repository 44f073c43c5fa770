"""``/memory decide``: admins decide on what is proposed, and see first what all will read."""

from __future__ import annotations

import re
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
from ..replies.outcome_text import Enough, added_text
from .call import Call
from .command_words import first_word, folded_word
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
_NUMBER: Final = re.compile(r"D-(\d{1,9})(?!\S)", re.IGNORECASE)


async def decide(call: Call) -> str:
    """List, settle, accept, supersede, reject or withdraw. What would be written is shown, and is
    written after a yes."""
    first, more = call.split()
    if first.lower() in _ALL:
        first, more = "", first
    action = _ACTIONS.get(folded_word(first), first.lower())
    who, behind = first_word(more)
    for_all = who.lower() in _EVERYBODY
    more, to = (behind, RecordFile.DECISIONS) if for_all else (more, None)
    if action == "list":
        everything = not _ALL.isdisjoint(more.lower().split())
        return await _told(call, ListDecisions(everything))
    if action == "settle" and more:
        named = named_one(call, more)
        if named is None:
            return await _settled(call, more, to)
        return await _told(call, Accept(named, to=to, settles=True))
    return await _told(call, _read(call, action, more, to))


async def _settled(call: Call, more: str, to: RecordFile | None) -> str:
    """The admin has decided: what would be written is shown at once."""
    words, *why = _WHY.split(more, maxsplit=1)
    draft = MemoryDraft(words, "".join(why), source=Source.COMMAND, actor=call.actor, proposed=True)
    outcome = await call.service.remember(draft, conversation_id=call.where)
    if isinstance(outcome, Refused) or proposal_of(outcome.memory.memory) is None:
        return added_text(call.texts, outcome)
    return await _told(call, Accept(outcome.memory.memory.memory_id, to=to))


def _read(call: Call, action: str, words: str, to: RecordFile | None) -> DecisionChange:
    """The change that is asked for; for words that ask for none, the command is answered so."""
    found = _NUMBER.match(words) if action in ("supersede", "withdraw") else None
    number, words = (int(found[1]), words[found.end() :]) if found else (0, words)
    if action == "withdraw" and number:
        return Withdraw(number, words.strip())
    first, more = first_word(words)
    takes_one = action in ("accept", "reject") or (action == "supersede" and number)
    named = named_one(call, first) if takes_one and first else None
    if named is None:
        code = "no_such" if takes_one and first else "usage"
        raise Enough(call.say(f"decide.{code}", word=cut(first)))
    if action == "reject":
        return Reject(named, more)
    left = more.split()
    options = {one[1].lower(): one[2] for word in left if (one := _OPTION.fullmatch(word))}
    anyway, file = not _ANYWAY.isdisjoint(left), options.get("to", to or "").lower()
    if len(options) + anyway < len(left) or file not in ("", *RecordFile):
        raise Enough(call.say("decide.usage"))
    return Accept(
        named,
        Reference(options.get("issue", ""), options.get("pr", "")),
        to=RecordFile(file) if file else None,
        supersedes=number,
        anyway=anyway,
    )


async def _told(call: Call, change: DecisionChange) -> str:
    outcome = await call.service.decide(change, **call.by)
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
