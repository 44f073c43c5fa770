"""From a reader's answer to what is to be learned: who said it, and when, is told by the turns.

Pure. The answer names a turn, or a speaker's label; what does not agree with itself is nobody's.
"""

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
    """What the answer to these turns says, as feedback on them."""
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
    """And the ticket of the turn that it comes from, empty where that is not said."""
    turn, actor = _source(new, turns, who)
    own = (t.user_text for t, one in zip(turns, who, strict=True) if one.actor == actor)
    said_at = turns[-1 if turn is None else turn].observed_at
    draft = MemoryDraft(
        judgment=new.judgment,
        reasoning=_reasoning(new, said_at.date()),
        tags=usable_tags(new.tags or (), new.judgment)[:MOST_TAGS],
        # A model that makes up a kind has still said what there is to remember.
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
    """The turn that it was said in, as a place, and who said it."""
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
    """The speaker that is meant: by label, or by a name that only one of them has."""
    named = named.strip()
    found = {one.label for one in who if named and named in (one.label, one.name)}
    return found.pop() if len(found) == 1 else None


def _reasoning(new: NewMemory, said_on: date) -> str:
    """With the day of what is told, where that is another than the day it was said."""
    reasoning = claiming_nothing(clean(new.reasoning or ""))
    try:
        day = date.fromisoformat((new.when or "")[:10])
    except ValueError:
        return reasoning
    return reasoning if day == said_on else f"{reasoning}\n时间：{day.isoformat()}".strip()
