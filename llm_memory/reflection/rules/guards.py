"""Guards against the reflection model's answer: what it may not change. Pure.

The model can be manipulated by the words that it reads. So its changes to existing memories are
checked against what was really said, and by whom.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ...catalogue.rules.timeline import is_digest
from ...models.data_models import MemoryKind, Source, StoredMemory, Topic
from ...models.turns import QueuedTurn
from ...models.vault_layout import topic_of
from ...remember.rules.gate import order_like
from ...text.overlap import CHANGED, content
from ...text.same_meaning import TURNS
from ...text.scripts import NARROW, WIDE, fold
from ...text.stated import CLAUSE, SENTENCE, stated
from .prompt import Speaker

_HALF = 0.5
_SAME_THING: Final = 4
"""A settling statement shares at least one in so many of the entry's words."""
_LEAST_NAME: Final = 2
_DENIAL: Final = re.compile(r"[不没未无]|n['’]t\b|\b(?:not|no|never|none|nothing)\b", re.IGNORECASE)
_SHARED: Final = frozenset({Topic.ENTITIES, Topic.DECISIONS, Topic.JOURNAL})
"""Topics on which any speaker's statement counts; preferences are not among them."""
_NO_MORE: Final = re.compile(
    r"了|再|已|取消|作废|改|换|推迟|提前|还清|算了|"
    r"\b(?:now|longer|any ?more|already|cancel\w*|instead|moved|paid|back|off)\b",
    re.IGNORECASE,
)
_STAYS: Final = re.compile(
    r"(?:(?<!不得)[不没未别勿莫]|甭)有?(?:打算|准备|可能|可以|[会能用要想必再是该肯敢])?"
    r"(?:取消|作废|提前|还[清了回给]?|[改推挪延换])|"
    r"(?:(?:\bnot|\bnever|\bcannot|n['’]t)\b(?!.*\b(?:any ?more|longer)\b)).*",
    re.IGNORECASE,
)
"""Phrases about plans that are not dropped, moved or done."""
_DEBT: Final = re.compile(r"欠|借|\b(?:owes?|owed|lend|lent|borrow\w*)\b", re.IGNORECASE)

