"""Guards against the reflection model's answer: what it may not change. Pure.

The model can be manipulated by the words that it reads. So its changes to existing memories are
checked against what was really said, and by whom.
"""

from __future__ import annotations

import re
from typing import Final

from ...catalogue.rules.timeline import is_digest
from ...models.data_models import MemoryKind, Source, StoredMemory, Topic
from ...models.turns import QueuedTurn
from ...models.vault_layout import topic_of
from ...remember.rules.gate import order_like
from ...text.overlap import CHANGED, content
from ...text.stated import CLAUSE, SENTENCE, stated
from . import GROUNDING
from .claims import denials, plainly

_HALF = 0.5
_SAME_THING: Final = 4
"""A settling statement shares at least one in so many of the entry's words."""
_LEAST_NAME: Final = 2
_SHARED: Final = frozenset({Topic.ENTITIES, Topic.DECISIONS, Topic.JOURNAL})
"""Topics on which any speaker's statement counts; preferences are not among them."""
_ENDED: Final = re.compile(r"不再|不[^，。]{0,6}了|\b(?:any ?more|no longer)\b", re.IGNORECASE)
"""Matches a negation that says what was, and is no more."""
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
    turned = bool(denials(old.judgment)) is not bool(denials(text))
    return not turned or bool(denials(told)) or _changes(told)


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
    return shared and here and _changes(stated(turn.user_text))


def _names(text: str, who: str) -> bool:
    bound = r"\b" if who.isascii() else ""
    return bool(who) and re.search(f"{bound}{re.escape(who)}{bound}", text) is not None


def _denies(text: str) -> bool:
    """Returns whether a text denies something, rather than saying that it has ended."""
    return bool(denials(text)) and not _changes(text)


def _changes(text: str) -> bool:
    """Returns whether a text says that something has ended or changed: 没取消 does not."""
    for clause in CLAUSE.findall(text):
        told = plainly(clause)
        if _ENDED.search(told) or CHANGED.search(GROUNDING["denied"].sub("", told)):
            return True
    return False


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
