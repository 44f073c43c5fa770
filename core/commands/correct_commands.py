"""``/memory forget``, ``edit``, ``move`` and ``undo``: what people correct."""

from __future__ import annotations

import re
from functools import partial

from ...llm_memory import BroughtBack, Changed, DeedKind, Reason, Refused, is_changed, is_denied
from ...llm_memory.models.data_models import ChangeOutcome
from ...llm_memory.text.safe_text import cut, safe
from ..replies.memory_line import place_text, shown_words
from ..replies.outcome_text import Enough, redacted_text
from .call import Call
from .command_table import ADMINS
from .command_words import scope_named
from .memory_reference import (
    bare,
    named_one,
    named_several,
    numbered,
    numbered_hits,
)

ME = frozenset({"我", "我的", "我自己", "me", "mine", "my"})
_LONGEST = 100
_SIDE = r"(?:说过?的|[的、，,]|记忆|话|内容|\s|\b(?:of|by|from|the|memories|memory|words|said)\b)*"
_ALL = r"(?:全部|所有|一切|\ball\b|\beverything\b)"
_ALL_OF = re.compile(
    rf"{_SIDE}{_ALL}{_SIDE}(?P<after>.*?){_SIDE}|(?P<before>.+?){_SIDE}{_ALL}{_SIDE}",
    re.IGNORECASE,
)
_FOR_GOOD = ("purge", "彻底")
_LIKE = 10
"""So many are listed of what words may mean."""
_LIKE_BUDGET = 2000
_A_NUMBER = 2
"""Digits of a number that stands in too many texts to name one."""


def all_of(words: str) -> str | None:
    """Returns whose words are all meant, empty for nobody's; None for words that do not begin or
    end with the word for all."""
    found = _ALL_OF.fullmatch(words) if len(words) <= _LONGEST else None
    return None if found is None else found["after"] or found["before"] or ""


async def forget(call: Call) -> str:
    """Move entries to the archive, or purge them: by their speaker or an admin. Words that only one
    memory holds name it."""
    words, _, how = call.rest.rpartition(" ")
    for_good = how.lower() in _FOR_GOOD
    words = bare(words if for_good else call.rest)
    if not words:
        return call.say("forget.usage")
    call.plugin.talk.clear(call.where)
    whose = all_of(words)
    if whose is not None and (said := await _ask_for_all(call, whose, for_good=for_good)):
        return said
    named = named_several(call, words)
    if named is None:
        named = await _meant(call, words, how if for_good else "")
    outcomes = await call.service.forget_many(named, **call.by, for_good=for_good)
    lines = [said for one in outcomes if (said := _forgotten(call, one))]
    purged = sum(is_changed(one, DeedKind.PURGED) and not one.unfinished for one in outcomes)
    back = any(is_changed(one, DeedKind.FORGOTTEN) for one in outcomes)
    return "\n".join(lines + call.texts.counted("forget", purged=purged, back=back))


def _forgotten(call: Call, outcome: ChangeOutcome) -> str:
    """What became of one; empty for what is gone for good, which is counted."""
    if is_changed(outcome, DeedKind.PURGED):
        why = safe(outcome.unfinished)
        return call.say("forget.purge_unfinished", detail=why) if why else ""
    if isinstance(outcome, Changed):
        return call.say("forget.done", text=shown_words(call.texts, outcome.memory.memory))
    same = is_denied(outcome) and outcome.who == call.actor.name
    return call.refused(outcome, "forget.another" if same else "forget.not_allowed")


async def _ask_for_all(call: Call, whose: str, *, for_good: bool) -> str | None:
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
            return call.say(ADMINS)
        person, who = next(iter(speakers)), f"“{cut(whose)}”"
        if len(speakers) > 1:
            head = call.say("forget.which_speaker", who=who, account=safe(person))
            lines = [
                call.say("forget.speaker", account=safe(account), count=count)
                for account, count in speakers.items()
            ]
            return "\n".join([head, *lines])
    ids, turns = await call.service.ids_said_by(person, conversation_id=call.where)
    if not ids and not turns:
        return call.say("forget.said_nothing", who=who)
    lines = [call.say("forget.ask", who=who, count=len(ids))] if ids else []
    lines += call.texts.counted("forget", ask_unread=len(turns), ask_for_good=for_good)
    do = partial(_forget_all, person=person, for_good=for_good)
    return call.ask("\n".join(lines), do, short=call.say("forget.deed"))


