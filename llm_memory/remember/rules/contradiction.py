"""Whether a new statement takes back an older one of the same subject. The words by which people do
so are in ``gate.txt``.

A wrong replacement hides what is true. It is certain where two statements are the same word for
word but for a negation, or but for one number or date at the end of the clause. Else a speaker has
to say that he corrects something, or that it has ended.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...catalogue.rules.closing import closed_by
from ...catalogue.rules.event_day import is_another_event
from ...index.rules.deduplication import same_speaker
from ...models.data_models import Memory, MemoryDraft, StoredMemory
from ...recall.rules.tell_once import Statement as Read
from ...recall.rules.tell_once import features, may_follow, weight
from ...recall.weights import Linear
from ...text.overlap import content, is_model_worded
from ...text.same_meaning import LIGHT, NEGATIONS, PERSONS
from ...text.scripts import fold, simplified
from ...text.statements import Statement, Words, agree, statement
from . import GATE
from .corrected import named

_LIKELY, _CERTAIN = 1.5, 100.0
"""Log-odds at which a statement that takes something back is about another one; twice of them where
it does not say so."""
_PERHAPS: Final = -2.0
"""Log-odds at which one statement may be about what another one is about."""
_AHEAD: Final = 1.0
"""Of anything else that it may be about: nobody guesses which of two is meant."""
_MOST: Final = 0.6
"""Of what a statement tells of: so much has ended where it has."""
_LEAST: Final = 3
"""Shared, where a Han character counts one and a word two."""
_NO_PART: Final = NEGATIONS | LIGHT | {"do", "does", "did"}
_WORD: Final = re.compile(r"[0-9A-Za-z']+|[^\W_]")
_CLAUSE: Final = re.compile(r"(?:[^，,。；;.!！?\n\s]|(?<=[!-~])\s|\s(?=[!-~]))+")
"""A blank ends one between Chinese characters."""


@dataclass(frozen=True, slots=True)
class Taken:
    """How a statement takes back another one: something was not so, or what was so has ended.

    Attributes:
        said: What of it counts: what has ended, or all without the words by which it calls itself
            a correction.
        dropped: What it says is not so; empty where it names none.
        named: It calls itself a correction.
    """

    said: str
    corrects: bool = False
    ends: bool = False
    dropped: str = ""
    named: bool = False


def takes_back(draft: MemoryDraft) -> Taken:
    """How a draft takes something back, by its words or by those that a model has heard."""
    found = _taken_back(simplified(draft.judgment))
    if draft.heard is None or found.corrects:
        return found
    name = "" if draft.actor is None else draft.actor.name
    heard = _taken_back(simplified(draft.heard))
    if heard.corrects and not is_model_worded(draft.judgment, draft.heard, name):
        return replace(heard, said=draft.judgment)
    return found


def _taken_back(text: str) -> Taken:
    said = GATE["corrects"].sub("", text).strip()
    named = bool(said) and said != text.strip()
    contrast = GATE["contrast"].search(said)
    dropped = next(filter(None, contrast.groups()), "") if contrast else ""
    if named or dropped:
        rest = said if named else text
        if contrast and contrast["start"]:
            rest = said.removeprefix(contrast[0])
        return Taken(rest, corrects=True, dropped=dropped, named=named)
    ended = " ".join(one for one in _CLAUSE.findall(text) if GATE["ended"].search(one))
    return Taken(ended or text, ends=bool(ended))


def contradicted(
    new: Memory, taken: Taken, near: Sequence[StoredMemory], model: Linear
) -> tuple[bool, StoredMemory | None]:
    """Returns what a statement contradicts, and whether it may take its place: what a person
    vouches for, or another speaker said, stays, and so does what may be meant as well as another
    one."""
    mine, found = _read(replace(new, judgment=taken.said)), []
    for stored in near:
        old, yours = stored.memory, _read(stored.memory)
        if closed_by(old) or old.created_at > new.created_at:
            continue
        if (score := _score(mine, yours, taken, model)) is not None:
            vouched = old.provenance.vouched and not new.provenance.vouched
            own = same_speaker(new, old) and not vouched and not new.model_worded
            found.append((own, score, stored, yours))
    if not found:
        return False, None
    (own, best, stored, yours), *others = sorted(found, key=lambda one: one[:2], reverse=True)
    if not own or any(best - score < _AHEAD for also, score, *_ in others if also):
        return False, stored
    if best >= _CERTAIN:
        return True, stored
    if taken.ends:
        return weight(mine.about & yours.about) >= _MOST * weight(yours.about), stored
    moved = GATE["changed"].search(taken.said) and features(yours, mine)["value"] > 0
    return bool(taken.corrects or moved) and _subject(mine.memory) == _subject(yours.memory), stored


def tells_of_the_same(new: Memory, old: Memory, heard: str, model: Linear) -> bool:
    """Returns whether a later statement may be about what ``old`` is about, as it stands later: by
    its words, or because they share any and it is told of as something that changes. ``heard``: the
    words that it was made of."""
    mine, yours = _read(new), _read(old)
    changes = any(map(GATE["changed"].search, map(simplified, (new.judgment, heard))))
    return may_follow(yours, mine) and (changes or model.score(features(yours, mine)) > _PERHAPS)


def _read(memory: Memory) -> Read:
    """A memory in one script, with its speaker's name for the first person; his own if it speaks
    of him."""
    who = simplified(memory.provenance.who)
    text = named(simplified(memory.judgment), who)
    of_one = replace(memory, judgment=text, provenance=replace(memory.provenance, who=who))
    read = Read.of(of_one, frozenset({who} - {""}))
    own = bool(who) and who in text
    return replace(read, own=own, named=frozenset({who}) if own else frozenset())


def _score(new: Read, old: Read, taken: Taken, model: Linear) -> float | None:
    """Returns the log-odds that the new statement says how it stands now with what the old one
    says, None where it does not. Who corrects himself is brief, and begins with the same words on
    purpose."""
    mine, yours = new.memory, old.memory
    follows, another = may_follow(old, new), is_another_event(mine, yours)
    if (follows or same_speaker(mine, yours)) and not another and contradicts(mine, yours):
        return _CERTAIN
    said = (statement(one.judgment, one.created_at).words for one in (mine, yours))
    if not follows or agree(*said) or (another and not taken.corrects):
        return None
    found = features(old, new) | {"speaker": 1.0, "days": 0.5, "names": 0.5}
    if taken.ends:
        ended = _ends(mine.judgment, yours.judgment, content(mine.who))
        return model.score(found) if ended else None
    if not taken.corrects and not GATE["changed"].search(mine.judgment):
        score = model.score(found)
        told = _subject(mine) == _subject(yours) and score >= 2 * _LIKELY
        return score if told or _tell_a_value(mine.judgment, yours.judgment) else None
    # Of what it says is not so the old statement has the greater part.
    dropped = content(taken.dropped)
    if dropped and 2 * len(dropped & content(yours.judgment)) <= len(dropped):
        return None
    shared = ("pairs", "beyond", "changes")
    found |= {name: max(found["cosine"], found[name]) for name in shared}
    score = model.score(found)
    return score if score >= _LIKELY else None


def _ends(new: str, old: str, names: frozenset[str]) -> bool:
    """Whether ``new`` says that what ``old`` says has ended: it denies the same deed of the same
    person, and tells of little else. ``names``: the ``content`` of the speaker's name."""
    deed, left = GATE["denied"].search(new), content(GATE["ending"].sub("", new)) - names
    denied = (deed["han"] or fold(deed["latin"])[:4]) if deed else ""
    others = any(person in fold(old) and person not in fold(new) for person in PERSONS)
    # Who is no longer 当 something, is no longer what the old statement calls them.
    if denied not in f"{fold(old)}当做任" or others:
        return False
    return len(left & content(old)) > _MOST * len(left)


