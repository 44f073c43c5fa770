"""``/memory forget``, ``edit``, ``move`` and ``undo``: what people correct; and which memory a
person means: by words, an id, a pointer that ends with one, or a number of the list that this
person was shown last in this conversation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import partial

from ...llm_memory import (
    Changed,
    DeedKind,
    Hit,
    Refused,
    StoredMemory,
    is_changed,
    is_denied,
)
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.models.data_models import ChangeOutcome, is_absent
from ...llm_memory.text.numerals import number
from ...llm_memory.text.safe_text import cut, safe
from ..replies.memory_line import memory_line
from ..replies.outcome_text import Enough, changed_text, refusal_text
from .call import Call, Reply
from .command_words import scope_named

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
_A_NUMBER = 2
"""A bare number of more digits names something only if the list has it: 2026 is a word. One of no
more stands in too many texts to name one."""
_ITEM = re.compile(
    r"(?P<mark>第|#|no\.?|number)?[(\[【]?(?P<number>[0-9]{1,4}|[一二三四五六七八九十两]{1,3})"
    r"(?P<unit>[条條号號项項])?[.)\]】]?"
)
_RANGE = re.compile(
    r"(?<=[0-9一二三四五六七八九十条條号號])\s*(?:-|–|—|~|到|至|\bto\b)\s*(?=[#第0-9])"
)
_BETWEEN = re.compile(r"\s*(?:[,、。;/+&]|以及|还有|和|与|跟|及|\band\b)\s*|\s+")
_LOOSE = re.compile(r"(?<=第)\s+|(?<=#)\s+|(?<=no\.)\s+|\s+(?=[条條号號项項])")
_AROUND = " \u3000\"'“”‘’「」『』《》。．.!！?？,，;；:：、"
_PREVIEW = 80
_MOST = 10
"""Items of one command: as many as a page of the list."""


def all_of(words: str) -> str | None:
    """Returns whose words are all meant, empty for nobody's; None for words that do not begin or
    end with the word for all."""
    found = _ALL_OF.fullmatch(words) if len(words) <= _LONGEST else None
    return None if found is None else found["after"] or found["before"] or ""


async def forget(call: Call) -> Reply:
    """Move entries to the archive, or purge them: by their speaker or an admin. Words that only one
    memory holds name it."""
    words, _, how = call.rest.rpartition(" ")
    for_good = how.lower() in _FOR_GOOD
    words = bare(words if for_good else call.rest)
    call.plugin.talk.clear(call.where)
    whose = all_of(words)
    if whose is not None and (said := await _ask_for_all(call, whose, for_good=for_good)):
        return said
    named = named_several(call, words) or [await _meant(call, words, how if for_good else "")]
    outcomes = await call.service.forget_many(named, **call.by, for_good=for_good)
    purged = sum(_is_gone(one) for one in outcomes)
    back = any(is_changed(one, DeedKind.FORGOTTEN) for one in outcomes)
    lines = [_forgotten(call, one) for one in outcomes if not _is_gone(one)]
    return lines + call.texts.counted("forget", purged=purged, back=back)


def _is_gone(outcome: ChangeOutcome) -> bool:
    """True for what is deleted for good, which is counted alone."""
    return is_changed(outcome, DeedKind.PURGED) and not outcome.unfinished


def _forgotten(call: Call, outcome: ChangeOutcome) -> str:
    if isinstance(outcome, Changed):
        return changed_text(call.texts, outcome)
    same = is_denied(outcome) and outcome.who == call.actor.name
    return refusal_text(call.texts, "forget.another" if same else "forget.not_allowed", outcome)


async def _ask_for_all(call: Call, whose: str, *, for_good: bool) -> Reply | None:
    """Ask before all that a person said is forgotten: one's own, or by an admin another's. None
    where nobody is called so: then the words mean something else."""
    if not whose:
        return call.say("forget.of_whom")
    accounts, who = [call.actor.person], call.say("forget.you")
    if whose.lower() not in ME:
        accounts = [*await call.service.speakers(whose, conversation_id=call.where)]
        if not accounts:
            return None
        call.for_admins()
        who = f"“{cut(whose)}”"
    if len(accounts) > 1:
        named = tuple(map(safe, accounts))
        return call.say("forget.which_speaker", who=who, accounts=named, one=named[0])
    ids, turns = await call.service.ids_said_by(accounts[0], conversation_id=call.where)
    if not ids and not turns:
        return call.say("forget.said_nothing", who=who)
    lines = [call.say("forget.ask", who=who, count=len(ids))] if ids else []
    lines += call.texts.counted("forget", ask_unread=len(turns), ask_for_good=for_good)
    do = partial(_forget_all, person=accounts[0], for_good=for_good)
    return call.ask(lines, do, short=call.say("forget.deed"))


async def _forget_all(call: Call, *, person: str, for_good: bool) -> Reply:
    ids, turns = await call.service.ids_said_by(person, conversation_id=call.where)
    outcomes = await call.service.forget_many([*ids, *turns], **call.by, for_good=for_good)
    gone = [isinstance(one, Changed) for one in outcomes]
    if not any(gone):  # why, of the first one; or they are gone since
        return _forgotten(call, outcomes[0]) if outcomes else call.say("asked.nothing")
    count = sum(gone[: len(ids)])
    done = {"purged" if for_good else "all_done": count or len(turns)}
    return call.texts.counted("forget", **done, all_left=len(ids) - count)


async def _meant(call: Call, words: str, for_good: str) -> str:
    """The id of the one memory that holds the words. Of several, and before one is lost for good,
    and where none holds them, nothing is taken for meant. One character or a short number is not
    looked for, and beside other words it leaves open what is meant. Of others' memories one is
    meant only where one's own hold no such words."""
    shown, tokens = cut(words), words.split()
    telling = [token for token in tokens if not _says_too_little(token)]
    if not telling:
        raise Enough(call.say("forget.too_short", words=shown))
    find = partial(call.service.newest, conversation_id=call.where, limit=_LIKE)
    like = [] if call.actor.admin else await find(naming=" ".join(telling), said_by=call.actor)
    like = like or await find(naming=" ".join(telling))
    if not like:
        raise Enough(call.say("forget.nothing_like", words=shown))
    if len(like) == 1 and telling == tokens and not for_good:
        return like[0].memory.memory_id
    head = call.say("forget.like", words=shown, count=len(like))
    which = call.say("forget.which", how=f" {for_good}".rstrip())
    raise Enough("\n".join([head, *await numbered(call, like), which]))


