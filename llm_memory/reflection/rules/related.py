"""Finds a speaker's earlier statements on the same subject, which may be outdated. Pure.

Recall finds what answers a message. A statement often corrects other memories than those, so the
reflection model is shown these, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...models.data_models import StoredMemory
from ...models.turns import QueuedTurn
from ...text.overlap import content

_EACH: Final = 2
"""The most memories for one turn."""
_MOST: Final = 12
"""The most memories for all turns together: each costs tokens."""
_LEAST: Final = 2
"""The least overlap: a shared Han character counts one, a shared word two."""


def related(turns: Sequence[QueuedTurn], memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Returns, of memories from the turns' own scope, those of each turn's speaker that share the
    most words with the turn, the best of each turn first."""
    persons = {turn.person for turn in turns if turn.person}
    about = [
        (stored, content(stored.memory.judgment) - content(stored.memory.provenance.who))
        for stored in memories
        if stored.memory.provenance.person in persons
    ]
    ranked = []
    for turn in turns:
        said = content(turn.user_text) - content(turn.who)
        scored = [
            (sum(1 + one.isascii() for one in words & said), place)
            for place, (stored, words) in enumerate(about)
            if stored.memory.provenance.person == turn.person
        ]
        best = sorted((one for one in scored if one[0] >= _LEAST), reverse=True)[:_EACH]
        ranked.append([about[place][0] for _, place in best])
    found = [row[rank] for rank in range(_EACH) for row in ranked if len(row) > rank]
    return list({stored.pointer: stored for stored in found}.values())[:_MOST]
