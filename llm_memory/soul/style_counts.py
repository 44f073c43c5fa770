"""What people asked of the bot's manner, counted: table ``style`` in ``state/loop.sqlite``.

The one way out of a private scope into a soul. Axis and direction leave it, of a closed vocabulary,
once enough people agree; no word, no id, and no time finer than a week.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from ..models.soul import OPPOSITE, Axis, Direction, MannerWish, soul_folder
from ..storage.loop_file import SqliteLoopFile
from ..storage.sqlite_file import sound

WEEKS: Final = 8
"""Calendar weeks that count, the present one included. Older counts are deleted."""
LEAST_PEOPLE: Final = 3
LEAST_SCOPES: Final = 2
_WHO: Final = "CASE person WHEN '' THEN scope ELSE person END"
_COUNTS: Final = f"""
SELECT axis, direction, COUNT(DISTINCT NULLIF(person, '')), COUNT(DISTINCT scope),
    COUNT(DISTINCT {_WHO}), MAX(week)
FROM style WHERE role = ? AND week BETWEEN ? AND ? GROUP BY axis, direction"""  # noqa: S608


@dataclass(eq=False)
class SqliteStyleCounts:
    """Every method blocks, and raises StateUnavailable. ``pseudonym`` returns the keyed hash of a
    person's id, the same for all linked ids of the person; empty while there is no key."""

    _file: SqliteLoopFile
    _pseudonym: Callable[[str], str]

    def count(self, scope: str, persona: str, at: datetime, wishes: Sequence[MannerWish]) -> None:
        """Count wishes that were made in a scope at a time. Each counts once a week for a person;
        one of a person that cannot be hashed counts for nobody."""
        week, role = _week(at.date()), soul_folder(persona)
        made = [(wish, self._pseudonym(wish.person) if wish.person else "") for wish in wishes]
        rows = [
            tuple(map(sound, (scope, role, week, wish.axis, wish.direction, person)))
            for wish, person in made
            if person or not wish.person
        ]
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM style WHERE week < ?", (_week(at.date(), WEEKS - 1),))
            connection.executemany("INSERT OR IGNORE INTO style VALUES (?, ?, ?, ?, ?, ?)", rows)

    def roles(self) -> list[str]:
        """Returns the folders of the personas of whom anything was counted."""
        return [str(role) for (role,) in self._file.rows("SELECT DISTINCT role FROM style")]

    def agreed(self, role: str, today: date) -> tuple[tuple[Axis, Direction], ...]:
        """Returns what enough people want of a persona: three of them, or two scopes and not one
        person alone, and nobody the opposite in this week or the last. ``role`` is its folder."""
        rows = self._file.rows(_COUNTS, (role, _week(today, WEEKS - 1), _week(today)))
        lately = {(axis, way) for axis, way, *_, week in rows if week >= _week(today, 1)}
        wanted = [
            (axis, way)
            for axis, way, people, scopes, several, _ in rows
            if people >= LEAST_PEOPLE or (scopes >= LEAST_SCOPES and several > 1)
        ]
        return tuple(sorted(one for one in wanted if (one[0], OPPOSITE[one[1]]) not in lately))

    def clear(self, role: str, axis: Axis) -> None:
        """Forget what was counted on an axis: it was proposed, and is to be asked for anew."""
        self._file.write("DELETE FROM style WHERE role = ? AND axis = ?", [(role, axis)])


def _week(day: date, before: int = 0) -> str:
    """Returns the Monday of the week that is so many weeks before a day's."""
    return (day - timedelta(days=day.weekday(), weeks=before)).isoformat()
