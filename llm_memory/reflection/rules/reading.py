"""Turns the model's answer into feedback: speaker and time are taken from the turns. Pure. The
answer names a turn, or a speaker's label; if the two disagree, the draft has no speaker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Final

from ...models.conversation import Actor
from ...models.data_models import MemoryDraft, MemoryKind, Source
from ...models.turns import Contradiction, Feedback, Merge, QueuedTurn
from ...recall.rules.successors import claiming_nothing
from ...text.normalising import clean
from .guards import said_by
from .reply import KINDS, NewMemory, ReflectionReply
from .speakers import NOBODY, Speaker, speakers
from .tags import usable_tags

MOST_TAGS: Final = 7
_STRENGTH = 50


def read_reply(reply: ReflectionReply, turns: Sequence[QueuedTurn]) -> Feedback:
    """Returns the answer as feedback on these turns."""
    who = speakers(turns)

    def draft(new: NewMemory) -> tuple[MemoryDraft, str]:
        return _draft(new, turns, who)

    return Feedback(
        useful_ids=tuple(dict.fromkeys(reply.useful_ids)),
        useless_ids=tuple(dict.fromkeys(reply.useless_ids)),
        drafts=tuple(draft(new)[0] for new in reply.new_memories),
        contradictions=tuple(
            Contradiction(one.old_id, *draft(one.new)) for one in reply.contradictions
        ),
        merges=tuple(
            Merge(tuple(dict.fromkeys(one.ids)), draft(one.new)[0]) for one in reply.merges
        ),
    )


def _draft(
    new: NewMemory, turns: Sequence[QueuedTurn], who: Sequence[Speaker]
) -> tuple[MemoryDraft, str]:
    """Returns the draft and the ticket of its turn, empty if the answer names none."""
    turn, actor = _source(new, turns, who)
    own = (t.user_text for t, one in zip(turns, who, strict=True) if one.actor == actor)
    said_at = turns[-1 if turn is None else turn].observed_at
    draft = MemoryDraft(
        judgment=new.judgment,
        reasoning=_reasoning(new, said_at.date()),
        tags=usable_tags(new.tags or (), new.judgment)[:MOST_TAGS],
        # An unknown kind does not invalidate the memory.
        kind=KINDS.get(new.kind or "", MemoryKind.KNOWLEDGE),
        strength=_STRENGTH if new.strength is None else new.strength,
        active=False,
        source=Source.REFLECTION,
        actor=actor,
        said_at=said_at,
        heard="\n".join(own),
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


def _reasoning(new: NewMemory, said_on: date) -> str:
    """Returns the reasoning, with the event's day if it differs from the day it was said."""
    reasoning = claiming_nothing(clean(new.reasoning or ""))
    try:
        day = date.fromisoformat((new.when or "")[:10])
    except ValueError:
        return reasoning
    return reasoning if day == said_on else f"{reasoning}\n时间：{day.isoformat()}".strip()