def _says_too_little(token: str) -> bool:
    told = "".join(filter(str.isalnum, token))
    return len(told) <= 1 or (told.isdecimal() and len(told) <= _A_NUMBER)


async def edit(call: Call) -> str:
    """Give an entry other words: by an admin."""
    first, text = call.split()
    named = named_one(call, first, call.rest.split()) or first
    return changed_text(call.texts, call.done(await call.service.edit(named, text, **call.by)))


async def move(call: Call) -> str:
    """Move an entry to another scope: by an admin."""
    first, more = call.split()
    named = named_one(call, first, call.rest.split()[:-1]) or first
    outcome = await call.service.move(named, scope_named(more), **call.by)
    return changed_text(call.texts, call.done(outcome))


async def undo(call: Call) -> Reply:
    """Take back the last forget, edit or move: of an entry, or of this person here; or the last
    bringing along, as a whole. What was changed since is passed over."""
    named = (named_one(call, call.rest) or call.rest) if call.rest else ""
    done = await call.service.restore(named, **call.by)
    if isinstance(done, Changed):
        return changed_text(call.texts, done)
    if not isinstance(done, Refused):
        return call.texts.counted("undo", brought_back=done.memories, left=done.left)
    if not is_absent(done):
        raise call.refusal(done, "undo.not_allowed")
    pause = call.service.pause_of(call.where)
    if pause and not named and not done.detail:  # who means the pause, by the word that ends one
        return call.paused(pause)
    code = "not_found" if named else "changed" if done.detail else "nothing"
    return call.say(f"undo.{code}", id=cut(named or done.detail))


