"""``/memory forget``, ``edit``, ``move`` and ``undo``; and which memory a person means: by words,
an id, a pointer that ends with one, or a number of the list that this person was shown last here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from itertools import chain

from ...llm_memory import Changed, DeedKind, Hit, Refused, StoredMemory, is_changed, is_denied
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.models.data_models import ChangeOutcome, is_absent
from ...llm_memory.text.dates.expressions import Towards, find_times
from ...llm_memory.text.numerals import number
from ...llm_memory.text.safe_text import cut, safe
from ..replies.outcome_text import Enough, changed_text, memory_line, refusal_text
from .call import Call, Reply
from .command_words import first_word, folded_word, scope_named

ME = frozenset({"我", "我的", "我自己", "me", "mine", "my"})
_LONGEST = 100
_SIDE = (
    r"(?:我自己|我|说过?的|[的、，,]|记忆|话|内容|\s"
    r"|\b(?:of|by|from|the|memories|memory|words|said|i|me|mine|my)\b)*"
)
_ALL = rf"{_SIDE}(?:全部|所有|一切|\ball\b|\beverything\b){_SIDE}"
_ALL_OF = re.compile(rf"{_ALL}(?P<after>.*?){_SIDE}|(?P<before>.+?){_ALL}", re.IGNORECASE)
_HERE = re.compile(
    r"(?:(?:这里|这儿|群里|本群|这个?(?:群|对话|会话|聊天)|here|this (?:chat|group|talk))的?)?"
    r"(?P<days>.*)",
    re.IGNORECASE,
)
"""This conversation, or days of it."""
_FOR_GOOD = ("purge", "彻底")
_LIKE = 10
"""So many are listed of what words may mean."""
_A_NUMBER = 2
"""A bare number of more digits names something only if the list has it: 2026 is a word. One of no
more stands in too many texts to name one."""
_N = "[0-9]{1,4}|[一二两三四五六七八九十]{1,3}"
_ITEM = re.compile(
    rf"(?P<mark>第|#)?(?P<first>{_N})(?P<unit>[条号项])?(?:[-~到至][第#]?(?P<last>{_N})[条号项]?)?"
)
_BETWEEN = re.compile(r"[\s,、;]+|[和与]|\band\b")
_AROUND = " \u3000\"'“”‘’「」『』《》。．.!！?？,，;；:：、"
_PREVIEW = 80


def all_of(words: str) -> str | None:
    """Returns whose words are all meant, empty for one's own; None for words that do not begin or
    end with the word for all."""
    found = _ALL_OF.fullmatch(folded_word(words)) if len(words) <= _LONGEST else None
    return found and words[slice(*found.span("before" if found["before"] else "after"))]


async def forget(call: Call) -> Reply:
    """Move entries to the archive, or purge them: by their speaker or an admin. Words that only one
    memory holds name it."""
    words, _, how = call.rest.rpartition(" ")
    for_good = folded_word(how) in _FOR_GOOD
    words = bare(words if for_good else call.rest)
    call.plugin.talk.clear(call.where)
    whose = all_of(words)
    if whose is not None and (asked := await _ask_for_all(call, whose, for_good=for_good)):
        return asked
    named = named_several(call, words) or [await _meant(call, words, how if for_good else "")]
    outcomes = await call.service.forget_many(named, **call.by, for_good=for_good)
    told = [one for one in outcomes if not is_changed(one, DeedKind.PURGED) or one.unfinished]
    back = any(is_changed(one, DeedKind.FORGOTTEN) for one in told)
    counted = call.texts.counted("forget", purged=len(outcomes) - len(told), back=back)
    return [_forgotten(call, one) for one in told] + counted


def _forgotten(call: Call, outcome: ChangeOutcome) -> str:
    if isinstance(outcome, Changed):
        return changed_text(call.texts, outcome)
    same = is_denied(outcome) and outcome.who == call.actor.name
    return refusal_text(call.texts, "forget.another" if same else "forget.not_allowed", outcome)


async def _ask_for_all(call: Call, whose: str, *, for_good: bool) -> Reply | None:
    """Ask before all that a person said is forgotten, one's own, or by an admin another's; or all
    of this conversation. None for words that name neither."""
    accounts, who = [call.actor.person], call.say("forget.you")
    if whose:
        accounts = await call.service.speakers(whose, conversation_id=call.where)
        if not accounts:
            return await _ask_for_here(call, whose, for_good=for_good)
        call.for_admins()
        who = f"“{cut(whose)}”"
    if len(named := tuple(map(safe, accounts))) > 1:
        return call.say("forget.which_speaker", who=who, accounts=named, one=named[0])
    ids = await call.service.ids_said_by(accounts[0], conversation_id=call.where)
    if not ids:
        return call.say("forget.said_nothing", who=who)
    asked = call.say("forget.ask", who=who, count=len(ids))
    forget = partial(call.service.forget_many, ids, **call.by, for_good=for_good)
    return _ask_to_forget(call, forget, asked, for_good=for_good)


async def _ask_for_here(call: Call, words: str, *, for_good: bool) -> Reply | None:
    """Ask before all that was learned from this conversation, or from a day of it, is forgotten, as
    far as this person may: it is counted. None for words that name neither."""
    said = _HERE.fullmatch(folded_word(words))
    days = said and said["days"].strip(_AROUND)
    spans = find_times(days, call.plugin.clock(), Towards.BACK) if days else ()
    if days is None or (days and [span.words for span in spans] != [days]):
        return None
    span = spans[0] if spans else None
    count = await call.service.learned_here(span, **call.by)
    first_last = dict.fromkeys((span.start.isoformat(), span.end.isoformat())) if span else {}
    when = call.say("forget.on_days", days="–".join(first_last)) if span else ""
    if not count:
        return call.say("forget.nothing_here", when=when)
    code = "ask_here" if call.actor.admin else "ask_mine_here"
    asked = call.say(f"forget.{code}", when=when, count=count)
    forget = partial(call.service.forget_here, span, **call.by, for_good=for_good)
    return _ask_to_forget(call, forget, asked, for_good=for_good)


def _ask_to_forget(
    call: Call, forget: Callable[[], Awaitable[list[ChangeOutcome]]], asked: str, *, for_good: bool
) -> Reply:
    """Ask before all of it is forgotten, as one deed."""

    async def forget_all(call: Call) -> Reply:
        outcomes = await forget()
        gone = sum(isinstance(one, Changed) for one in outcomes)
        if not gone:  # why, of the first one
            return _forgotten(call, outcomes[0]) if outcomes else call.say("asked.nothing")
        done = {"purged" if for_good else "all_done": gone}
        return call.texts.counted("forget", **done, all_left=len(outcomes) - gone)

    lines = [asked, *call.texts.counted("forget", ask_for_good=for_good)]
    return call.ask(lines, forget_all, short=call.say("forget.deed"))


async def _meant(call: Call, words: str, for_good: str) -> str:
    """The id of the one memory that holds the words; of others' only where one's own hold none. Of
    several, and before one is lost for good, nothing is taken for meant. One character or a short
    number is not looked for, and beside other words it leaves open what is meant."""
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
    others = _numbers(first_word(text)[0], call.listed)
    if others and call.listed.keys() >= {*others}:
        raise Enough(call.say("pointed.one_at_a_time"))
    outcome = await call.service.edit(named_one(call, first) or first, text, **call.by)
    return changed_text(call.texts, call.done(outcome))


async def move(call: Call) -> str:
    """Move an entry to another scope: by an admin."""
    first, more = call.split()
    scope, named = scope_named(more), named_one(call, first) or first
    outcome = await call.service.move(named, scope, **call.by)
    return changed_text(call.texts, call.done(outcome))


async def undo(call: Call) -> Reply:
    """Take back what was done last: to an entry, or by this person here, as a whole. What was
    changed since is passed over."""
    named = named_one(call, call.rest) or call.rest
    done = await call.service.restore(named, **call.by)
    if isinstance(done, Changed):
        return changed_text(call.texts, done)
    if not isinstance(done, Refused):
        return call.texts.counted("undo", brought_back=done.memories, left=done.left)
    if not is_absent(done):
        raise call.refusal(done, "undo.not_allowed")
    pause = call.service.pause_of(call.where)
    if pause and not named:  # who means the pause, by the word that ends one
        return call.paused(pause)
    return call.say("undo.not_found" if named else "undo.nothing", id=cut(named))


def bare(words: str) -> str:
    """Returns the words without quotes around them and signs behind them."""
    return words.strip(_AROUND)


def named_one(call: Call, words: str) -> str | None:
    """Returns the one id that is named; None for words that name none. Several are answered."""
    named = named_several(call, words)
    if named and len(named) > 1:
        raise Enough(call.say("pointed.one_at_a_time"))
    return named[0] if named else None


def named_several(call: Call, words: str) -> list[str] | None:
    """Returns the ids that are named, each once; None for words that are neither numbers nor ids. A
    number that was not listed is answered."""
    listed, parts = call.listed, _BETWEEN.split(folded_word(unicodedata.normalize("NFKC", words)))
    read = [(_numbers(one, listed), pointed_id(one) or "") for one in parts if one]
    if not read or not all(numbers or pointed for numbers, pointed in read):
        whole = pointed_id(words)  # of a line that ends with its pointer; else they are words
        return None if whole is None else [whole]
    absent = (one for numbers, _ in read for one in numbers if one not in listed)
    if (first := next(absent, None)) is not None:
        raise Enough(call.say("pointed.no_number", number=first))
    ids = ([listed[one] for one in numbers] or [pointed] for numbers, pointed in read)
    return [*dict.fromkeys(chain.from_iterable(ids))]


def _numbers(word: str, shown: Collection[int]) -> Sequence[int]:
    """Returns the numbers that a word names, none for what is no number; ``shown`` by the list."""
    found = _ITEM.fullmatch(folded_word(word))
    if found is None:
        return ()
    digits, first = found["first"], number(found["first"])
    last = number(found["last"] or digits)
    told = digits.isascii() and (first in shown or len(digits) <= _A_NUMBER)
    if first is None or last is None or not (found["mark"] or found["unit"] or told):
        return ()
    return range(min(first, last), max(first, last) + 1)


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
