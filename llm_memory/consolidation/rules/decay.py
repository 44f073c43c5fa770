"""How strong a passive memory is after it was weighed. Pure.

| strength       | tier   | recalled, and more often useless than useful: for each time more |
| -------------- | ------ | ---------------------------------------------------------------- |
| 80 to 100      | top    | stays                                                             |
| 40 to 79       | middle | 3 less                                                            |
| 1 to 39        | low    | 6 less                                                            |

More often useful than useless: 2 more for each time, up to 100. As often the one as the other, or
never recalled: it stays as it is, for nobody is punished for not having been asked. At most five
times count at once, so one bad day fades nothing away. Below 10, having faded, a memory is weak: it
may go to the archive. What was stored as weak as that, and was never found useless, stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...models.data_models import MAX_STRENGTH, MIN_STRENGTH

TOP: Final = 80
LOW: Final = 40
WEAK: Final = 10
"""Below this a memory that has faded may leave."""
MIDDLE_STEP: Final = 3
LOW_STEP: Final = 6
USEFUL_STEP: Final = 2
MOST_TIMES: Final = 5


@dataclass(frozen=True, slots=True)
class Weighed:
    """The strength from now on, and whether the memory may leave."""

    strength: int
    weak: bool = False


def weigh(strength: int, *, useful: int, useless: int) -> Weighed:
    """A passive memory of this strength, after it served so often well and so often not."""
    times = min(abs(useful - useless), MOST_TIMES)
    if useful >= useless:
        return Weighed(min(strength + USEFUL_STEP * times, MAX_STRENGTH))
    if strength >= TOP:
        return Weighed(strength)
    for _ in range(times):
        strength -= LOW_STEP if strength < LOW else MIDDLE_STEP
    strength = max(strength, MIN_STRENGTH)
    return Weighed(strength, weak=strength < WEAK)


def most_leaving(living: int) -> int:
    """So many entries of a scope may leave in one run: a quarter of those that live."""
    return living // 4
