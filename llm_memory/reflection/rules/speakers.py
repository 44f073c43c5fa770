"""Labels the speakers of turns that are read together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...models.conversation import Actor
from ...models.turns import QueuedTurn

NOBODY: Final = Actor("", "")


@dataclass(frozen=True, slots=True)
class Speaker:
    """``label`` is ``s1``, ``s2``, …; the name is the one that was used last."""

    label: str
    person: str
    name: str

    @property
    def actor(self) -> Actor:
        """Returns the actor for provenance; admins have no special rights here."""
        return Actor(self.person, self.name)


def speakers(turns: Sequence[QueuedTurn]) -> list[Speaker]:
    """Returns the speaker of each turn. The same person has the same label, by id or, without one,
    by name."""
    known = [turn.person or ("name", turn.who) for turn in turns]
    labels = {one: f"s{number}" for number, one in enumerate(dict.fromkeys(known), start=1)}
    names = {one: turn.who for one, turn in zip(known, turns, strict=True)}
    return [
        Speaker(labels[one], turn.person, names[one])
        for one, turn in zip(known, turns, strict=True)
    ]