_LONGEST_RULE: Final = 120
_LASTING: Final = re.compile(
    r"以后|今后|往后|从现在起|从今|从此|每次|任何时候|永远|一律|不管谁|无论谁|"
    r"\b(?:from now on|always|never|every time|whenever)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"[“”「」『』\"]|(?:说|讲|写|规定|要求|告诉我|转告|听说)[：:，,]|(?:他|她|他们|人家|有人|老板|老师|对方)[^，。]{0,4}说|"
    r"\b(?:he|she|they|somebody|someone|who) (?:said|says|told|wrote)\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(r"[?？]\s*$|[吗呢么]\W*$|^(?:要是|如果|假如|万一)|\bif\b", re.IGNORECASE)
_BEFORE: Final = re.compile(r"^(?:(?:对了|还有|另外|那个|嗯+|哦|好的?|行|记住|听着)[，,：:\s]*)+")


def said_by(text: str, speaker: Speaker, turns: Sequence[QueuedTurn]) -> bool:
    """Returns whether the speaker said as much of a text as any other speaker in the turns, and
    some of it: else it comes from another speaker, whatever turn the model cites."""
    wanted = content(text) - content(speaker.name)
    if not wanted:
        return True
    said: dict[bool, list[str]] = {True: [], False: []}
    for turn in turns:
        said[_is(speaker, turn)].append(turn.user_text)
    own = len(wanted & content("\n".join(said[True])))
    return own > 0 and all(len(wanted & content(text)) <= own for text in said[False])


def may_replace(stored: StoredMemory, text: str, turn: QueuedTurn) -> bool:
    """Returns whether ``text``, learned from a turn, may replace an older entry of its speaker.

    The speaker must have said at least half of what is new in it, and a negation if one is added or
    removed, and must not leave out more of the entry than is repeated. Handwritten entries and
    standing instructions are never replaced. A turn from before the entry retracts nothing of it:
    conversations are not read in the order in which people talked.
    """
    old = stored.memory
    if turn.observed_at < old.created_at:
        return False
    if old.provenance.source is Source.PERSON or topic_of(stored.path) is Topic.INSTRUCTIONS:
        return False
    if len(content(old.judgment) - content(text)) > len(content(text)):
        return False  # most of it was not retracted
    known = content(old.judgment) | content(turn.who) | content(old.provenance.who)
    wanted = content(text) - known or content(text) - content(turn.who)
    told = stated(turn.user_text)
    if not wanted or len(wanted & content(told)) < len(wanted) * _HALF:
        return False
    return _turned(old.judgment) == _turned(text) or _turned(told)


def may_close(stored: StoredMemory, text: str, turn: QueuedTurn, *, own: bool, known: bool) -> bool:
    """Returns whether ``text``, learned from a turn, settles an older entry that it may not
    replace: the entry is kept and marked. ``own``: the turn's speaker also said the entry.
    ``known``: the turn's account bore its name there before the entry was made; a nickname alone is
    free to choose, and makes its bearer no party of what holds it.

    It must be about the same matter, not only the same people, and was said in the turn. Other
    speakers settle entries that name them, plans of the same conversation that they say are
    changed, and, except in public, facts. Only an admin settles what an admin vouches for. A flat
    denial of another speaker's words settles nothing.
    """
    old, origin = stored.memory, stored.memory.provenance
    if turn.observed_at < old.created_at or old.quoted or is_digest(old):
        return False
    if origin.source is Source.PERSON or topic_of(stored.path) is Topic.INSTRUCTIONS:
        return False
    if origin.trusted and not (own or turn.admin):
        return False
    about, new, said = content(old.judgment), content(text), content(stated(turn.user_text))
    names = frozenset() if own else content(turn.who) | content(origin.who)
    matter = about - names, new - names
    shared = len(matter[0] & matter[1])
    if not shared or _SAME_THING * shared < min(map(len, matter)):
        return False
    wanted = new - about - content(turn.who) or new - content(turn.who)
    if not wanted or len(wanted & said) < len(wanted) * _HALF:
        return False
    denied = _denies(text) and not _denies(old.judgment)
    return own or (_is_party(stored, text, turn, known=known) and not denied)


def _is_party(stored: StoredMemory, text: str, turn: QueuedTurn, *, known: bool) -> bool:
    old = stored.memory
    if turn.who == old.provenance.who:
        return False  # another account under the speaker's name
    if known and len(turn.who) >= _LEAST_NAME and _names(old.judgment, turn.who):
        return True
    if _DEBT.search(old.judgment) and _names(text, turn.who):
        return False  # it is the speaker's own debt, not that of the others
    shared = old.kind in (MemoryKind.EVENT, MemoryKind.TASK)
    if not stored.scope.is_public:  # among people whom the owner put into one scope
        shared = shared or topic_of(stored.path) in _SHARED
    here = old.provenance.conversation == turn.conversation
    changed = _without_what_stays(stated(turn.user_text))
    return shared and here and CHANGED.search(changed) is not None


def _names(text: str, who: str) -> bool:
    bound = r"\b" if who.isascii() else ""
    return bool(who) and re.search(f"{bound}{re.escape(who)}{bound}", text) is not None


def _denies(text: str) -> bool:
    """Returns whether a text denies something, rather than saying that it has ended."""
    rest = _without_what_stays(text)
    return _DENIAL.search(text) is not None and _NO_MORE.search(rest) is None


def _without_what_stays(text: str) -> str:
    return "".join(_STAYS.sub("", clause) for clause in CLAUSE.findall(text))


def _turned(text: str) -> bool:
    """Returns whether a text denies or retracts something."""
    folded = fold(text)
    words = set(NARROW.findall(WIDE.sub(" ", folded)))
    wide = (word for word in TURNS if not word.isascii())
    return bool(words & TURNS) or any(word in folded for word in wide)


def _is(speaker: Speaker, turn: QueuedTurn) -> bool:
    return turn.person == speaker.person and (bool(turn.person) or turn.who == speaker.name)


def rules_said(text: str) -> list[str]:
    """Returns the sentences of an admin's message to the bot that are standing rules, verbatim:
    以后你回答不要超过三句话. Only the admin's own words are examined, so no text can manipulate the
    model into a rule. A one-time order (你必须马上回答), reported speech, a question, or an attempt
    to override existing rules is none."""
    said = (_BEFORE.sub("", sentence.strip()).strip() for sentence in SENTENCE.findall(text))
    return list(dict.fromkeys(one.rstrip("。；;.\n ") for one in said if _is_rule(one)))


def _is_rule(words: str) -> bool:
    lasts = 0 < len(words) <= _LONGEST_RULE and _LASTING.search(words) is not None
    is_doubtful = _REPORTED.search(words) or _OPEN.search(words)
    return lasts and not is_doubtful and order_like(words) == "standing"
