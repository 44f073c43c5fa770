"""Labels the speakers of turns that are read together. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...models.conversation import Actor
from ...models.turns import QueuedTurn


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


NOBODY = Actor("", "")


def speakers(turns: Sequence[QueuedTurn]) -> list[Speaker]:
    """Returns the speaker of each turn. The same person has the same label, by id or, without one,
    by name."""
    labels: dict[tuple[str, str], str] = {}
    names: dict[str, str] = {}
    for turn in turns:
        label = labels.setdefault(_identity(turn), f"s{len(labels) + 1}")
        names[label] = turn.who
    found = []
    for turn in turns:
        label = labels[_identity(turn)]
        found.append(Speaker(label, turn.person, names[label]))
    return found


def _identity(turn: QueuedTurn) -> tuple[str, str]:
    return (turn.person, "") if turn.person else ("", turn.who)
