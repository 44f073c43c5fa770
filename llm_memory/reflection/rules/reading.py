"""Turns the model's answer into feedback: speaker and time are taken from the turns. Pure. The
answer names a turn, or a speaker's label; if the two disagree, the draft has no speaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from ...catalogue.rules.talk_history import anchor
from ...models.conversation import Actor
from ...models.data_models import MemoryDraft, MemoryKind, Source
from ...models.soul import MannerWish
from ...models.turns import Contradiction, Feedback, QueuedTurn
from ...recall.rules.tell_once import claiming_nothing
from ...text.normalising import clean
from .guards import said_by
from .prompt import NOBODY, Speaker, placeholders, speakers
from .reply import KINDS, NewMemory, ReflectionReply, usable_asks, usable_tags

MOST_TAGS: Final = 7
_STRENGTH = 50


def read_reply(
    reply: ReflectionReply, turns: Sequence[QueuedTurn], *, proposes: bool = False
) -> Feedback:
    """Returns the answer as feedback on these turns. ``proposes``: a new memory that is marked as a
    decision is a proposal."""
    who = speakers(turns)
    return Feedback(
        useful_ids=tuple(dict.fromkeys(reply.useful_ids)),
        useless_ids=tuple(dict.fromkeys(reply.useless_ids)),
        drafts=tuple(
            replace(_draft(new, turns, who)[0], proposed=proposes and new.decision is True)
            for new in reply.new_memories
        ),
        contradictions=tuple(
            Contradiction(one.old_id, *_draft(one.new, turns, who)) for one in reply.contradictions
        ),
        manner=_manner(reply, who),
    )


def _manner(reply: ReflectionReply, who: Sequence[Speaker]) -> tuple[MannerWish, ...]:
    """Returns what the speakers asked of the bot's manner. Where several speak, an item that names
    none of them is dropped: it could be counted for nobody."""
    persons = {speaker.label: speaker.person for speaker in who}
    alone = next(iter(persons)) if len(persons) == 1 else ""
    return tuple(
        dict.fromkeys(
            MannerWish(axis, direction, persons[label or alone])
            for axis, direction, label in reply.manner
            if (label or alone) in persons
        )
    )


def _draft(
    new: NewMemory, turns: Sequence[QueuedTurn], who: Sequence[Speaker]
) -> tuple[MemoryDraft, str]:
    """Returns the draft and the ticket of its turn, empty if the answer names none."""
    turn, actor = _source(new, turns, who)
    own = (t.user_text for t, one in zip(turns, who, strict=True) if one.actor == actor)
    said_at = turns[-1 if turn is None else turn].observed_at
    known = turns[0] if len(turns) == 1 else None if turn is None else turns[turn]
    tags = (tag for tag in new.tags or () if tag not in placeholders())
    asks = (ask for ask in new.asks or () if ask not in placeholders())
    reasoning = claiming_nothing(clean(new.reasoning or ""))
    draft = MemoryDraft(
        judgment=new.judgment,
        reasoning="" if reasoning in placeholders() else reasoning,
        tags=usable_tags(tags, new.judgment)[:MOST_TAGS],
        asks=usable_asks(asks, new.judgment),
        # An unknown kind does not invalidate the memory.
        kind=KINDS.get(new.kind or "", MemoryKind.KNOWLEDGE),
        strength=_STRENGTH if new.strength is None else new.strength,
        active=False,
        source=Source.REFLECTION,
        actor=actor,
        said_at=said_at,
        heard="\n".join(own),
        day=_day(new, said_at),
        talk=anchor(known.history, known.user_text) if known else "",
    )
    return draft, "" if turn is None else turns[turn].ticket_id


def _source(
    new: NewMemory, turns: Sequence[QueuedTurn], who: Sequence[Speaker]
) -> tuple[int | None, Actor]:
    """Returns the index of the turn in which it was said, and its speaker."""
    label = _label(new.who or "", who)
    turn = None if new.turn is None else new.turn - 1
    if turn is not None and not 0 <= turn < len(turns):
        return None, NOBODY
    if turn is None and label is not None:
        turn = max(place for place, one in enumerate(who) if one.label == label)
    alone = len({one.label for one in who}) == 1
    if turn is None:
        return None, who[0].actor if alone and not new.who else NOBODY
    if new.who and label != who[turn].label:
        return turn, NOBODY
    if not alone and not said_by(new.judgment, who[turn], turns):
        return turn, NOBODY
    return turn, who[turn].actor


def _label(named: str, who: Sequence[Speaker]) -> str | None:
    """Returns the label of the named speaker: by label, or by a name that only one of them has."""
    named = named.strip()
    found = {one.label for one in who if named and named in (one.label, one.name)}
    return found.pop() if len(found) == 1 else None


def _day(new: NewMemory, said_at: datetime) -> date | None:
    """Returns the event's day. What is no event has none if it is that on which it was said."""
    try:
        day = date.fromisoformat((new.when or "")[:10])
    except ValueError:
        return None
    is_event = KINDS.get(new.kind or "") is MemoryKind.EVENT
    return day if is_event or day != said_at.date() else None
