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
from ...text.overlap import content
from .prompt import NOBODY, Speaker, placeholders, speakers
from .reply import KINDS, NewMemory, ReflectionReply, day_of, usable

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
    persons = {speaker.label: speaker.actor.person for speaker in who}
    persons |= {"": who[0].actor.person} if len(persons) == 1 else {}
    told = (one for one in reply.manner if one[2] in persons)
    return tuple(dict.fromkeys(MannerWish(axis, way, persons[label]) for axis, way, label in told))


def _draft(
    new: NewMemory, turns: Sequence[QueuedTurn], who: Sequence[Speaker]
) -> tuple[MemoryDraft, str]:
    """Returns the draft and the ticket of its turn, empty if the answer names none."""
    turn, actor = _source(new, turns, who)
    own = (t.user_text for t, one in zip(turns, who, strict=True) if one.actor == actor)
    said_at = turns[-1 if turn is None else turn].observed_at
    known = turns[0] if len(turns) == 1 else None if turn is None else turns[turn]
    tags, asks = (
        usable((one for one in some if one not in placeholders()), new.judgment)
        for some in (new.tags, new.asks)
    )
    draft = MemoryDraft(
        judgment=new.judgment,
        reasoning="" if new.reasoning in placeholders() else new.reasoning,
        tags=tags[:MOST_TAGS],
        asks=asks,
        kind=KINDS.get(new.kind, MemoryKind.KNOWLEDGE),
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
    """Returns the index of the turn in which it was said, and its speaker: nobody, where that is
    another one than the answer names, or said less of it than others did."""
    name = new.who.strip()
    named = [at for at, one in enumerate(who) if name and name in (one.label, one.actor.name)]
    sure = len({who[place].label for place in named}) == 1
    alone = len({one.label for one in who}) == 1
    place = new.turn - 1 if new.turn is not None else named[-1] if sure else -1
    if not 0 <= place < len(turns):
        return None, who[0].actor if alone and not new.who else NOBODY
    speaker = who[place]
    meant = not new.who or (sure and who[named[-1]].label == speaker.label)
    said = alone or _said_most(new.judgment, speaker, turns, who)
    return place, speaker.actor if meant and said else NOBODY


def _said_most(
    text: str, speaker: Speaker, turns: Sequence[QueuedTurn], who: Sequence[Speaker]
) -> bool:
    """Returns whether nobody said more of a text than the speaker, who said some of it."""
    wanted = content(text) - content(speaker.actor.name)
    told = [(one.label, turn.user_text) for turn, one in zip(turns, who, strict=True)]
    said = {
        label: len(wanted & content("\n".join(text for by, text in told if by == label)))
        for label in {one.label for one in who}
    }
    return not wanted or said[speaker.label] == max(said.values()) > 0


def _day(new: NewMemory, said_at: datetime) -> date | None:
    """Returns the event's day. What is no event has none if it is that on which it was said."""
    day = day_of(new.when)
    return day if KINDS.get(new.kind) is MemoryKind.EVENT or day != said_at.date() else None