def _subject(said: Memory) -> frozenset[str]:
    """The word that it begins with, apart from its speaker's name: which of his things it is."""
    text = said.judgment.replace(said.who, " ") if said.who else said.judgment
    words = (content(word) for word in _WORD.findall(text) if not word.endswith("n't"))
    return next(filter(None, words), frozenset())


def _tell_a_value(new: str, old: str) -> bool:
    """Whether both say what the same thing is: 默认分支是 main, 默认分支是 master."""
    one, other = (GATE["tells_value"].match(said) for said in (new, old))
    same = one and other and fold(one[0]) == fold(other[0])
    return bool(same and one and len(content(one[0])) > _LEAST)


def contradicts(new: Memory, old: Memory) -> bool:
    """Whether both say the same word for word, but for a negation, or for one number or date at the
    end of what is said first: a reason may follow."""
    mine, yours = _statement(new), _statement(old)
    if not mine.clauses or not yours.clauses or agree(mine.words, yours.words):
        return False
    one, other = mine.clauses[0], yours.clauses[0]
    told = all(GATE["tells_value"].match(simplified(said.judgment)) for said in (new, old))
    return _is_negated(one, other) or _differ(one, other, _LEAST - told)


def _statement(said: Memory) -> Statement:
    # ``statement`` takes the 不过 of 不过敏 for "but".
    text = simplified(said.judgment).replace("不过敏", "没过敏")
    text = GATE["no_more"].sub(lambda one: "not" if one[0][0] in "nN" else "", text)
    return statement(text, said.created_at)


def _is_negated(one: Words, other: Words) -> bool:
    """Whether one says that the other is not so, in the same words."""
    odd, even = (sum(word in NEGATIONS for word in words) % 2 for words in (one, other))
    return odd != even and weight(one) >= _LEAST and agree(_positive(one), _positive(other))


def _positive(words: Words) -> Words:
    """The words without negations; a verb as it stands behind "does not"."""
    left = (word for word in words if word not in _NO_PART)
    return tuple(re.sub(r"(?<=[!-~]{3})s$", "", word) for word in left)


def _differ(one: Words, other: Words, least: int) -> bool:
    """Whether they differ in one number or date alone, with words of this weight before it, and
    nothing but its unit behind: in 301 的灯坏了 the number is the thing's name."""
    places = [at for at, both in enumerate(zip(one, other, strict=False)) if both[0] != both[1]]
    if len(one) != len(other) or len(places) != 1:
        return False
    before, behind = one[: places[0]], one[places[0] + 1 :]
    return (
        all(GATE["value"].fullmatch(words[places[0]]) for words in (one, other))
        and before[-1:] != ("第",)
        and weight(before) >= least
        and all(map(GATE["unit"].fullmatch, behind))
    )
