"""Tables of ``state.sqlite`` that are more than a fact: the journal of deeds, and the end of each
soul's chain. Every method blocks, and raises StateUnavailable."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Final, NamedTuple

from ..models.deeds import Deed, DeedKind
from ..models.scope import role_scope
from .sqlite_file import sound
from .state_store import SqliteStateStore

_FIELDS: Final = tuple(field.name for field in fields(Deed) if field.name != "number")
_MOST_OTHERS: Final = 500
"""Of what is no correction, the newest so many are kept."""


class DeedTable:
    """Table ``deed``."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def rows(self) -> list[Deed]:
        """Returns all of them, in the order in which they were added."""
        self._state.rows(
            "DELETE FROM deed WHERE kind IN ('amended', 'replaced', 'brought')"
            " AND number <= (SELECT MAX(number) FROM deed) - ?",
            (_MOST_OTHERS,),
        )
        found = self._state.rows(f"SELECT number, {', '.join(_FIELDS)} FROM deed ORDER BY number")  # noqa: S608
        return [_deed(number, dict(zip(_FIELDS, row, strict=True))) for number, *row in found]

    def add(self, deeds: Sequence[Deed]) -> list[int]:
        """Add all or none. Returns the number of each. On disk when it returns."""
        with self._state.transaction() as connection:
            marks = ", ".join("?" * len(_FIELDS))
            statement = f"INSERT INTO deed ({', '.join(_FIELDS)}) VALUES ({marks})"  # noqa: S608
            return [connection.execute(statement, _row(one)).lastrowid or 0 for one in deeds]

    def change(self, deeds: Iterable[Deed]) -> None:
        """Put each in the place of the one with its number."""
        put = ", ".join(f"{name} = ?" for name in _FIELDS)
        self._state.write(
            f"UPDATE deed SET {put} WHERE number = ?",  # noqa: S608
            [(*_row(one), one.number) for one in deeds],
        )

    def drop(self, numbers: Collection[int]) -> None:
        """Delete some. Unknown ones are ignored."""
        self._state.write("DELETE FROM deed WHERE number = ?", [(number,) for number in numbers])

    def key(self) -> bytes:
        """Returns the key of the marks, made once."""
        made = "INSERT OR IGNORE INTO meta VALUES ('correction_key', ?)"
        self._state.rows(made, (secrets.token_hex(32),))
        ((key,),) = self._state.rows("SELECT value FROM meta WHERE name = 'correction_key'")
        return bytes.fromhex(key)


def _row(deed: Deed) -> tuple[object, ...]:
    values = [getattr(deed, name) for name in _FIELDS]
    return tuple(sound(_stored(value)) for value in values)


def _stored(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return json.dumps(value)
    return int(value) if isinstance(value, bool) else str(value)


def _deed(number: int, row: dict[str, str]) -> Deed:
    read = {
        "kind": DeedKind(row["kind"]),
        "said_at": datetime.fromisoformat(row["said_at"]),
        "at": datetime.fromisoformat(row["at"]),
        "marks": tuple(json.loads(row["marks"])),
        "undoable": bool(row["undoable"]),
    }
    return Deed(**{**row, **read, "number": number})  # type: ignore[arg-type]


class SoulHead(NamedTuple):
    """Attributes:
    n: The chain's last line, from 1.
    sha256: The hash of that line.
    version: What is in force after it.
    in_force: The hash of that version's bytes.
    """

    n: int
    sha256: str
    version: int
    in_force: str


class SoulHeads:
    """Table ``soul_head``, by the role's folder: the chain's file alone cannot tell that its last
    lines were cut off."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def get(self, role: str) -> SoulHead | None:
        """Returns the last one that was put, if any."""
        question = "SELECT n, sha256, version, in_force FROM soul_head WHERE role = ?"
        found = self._state.rows(question, (role,))
        return SoulHead(*found[0]) if found else None

    def put(self, role: str, head: SoulHead) -> None:
        """Replace it. On disk when it returns."""
        statement = "INSERT OR REPLACE INTO soul_head VALUES (?, ?, ?, ?, ?, ?)"
        self._state.write(statement, [(role, role_scope(role), *head)])

    def forget(self, role: str) -> None:
        """Drop it, for another chain comes in the place of its own. On disk when it returns."""
        self._state.write("DELETE FROM soul_head WHERE role = ?", [(role,)])
