"""What one clause makes of another one on the same matter: whether it denies it, tells as sure or
done what is not, or of another person. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from ...models.turns import QueuedTurn
from ...text.english import stem
from ...text.overlap import content
from . import GROUNDING
from .figures import plain

_BEHIND: Final = 3
"""So many Han characters, or words, behind a negation tell what is denied."""

type Fault = Literal["foreign", "unstated", "label", "figure", "denied", "unsure", "speaker"]


@dataclass(frozen=True, eq=False)
class Words:
    """A clause of an item, or what a person said, or assented to, in a turn."""

    text: str
    turn: QueuedTurn | None = None

    @property
    def who(self) -> str:
        """The name of who said it, empty for nobody."""
        return self.turn.who if self.turn else ""

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        return content(self.plain)

    @cached_property
    def units(self) -> list[str]:
        """Han characters and stems of words."""
        return _units(self.plain)

    @cached_property
    def denials(self) -> list[list[str]]:
        """What is denied: of each negation the units behind it."""
        found = map(_units, denials(self.plain))
        return [units[: 1 + _BEHIND] for units in found if units]

    def has(self, pattern: str) -> bool:
        """Returns whether a pattern is found."""
        return GROUNDING[pattern].search(self.plain) is not None

    def denies(self, other: Words) -> bool:
        """Returns whether the other words affirm what these deny: the same, of the same."""
        for head, *tail in self.denials:
            of = content(" ".join(tail))
            for place, unit in enumerate(other.units if head in other.units else ()):
                behind = other.units[place + 1 : place + 1 + 2 * _BEHIND]
                about = content(" ".join(behind)) or other.content
                if unit == head and (not of or of & about):
                    return True
        return False


def is_of_kin(text: str, near: Sequence[Words]) -> bool:
    """Returns whether a text leaves out whose matter it is: a speaker's wife's, and not his."""
    told = all(one.has("my_kin") and one.who in text for one in near)
    return told and not Words(text).has("kin")


def turned(told: Words, said: Words) -> Fault | None:
    """Returns what a clause makes of words on the same matter."""
    if not (told.denials and said.denials) and (told.denies(said) or said.denies(told)):
        return "denied"
    if said.has("reported"):
        return None if told.has("reports") else "speaker"
    if told.has("hedge"):
        return None
    if said.has("past") and not told.has("over"):
        return "unsure"
    planned = said.has("undone") and not told.has("intended") and told.has("completed")
    return "unsure" if planned or said.has("unsure") else None


def are_exchanged(told: Words, mine: Sequence[str], said: Words, theirs: Sequence[str]) -> bool:
    """Returns whether what one did is told of another one, or to whom it was done."""
    if len(mine) == len(theirs) == 1:
        pairs = ((told, mine[0]), (said, theirs[0]))
        begins = (GROUNDING["joint"].sub("", o.plain).startswith(plain(who)) for o, who in pairs)
        return mine != theirs and all(begins)
    if len(mine) != 2 or {*mine} != {*theirs}:
        return False
    taking = [one.has("takes") for one in (told, said)]
    giving = [one.has("takes") or one.has("gives") for one in (told, said)]
    return all(giving) and (mine == theirs) is (taking[0] is not taking[1])


def denials(text: str) -> list[str]:
    """Returns what stands behind each negation of a text."""
    told = plainly(text)
    return [told[match.end() :] for match in GROUNDING["denial"].finditer(told)]


def plainly(text: str) -> str:
    """Returns a text, plain, with each negation before what it denies, and none that denies
    nothing."""
    return GROUNDING["cannot"].sub(r"不\1\2", GROUNDING["no_denial"].sub(" ", plain(text)))


def _units(text: str) -> list[str]:
    """Returns Han characters and stems of words."""
    units = re.findall("[\u4e00-\u9fff]|[a-z0-9]+", text)
    return [unit if len(unit) == 1 else stem(unit).removesuffix("e") for unit in units]
