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
from ...llm_memory.models.decisions import (
    Accept,
    DecisionChange,
    Decisions,
    Draft,
    ListDecisions,
    RecordFile,
    Reference,
    Reject,
    Withdraw,
)
from ...llm_memory.models.soul import (
    SoulAction,
    SoulDenied,
    SoulEvolution,
    SoulProposed,
    SoulRequest,
    SoulView,
)
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
_ANYWAY: Final = frozenset({"anyway", "仍要"})
_EVERYBODY: Final = frozenset({"everyone", "everybody", "大家"})
_OPTION: Final = re.compile(r"(issue|pr|to)=(\S+)", re.IGNORECASE)
_WHY: Final = re.compile(r"\s+(?:why|理由)[=＝]\s*", re.IGNORECASE)
_ONE: Final = r"(?P<named>\S+)(?P<more>.*)"
_NUMBER: Final = r"D-(?P<number>\d{1,9})(?!\S)\s*"
_FORMS: Final = {
    "accept": re.compile(f"(?P<number>){_ONE}", re.DOTALL),
    "reject": re.compile(f"(?P<number>){_ONE}", re.DOTALL),
    "supersede": re.compile(_NUMBER + _ONE, re.IGNORECASE | re.DOTALL),
    "withdraw": re.compile(rf"{_NUMBER}(?P<named>)(?P<more>.*)", re.IGNORECASE | re.DOTALL),
}
"""What stands behind each action."""
_SOUL: Final = {
    "提议": "propose", "生效": "apply", "应用": "apply", "否决": "veto", "撤销": "undo",
    "退回": "undo", "回滚": "undo", "rollback": "undo",
    "改动": "diff", "对比": "diff", "记录": "log", "日志": "log",
    "核对": "verify", "校验": "verify", "收下": "adopt", "采纳": "adopt", "丢弃": "discard",
    "放弃": "discard",
}  # fmt: skip
_WISH: Final = 200
"""Characters of a wish that is refused."""
_LOG: Final = 10
"""Lines."""


async def decide(call: Call) -> Reply:
    """List, settle, accept, supersede, reject or withdraw. What would be written is shown, and is
    written after a yes."""
    first, more = call.split()
    action = _DECIDE.get(folded_word(first), first.lower())
    if action == "list" or action in _ALL:
        return await _told(call, ListDecisions(not _ALL.isdisjoint(call.rest.lower().split())))
    who, behind = first_word(more)
    for_all = who.lower() in _EVERYBODY
    more, to = (behind, RecordFile.DECISIONS) if for_all else (more, None)
    if action != "settle" or not more:
        return await _told(call, _change(call, action, more, to))
    if named := named_one(call, more):
        return await _told(call, Accept(named, to=to, settles=True))
    words, *reason = _WHY.split(more, maxsplit=1)
    draft = MemoryDraft(
        words, "".join(reason), source=Source.COMMAND, actor=call.actor, proposed=True
    )
    outcome = await call.service.remember(draft, conversation_id=call.where)
    if isinstance(outcome, Refused) or proposal_of(outcome.memory.memory) is None:
        return remembered_text(call.texts, outcome, "add")
    return await _told(call, Accept(outcome.memory.memory.memory_id, to=to))


def _change(call: Call, action: str, words: str, to: RecordFile | None) -> DecisionChange:
    """The change that is asked for; for words that ask for none, the command is answered so."""
    form = _FORMS.get(action)
    asked = form.fullmatch(words) if form else None
    if asked is None:
        raise Enough(call.say("decide.usage"))
    number, named, more = int(asked["number"] or 0), asked["named"], asked["more"].strip()
    if action == "withdraw":
        return Withdraw(number, more)
    memory_id = named_one(call, named)
    if memory_id is None:
        raise Enough(call.say("decide.no_such", word=cut(named)))
    if action == "reject":
        return Reject(memory_id, more)
    left = more.split()
    options = {one[1].lower(): one[2] for word in left if (one := _OPTION.fullmatch(word))}
    anyway, file = not _ANYWAY.isdisjoint(left), options.get("to", to or "").lower()
    if len(options) + anyway < len(left) or file not in ("", *RecordFile):
        raise Enough(call.say("decide.usage"))
    return Accept(
        memory_id,
        Reference(options.get("issue", ""), options.get("pr", "")),
        to=RecordFile(file) if file else None,
        supersedes=number,
        anyway=anyway,
    )


async def _told(call: Call, change: DecisionChange) -> Reply:
    outcome = await call.service.decide(change, **call.by)
    if isinstance(outcome, Decisions):
        return [item_line(call.texts, one) for one in outcome.items] or call.say("decide.none")
    reply = outcome_words(call.texts, outcome)
    if isinstance(outcome, Draft) and isinstance(change, Accept | Withdraw):
        shown = partial(_told, change=replace(change, shown=outcome.digest))
        return call.ask([reply], shown, short=call.say("decide.deed"))
    if isinstance(outcome, Refused) and outcome.objections:
        return [reply, call.say("decide.anyway")]
    return reply


async def soul(call: Call) -> Reply:
    """The manner that this conversation's persona has learned. Everybody sees what is in force;
    admins decide what is: what a wish would change is shown, and is in force after a yes."""
    word, rest = call.split()
    action = _SOUL.get(word, word.lower())
    request = soul_replies.request_of(action, rest)
    if request is None:
        clear = action in ("help", "帮助", "propose") and not rest
        unclear = "" if clear else call.say("soul.unclear", said=cut(call.rest, 40))
        return [unclear, call.say("soul.usage")]
    if request.action is not SoulAction.SHOW:
        call.for_admins()
    persona, souls, texts = call.where.persona, call.service.souls, call.texts
    if persona is None:
        return call.say("why.unknown_persona")
    outcome = await souls.ask(request, persona, call.actor, conversation=call.where.umo)
    how = partial(_how, call)
    if isinstance(outcome, SoulView):
        off = call.plugin.config.engine.soul_evolution is SoulEvolution.OFF
        return soul_replies.view_words(texts, outcome, how, all_of_it=call.actor.admin, off=off)
    said = soul_replies.outcome_words(texts, outcome, how, most=_LOG)
    if isinstance(outcome, SoulDenied) and outcome.findings and request.wish:
        return [f"“{cut(request.wish, _WISH)}”", said]
    if not isinstance(outcome, SoulProposed):
        return said
    asked = SoulRequest(SoulAction.DIFF, outcome.proposal.number)
    diff = await souls.ask(asked, persona, call.actor)
    lines = [said, soul_replies.outcome_words(texts, diff, how)]
    do = partial(_apply, number=outcome.proposal.number)
    return call.ask(lines, do, short=call.say("soul.deed"))


async def _apply(call: Call, *, number: int) -> Reply:
    return await soul(call.with_rest(f"apply {number}"))


def _how(call: Call, action: str) -> str:
    name, _, number = action.partition(" ")
    if call.texts.spoken == "en":
        return f"/memory soul {name} {number}".rstrip()
    word = next(zh for zh, en in _SOUL.items() if en == name)
    return f"/记忆 语气 {word} {number}".rstrip()
