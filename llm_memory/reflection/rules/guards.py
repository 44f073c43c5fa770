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
from ...text.overlap import content, holds, says_changed
from ...text.scripts import simplified
from ...text.stated import CLAUSE, SENTENCE, stated
from . import GROUNDING
from .figures import plain
from .grounding import denials, plainly

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
    removed, and must not leave out more of the entry than is repeated.
    """
    old, new, told = stored.memory.judgment, content(text), stated(turn.user_text)
    is_retracted = len(content(old) - new) <= len(new)
    if _stays(stored, turn) or not is_retracted or not _is_news(stored, text, turn):
        return False
    turned = bool(denials(old)) is not bool(denials(text))
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
    vouched = origin.trusted and not (own or turn.admin)
    if _stays(stored, turn) or old.quoted or is_digest(old) or vouched:
        return False
    names = frozenset() if own else content(turn.who) | content(origin.who)
    about, new = content(old.judgment) - names, content(text) - names
    shared = len(about & new)
    if not shared or _SAME_THING * shared < min(len(about), len(new)):
        return False
    denied = _denies(text) and not _denies(old.judgment)
    party = own or (_is_party(stored, text, turn, known=known) and not denied)
    return party and _is_news(stored, text, turn)


def _stays(stored: StoredMemory, turn: QueuedTurn) -> bool:
    """Handwritten entries and standing instructions are never changed; and a turn from before the
    entry retracts nothing of it: conversations are not read in the order in which people talked."""
    is_lasting = topic_of(stored.path) is Topic.INSTRUCTIONS
    is_earlier = turn.observed_at < stored.memory.created_at
    return is_lasting or is_earlier or stored.memory.provenance.source is Source.PERSON


def _is_news(stored: StoredMemory, text: str, turn: QueuedTurn) -> bool:
    """Returns whether the speaker has said at least half of what is new in a text."""
    new = content(text) - content(turn.who)
    known = content(stored.memory.judgment) | content(stored.memory.provenance.who)
    wanted = new - known or new
    return bool(wanted) and 2 * len(wanted & content(stated(turn.user_text))) >= len(wanted)


def _is_party(stored: StoredMemory, text: str, turn: QueuedTurn, *, known: bool) -> bool:
    old = stored.memory
    if turn.who == old.provenance.who:
        return False  # another account under the speaker's name
    if known and len(turn.who) >= _LEAST_NAME and holds(plain(old.judgment), plain(turn.who)):
        return True
    # Among people whom the owner put into one scope.
    fact = not stored.scope.is_public and topic_of(stored.path) in _SHARED
    shared = fact or old.kind in (MemoryKind.EVENT, MemoryKind.TASK)
    own_debt = (
        turn.who
        and _DEBT.search(simplified(old.judgment)) is not None
        and holds(plain(text), plain(turn.who))
    )
    here = old.provenance.conversation == turn.conversation
    return shared and here and not own_debt and _changes(stated(turn.user_text))


def _denies(text: str) -> bool:
    """Returns whether a text denies something, rather than saying that it has ended."""
    return bool(denials(text)) and not _changes(text)


def _changes(text: str) -> bool:
    """Returns whether a text says that something has ended or changed: 没取消 does not."""
    told = [plainly(clause) for clause in CLAUSE.findall(text)]
    affirmed = (GROUNDING["denied"].sub("", clause) for clause in told)
    return any(map(_ENDED.search, told)) or any(map(says_changed, affirmed))


def rules_said(text: str) -> list[str]:
    """Returns the sentences of an admin's message to the bot that are standing rules, verbatim:
    以后你回答不要超过三句话. Only the admin's own words are examined, so no text can manipulate the
    model into a rule. A one-time order (你必须马上回答), reported speech, a question, or an attempt
    to override existing rules is none."""
    said = [sentence.strip() for sentence in SENTENCE.findall(text)]
    openings = [_BEFORE.match(simplified(one)) for one in said]
    rules = (one[first.end() if first else 0 :] for one, first in zip(said, openings, strict=True))
    return list(dict.fromkeys(one.strip().rstrip("。；;.\n ") for one in rules if _is_rule(one)))


def _is_rule(words: str) -> bool:
    words = simplified(words.strip())
    lasts = 0 < len(words) <= _LONGEST_RULE and _LASTING.search(words) is not None
    is_doubtful = _REPORTED.search(words) or _OPEN.search(words)
    return lasts and not is_doubtful and order_like(words) == "standing"
