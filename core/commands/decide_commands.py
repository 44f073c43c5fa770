"""``/memory decide`` and ``soul``: what admins accept, for all or for a persona, after they have
seen what would be written."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final

from ...llm_memory import MemoryDraft, Refused, Source
from ...llm_memory.catalogue.rules import soul_replies
from ...llm_memory.catalogue.rules.decision_words import item_line, outcome_words
from ...llm_memory.catalogue.rules.proposals import proposal_of
from ...llm_memory.models.decisions import DecisionChange, Decisions, Draft, RecordFile
from ...llm_memory.models.soul import SoulDenied, SoulDiff, SoulView
from ...llm_memory.text.safe_text import cut
from ..replies.outcome_text import Enough, remembered_text
from .call import Call, Reply
from .command_words import first_word, folded_word
from .correct_commands import named_one

_DECIDE: Final = {
    "": "list", "列表": "list", "接受": "accept", "否决": "reject", "取代": "supersede",
    "撤回": "withdraw", "定": "settle", "提议": "settle", "propose": "settle",
}  # fmt: skip
_ALL: Final = frozenset({"all", "全部"})
_EVERYBODY: Final = frozenset({"everyone", "everybody", "大家"})
_WHY: Final = re.compile(r"\s+(?:why|理由)[=＝]\s*", re.IGNORECASE)
_NUMBER: Final = re.compile(r"D-(\d{1,9})(?!\S)\s*", re.IGNORECASE)
_SOUL: Final = {
    "提议": "propose", "改动": "diff", "生效": "apply", "否决": "veto", "撤销": "undo",
    "记录": "log", "核对": "verify", "收下": "adopt", "丢弃": "discard",
    "对比": "diff", "应用": "apply", "退回": "undo", "回滚": "undo", "rollback": "undo",
    "日志": "log", "校验": "verify", "采纳": "adopt", "放弃": "discard",
}  # fmt: skip
"""The first word of each is shown."""
_WISH: Final = 200
"""Characters of a wish that is refused."""
_LOG: Final = 10
"""Lines."""


async def decide(call: Call) -> Reply:
    """List, settle, accept, supersede, reject or withdraw. What would be written is shown, and is
    written after a yes."""
    first, words = call.split()
    action = _DECIDE.get(folded_word(first), first.lower())
    if action == "list" or action in _ALL:
        everything = not _ALL.isdisjoint(call.rest.lower().split())
        return await _told(call, DecisionChange("list", everything=everything))
    who, behind = first_word(words)
    for_all = who.lower() in _EVERYBODY
    words, to = (behind, RecordFile.DECISIONS) if for_all else (words, None)
    found = _NUMBER.match(words) if action in ("supersede", "withdraw") else None
    if found is not None:
        words = words[found.end() :]
    number, (named, more) = int(found[1]) if found else 0, first_word(words)
    match action:
        case "settle" if words:
            change = DecisionChange("accept", await _settled(call, words), to=to)
        case "withdraw" if found:
            change = DecisionChange("withdraw", number=number, why=words)
        case "reject" if named:
            change = DecisionChange("reject", _proposal(call, named), why=more)
        case "accept" | "supersede" if named and not more and bool(found) is (action != "accept"):
            change = DecisionChange("accept", _proposal(call, named), number, to=to)
        case _:
            return call.say("decide.usage")
    return await _told(call, change)


async def _settled(call: Call, words: str) -> str:
    """The id of the memory that is named, or of the words, which are remembered as a proposal."""
    if (named := named_one(call, words)) is not None:
        return named
    said, *why = _WHY.split(words, maxsplit=1)
    draft = MemoryDraft(said, "".join(why), source=Source.COMMAND, actor=call.actor, proposed=True)
    outcome = await call.service.remember(draft, conversation_id=call.where)
    if isinstance(outcome, Refused) or proposal_of(outcome.memory.memory) is None:
        raise Enough(remembered_text(call.texts, outcome, "add"))
    return outcome.memory.memory.memory_id


def _proposal(call: Call, word: str) -> str:
    if (named := named_one(call, word)) is None:
        raise Enough(call.say("decide.no_such", word=cut(word)))
    return named


async def _told(call: Call, change: DecisionChange) -> Reply:
    """What became of it. Before it is written, and where there are objections, a person sees the
    words, and says yes to them."""
    outcome = await call.service.decide(change, **call.by)
    if isinstance(outcome, Decisions):
        return [item_line(call.texts, one) for one in outcome.items] or call.say("decide.none")
    reply = outcome_words(call.texts, outcome)
    match outcome:
        case Draft(digest=digest):
            change = replace(change, shown=digest)
        case Refused(objections=against) if against:
            change = replace(change, anyway=True)
        case _:
            return reply
    return call.ask([reply], partial(_told, change=change), short=call.say("decide.deed"))


async def soul(call: Call) -> Reply:
    """The manner that this conversation's persona has learned. Everybody sees what is in force;
    admins decide what is: what a wish would change is shown, and is in force after a yes."""
    word, rest = call.split()
    request = soul_replies.request_of(_SOUL.get(word, word.lower()), rest)
    if request is None:
        return call.say("soul.usage")
    if request.action != "show":
        call.for_admins()
    persona, souls, texts = call.where.persona, call.service.souls, call.texts
    if persona is None:
        return call.say("why.unknown_origin")
    outcome = await souls.ask(request, persona, call.actor)
    how = partial(_how, call)
    if isinstance(outcome, SoulView):
        return soul_replies.view_words(
            texts, outcome, how, all_of_it=call.actor.admin, off=souls.is_off
        )
    said = soul_replies.outcome_words(texts, outcome, how, most=_LOG)
    if isinstance(outcome, SoulDenied) and outcome.findings and request.wish:
        return [f"“{cut(request.wish, _WISH)}”", said]
    if not isinstance(outcome, SoulDiff) or outcome.proposed is None:
        return said
    number = outcome.proposed.proposal

    async def apply(later: Call) -> Reply:
        return await soul(later.with_rest(f"apply {number}"))

    return call.ask([said], apply, short=call.say("soul.deed"))


def _how(call: Call, action: str) -> str:
    name, _, number = action.partition(" ")
    if call.texts.spoken == "en":
        return f"/memory soul {name} {number}".rstrip()
    word = next(zh for zh, en in _SOUL.items() if en == name)
    return f"/记忆 语气 {word} {number}".rstrip()
