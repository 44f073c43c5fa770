"""``/memory forget`` with the word for all: what one person said is forgotten as one deed."""

from __future__ import annotations

import re
from functools import partial

from ...llm_memory import Forgotten, Purged, Rejected
from ...llm_memory.text.safe_text import safe
from ..replies.outcome_text import refusal_text
from .call import Call
from .slow_command import slow

ME = frozenset({"我", "我的", "我自己", "me", "mine", "my"})
_NAME = 60
_LONGEST = 100
_SIDE = r"(?:说过?的|[的、，,]|记忆|话|内容|\s|\b(?:of|by|from|the|memories|memory|words|said)\b)*"
_ALL = r"(?:全部|所有|一切|\ball\b|\beverything\b)"
_ALL_OF = re.compile(
    rf"{_SIDE}{_ALL}{_SIDE}(?P<after>.*?){_SIDE}|(?P<before>.+?){_SIDE}{_ALL}{_SIDE}",
    re.IGNORECASE,
)


def all_of(words: str) -> str | None:
    """Returns whose words are all meant, empty for nobody's; None for words that do not begin or
    end with the word for all."""
    found = _ALL_OF.fullmatch(words) if len(words) <= _LONGEST else None
    return None if found is None else found["after"] or found["before"] or ""


async def forget_all(call: Call, whose: str, *, for_good: bool) -> str | None:
    """Ask before all that a person said is forgotten: one's own, or by an admin another's. None
    where nobody is called so: then the words mean something else."""
    person, who = call.actor.person, call.say("forget.you")
    if not whose:
        return call.say("forget.of_whom")
    if whose.lower() not in ME:
        speakers = await call.service.speakers(whose, conversation_id=call.where)
        if not speakers:
            return None
        if not call.actor.admin:
            return call.say("outcome.admins_only")
        person, who = next(iter(speakers)), f"“{safe(whose)[:_NAME]}”"
        if len(speakers) > 1:
            lines = [
                call.say("forget.speaker", account=safe(account), count=count)
                for account, count in speakers.items()
            ]
            head = call.say("forget.which_speaker", who=who, account=safe(person))
            return "\n".join([head, *lines])
    ids = await call.service.ids_said_by(person, conversation_id=call.where)
    if not ids:
        return call.say("forget.said_nothing", who=who)
    ask = call.say("forget.ask_for_good" if for_good else "forget.ask", who=who, count=len(ids))
    do = slow(partial(_forget_all, person=person, for_good=for_good))
    return call.ask(ask, do, short=call.say("forget.deed"))


async def _forget_all(call: Call, person: str, *, for_good: bool) -> str:
    ids = await call.service.ids_said_by(person, conversation_id=call.where)
    outcomes = await call.service.forget_many(
        ids, conversation_id=call.where, actor=call.actor, for_good=for_good
    )
    count = sum(isinstance(one, Forgotten | Purged) for one in outcomes)
    refused = next((one for one in outcomes if isinstance(one, Rejected)), None)
    if refused is not None and not count:
        return refusal_text(call.texts, "forget.not_allowed", refused)
    lines = [call.say("forget.all_purged" if for_good else "forget.all_done", count=count)]
    return "\n".join([*lines, *call.texts.counted({"forget.all_left": len(ids) - count})])
