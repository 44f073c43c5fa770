"""The use of each party on a day: rows of the table ``share`` in ``state/loop.sqlite``."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date

from ..models.loop import Party, Use
from ..storage.sqlite_file import sound


def add_use(connection: sqlite3.Connection, day: date, used: Mapping[Party, Use]) -> None:
    """Add to a day inside the caller's transaction, and delete the rows of earlier days."""
    connection.execute("DELETE FROM share WHERE day < ?", (day.isoformat(),))
    connection.executemany(
        "INSERT INTO share VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " tokens = tokens + excluded.tokens, gave_way = gave_way + excluded.gave_way",
        [
            (
                day.isoformat(),
                sound(party.scope),
                sound(party.speaker),
                int(party.known),
                use.tokens,
                use.gave_way,
            )
            for party, use in used.items()
        ],
    )