async def _forget_all(call: Call, *, person: str, for_good: bool) -> str:
    ids, turns = await call.service.ids_said_by(person, conversation_id=call.where)
    outcomes = await call.service.forget_many([*ids, *turns], **call.by, for_good=for_good)
    gone = [isinstance(one, Changed) for one in outcomes]
    for one in outcomes:
        if isinstance(one, Refused) and one.reason is Reason.NOT_WRITTEN and not any(gone):
            return call.refused(one)
    count = sum(gone[: len(ids)])
    done = {"purged" if for_good else "all_done": count or len(turns)}
    return "\n".join(call.texts.counted("forget", **done, all_left=len(ids) - count))


async def _meant(call: Call, words: str, for_good: str) -> tuple[str, ...]:
    """The id of the one memory that holds the words. Of several, and before one is lost for good,
    and where none holds them, nothing is taken for meant. One character or a short number is not
    looked for, and beside other words it leaves open what is meant. Of others'
    memories one is meant only where one's own hold no such words."""
    shown, tokens = cut(words), words.split()
    telling = [token for token in tokens if not _says_too_little(token)]
    if not telling:
        raise Enough(call.say("forget.too_short", words=shown))
    naming = " ".join(telling)
    find = partial(call.service.newest, conversation_id=call.where, naming=naming, limit=_LIKE)
    like = [] if call.actor.admin else await find(said_by=call.actor)
    like = like or await find()
    if len(like) == 1 and telling == tokens and not for_good:
        return (like[0].memory.memory_id,)
    if like:
        head = call.say("forget.like", words=shown, count=len(like))
        lines = await numbered(call, like)
    else:
        recall = await call.service.recall(words, **call.by, limit=_LIKE, token_budget=_LIKE_BUDGET)
        head = call.say("forget.alike", words=shown)
        lines = await numbered_hits(call, [hit for hit in recall.hits if not hit.is_note])
        if not lines:
            raise Enough(call.say("forget.nothing_like", words=shown))
    which = call.say("forget.which", how=f" {for_good}".rstrip())
    raise Enough("\n".join([head, *lines, which]))


def _says_too_little(token: str) -> bool:
    bare = "".join(filter(str.isalnum, token))
    return len(bare) <= 1 or (bare.isdecimal() and len(bare) <= _A_NUMBER)


async def edit(call: Call) -> str:
    """Give an entry other words: by an admin."""
    first, text = call.split()
    if not text:
        return call.say("edit.usage")
    named = named_one(call, first, call.rest.split()) or first
    done = call.done(await call.service.edit(named, text, **call.by))
    words, before = (
        shown_words(call.texts, done.memory.memory),
        cut(done.before),
    )
    said = call.say("edit.done", text=words, before=before)
    return said + redacted_text(call.texts, done.hidden)


async def move(call: Call) -> str:
    """Move an entry to another scope: by an admin."""
    first, more = call.split()
    if not more:
        return call.say("move.usage")
    named = named_one(call, first, call.rest.split()[:-1]) or first
    done = call.done(await call.service.move(named, scope_named(more), **call.by))
    source, scope = (place_text(call.texts, one) for one in (done.before, done.memory.scope.name))
    words = shown_words(call.texts, done.memory.memory)
    return call.say("move.done", text=words, source=source, scope=scope)


_UNDONE = {
    DeedKind.FORGOTTEN: "done",
    DeedKind.EDITED: "edited",
    DeedKind.AMENDED: "edited",
    DeedKind.MOVED: "moved",
    DeedKind.REPLACED: "swapped",
}


async def undo(call: Call) -> str:
    """Take back the last forget, edit or move: of an entry, or of this person here; or the last
    bringing along, as a whole. What was changed since is passed over."""
    named = (named_one(call, call.rest) or call.rest) if call.rest else ""
    done = await call.service.restore(named, **call.by)
    match done:
        case Refused(Reason.NOT_VISIBLE | Reason.FORGOTTEN) if named:
            return call.say("undo.not_found", id=cut(named))
        case Refused(Reason.NOT_VISIBLE, detail=changed):
            if changed:
                return call.say("undo.changed", id=changed)
            # Who means the pause, by the word that ends one elsewhere.
            pause = call.service.conversations.pause_of(call.where)
            return call.paused(pause) if pause else call.say("undo.nothing")
        case Refused():
            return call.refused(done, "undo.not_allowed")
        case BroughtBack(memories=memories, left=left):
            said = call.say("undo.brought_back", count=memories)
            return "\n".join([said, *call.texts.counted("undo", left=left)])
    code = "several" if done.more else _UNDONE[done.kind]
    words = shown_words(call.texts, done.memory.memory)
    return call.say(f"undo.{code}", text=words, count=done.more + 1)
