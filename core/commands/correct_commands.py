"""``/memory forget``, ``edit``, ``move`` and ``undo``: what people correct."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import (
    BroughtBack,
    Edited,
    Forgotten,
    Moved,
    NotAllowed,
    NotVisible,
    Purged,
    Rejected,
    Restored,
    Undone,
)
from ...llm_memory.models.data_models import ForgetOutcome
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ..replies.outcome_text import Enough, purged_text, redacted_text, refusal_text
from .all_of_person import all_of, forget_all
from .call import Call
from .command_words import scope_named
from .item_numbers import bare
from .memory_reference import (
    named_one,
    named_several,
    numbered,
    numbered_hits,
    shown_words,
)
from .slow_command import slow

_FOR_GOOD = ("purge", "彻底")
_PREVIEW = 80
_WORDS = 60
_LIKE = 10
"""So many are listed of what words may mean."""
_A_NUMBER = 2
"""Digits of a number that stands in too many texts to name one."""
_LIKE_BUDGET = 2000


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
    if whose is not None and (said := await forget_all(call, whose, for_good=for_good)):
        return said
    named = named_several(call, words)
    if named is None:
        named = await _meant(call, words, how if for_good else "")
    outcomes = await call.service.forget_many(
        named, conversation_id=call.where, actor=call.actor, for_good=for_good
    )
    lines = [_forgotten(call, one) for one in outcomes]
    if any(isinstance(one, Forgotten) for one in outcomes):
        lines.append(call.say("forget.back"))
    return "\n".join(lines)


def _forgotten(call: Call, outcome: ForgetOutcome | Rejected) -> str:
    match outcome:
        case Purged():
            return purged_text(call.texts, outcome)
        case Forgotten(stored):
            return call.say("forget.done", text=shown_words(call.texts, stored.memory))
    same = isinstance(outcome, NotAllowed) and outcome.who == call.actor.name
    return refusal_text(call.texts, "forget.another" if same else "forget.not_allowed", outcome)


async def _meant(call: Call, words: str, for_good: str) -> tuple[str, ...]:
    """The id of the one memory that holds the words. Of several, and before one is lost for good,
    and where none holds them, nothing is taken for meant. One character or a short number is not
    looked for, and beside other words it leaves open what is meant."""
    shown, tokens = safe(words)[:_WORDS], words.split()
    telling = [token for token in tokens if not _says_too_little(token)]
    if not telling:
        raise Enough(call.say("forget.too_short", words=shown))
    naming = " ".join(telling)
    like = await call.service.newest(conversation_id=call.where, naming=naming, limit=_LIKE)
    if len(like) == 1 and telling == tokens and not for_good:
        return (like[0].memory.memory_id,)
    if like:
        head = call.say("forget.like", words=shown, count=len(like))
        lines = await numbered(call, like)
    else:
        recall = await call.service.recall(
            words,
            conversation_id=call.where,
            limit=_LIKE,
            token_budget=_LIKE_BUDGET,
            actor=call.actor,
        )
        hits = [hit for hit in recall.hits if not hit.is_note]
        if not hits:
            raise Enough(call.say("forget.nothing_like", words=shown))
        head = call.say("forget.alike", words=shown)
        lines = await numbered_hits(call, hits)
    which = call.say("forget.which", how=f" {for_good}".rstrip())
    raise Enough("\n".join([head, *lines, which]))


async def edit(call: Call) -> str:
    """Give an entry other words: by an admin."""
    first, text = call.split()
    if not text:
        return call.say("edit.usage")
    named = _named(call, first, call.rest.split())
    outcome = await call.service.edit(named, text, conversation_id=call.where, actor=call.actor)
    if not isinstance(outcome, Edited):
        return refusal_text(call.texts, "outcome.admins_only", outcome)
    words = shown_words(call.texts, outcome.memory.memory)
    before = safe(preview(outcome.before, _PREVIEW))
    said = call.say("edit.done", text=words, before=before)
    return said + redacted_text(call.texts, outcome.redacted)


async def move(call: Call) -> str:
    """Move an entry to another scope: by an admin."""
    first, more = call.split()
    if not more:
        return call.say("move.usage")
    named, scope = _named(call, first, call.rest.split()[:-1]), scope_named(more)
    outcome = await call.service.move(named, scope, conversation_id=call.where, actor=call.actor)
    if not isinstance(outcome, Moved):
        return refusal_text(call.texts, "outcome.admins_only", outcome)
    words, to = shown_words(call.texts, outcome.memory.memory), outcome.memory.scope.name
    return call.say("move.done", text=words, source=outcome.source, scope=to)


@slow
async def undo(call: Call) -> str:
    """Take back the last forget, edit or move: of an entry, or of this person here; or the last
    bringing along, as a whole. What was changed since is passed over."""
    named = _named(call, call.rest) if call.rest else ""
    outcome = await call.service.restore(named, conversation_id=call.where, actor=call.actor)
    match outcome:
        case Restored(stored, more):
            words = shown_words(call.texts, stored.memory)
            if more:
                return call.say("undo.several", text=words, count=more + 1)
            return call.say("undo.done", text=words)
        case Undone(stored, moved):
            words = shown_words(call.texts, stored.memory)
            return call.say("undo.moved" if moved else "undo.edited", text=words)
        case BroughtBack(source=source, memories=memories, left=left):
            said = call.say("undo.brought_back", source=source, count=memories)
            return "\n".join([said, *call.texts.counted({"undo.left": left})])
        case NotVisible() if named:
            return call.say("undo.not_found", id=safe(named)[:_WORDS])
        case NotVisible(""):
            # Who means the pause, by the word that ends one elsewhere.
            pause = call.service.conversations.pause_of(call.where)
            return call.paused(pause) if pause else call.say("undo.nothing")
        case NotVisible(changed):
            return call.say("undo.changed", id=changed)
    return refusal_text(call.texts, "undo.not_allowed", outcome)


def _named(call: Call, words: str, beginning: Sequence[str] = ()) -> str:
    """The id that a number stands for; anything else as it is."""
    named = named_one(call, words, beginning)
    return words if named is None else named


def _says_too_little(token: str) -> bool:
    bare = "".join(filter(str.isalnum, token))
    return len(bare) <= 1 or (bare.isdecimal() and len(bare) <= _A_NUMBER)