def item_numbers(words: str, shown: Collection[int]) -> tuple[int, ...] | None:
    """Returns the numbers that the words name, each once; None for words that are not numbers.

    Args:
        shown: The numbers of the list.
    """
    plain = unicodedata.normalize("NFKC", words).casefold().strip()
    found: list[int] = []
    for part in parts(_RANGE.sub("~", _LOOSE.sub("", plain))):
        ends = [_number(one, shown) for one in part.split("~")]
        known = [one for one in ends if one is not None]
        if len(known) < len(ends) or len(known) > 2:
            return None
        found += range(min(known), max(known) + 1)
    return tuple(dict.fromkeys(found)) or None


def _number(item: str, shown: Collection[int]) -> int | None:
    found = _ITEM.fullmatch(item)
    named = number(found["number"]) if found else None
    if found is None or found["mark"] or found["unit"]:
        return named
    digits = found["number"]
    told = digits.isascii() and (named in shown or len(digits) <= _A_NUMBER)
    return named if told else None


def bare(words: str) -> str:
    """Returns the words without quotes around them and signs behind them."""
    return words.strip(_AROUND)


def parts(words: str) -> list[str]:
    """Returns what a list of items consists of, without what joins it."""
    return [part for part in _BETWEEN.split(words) if part]


def named_one(call: Call, first: str, words: Sequence[str] = ()) -> str | None:
    """Returns the one id that is named; None for what is neither a number nor an id. Where no one
    memory is meant, the command is answered so.

    Args:
        words: The first one and what follows it: together they may name several.
    """
    named = named_several(call, first)
    beginnings = (" ".join(words[:end]) for end in range(2, _MOST))
    several = (item_numbers(one, call.listed) or () for one in beginnings)
    together = any(len(one) > 1 and call.listed.keys() >= set(one) for one in several)
    if together or len(named or ()) > 1:
        raise Enough(call.say("pointed.one_at_a_time"))
    return named[0] if named else None


def named_several(call: Call, words: str) -> list[str] | None:
    """Returns the ids that are named, each once; None for words that are neither numbers nor
    ids. Of a number that no list has, the command is answered so."""
    named, numbers = list[str](), list[int]()
    for part in [words] if item_numbers(words, call.listed) else parts(words):
        found, pointed = item_numbers(part, call.listed) or (), pointed_id(part)
        if not found and pointed is None:  # words; or a whole line that ends with its pointer
            whole = pointed_id(words)
            return None if whole is None else [whole]
        named += [call.listed.get(one, "") for one in found] or [pointed or ""]
        numbers += found
    if numbers and not call.listed:
        raise Enough(call.say("pointed.no_list"))
    if absent := [one for one in numbers if one not in call.listed]:
        ends = {"first": min(call.listed), "last": max(call.listed)}
        raise Enough(call.say("pointed.no_number", number=absent[0], **ends))
    if len(set(named)) > _MOST:
        raise Enough(call.say("pointed.too_many", most=_MOST))
    return [*dict.fromkeys(named)] or None


async def numbered(call: Call, found: Sequence[StoredMemory], first: int = 1) -> list[str]:
    """Returns the memories as lines, and notes their numbers for the person who asked."""
    hits = await call.service.told(found, **call.by, chars=_PREVIEW)
    return await numbered_hits(call, hits, first)


async def numbered_hits(call: Call, hits: Sequence[Hit], first: int = 1) -> list[str]:
    """Does the same with what recall has found."""
    call.list_of([hit.memory_id for hit in hits], first)
    lines = await shown_lines(call, hits)
    return [f"{number}. {line}" for number, line in enumerate(lines, start=first)]


async def shown_lines(call: Call, hits: Sequence[Hit]) -> list[str]:
    """Returns what people read of each, without a number."""
    here, today = await call.here(), call.plugin.clock().date()
    return [memory_line(call.texts, hit, here, today) for hit in hits]
