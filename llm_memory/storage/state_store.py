"""Small durable facts in ``state/state.sqlite``. Each row that holds words carries its scope.

Every method blocks, and raises StateUnavailable.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..errors import StateUnavailable
from ..models.conversation import SeenSender
from ..models.deeds import Deed, DeedKind
from ..models.passages import Key
from ..models.resolution import DerivedScope, Rebinding
from ..models.scope import role_scope
from ..models.settings import MapPast
from .formats.schema import Schema, tables
from .sqlite_file import SqliteFile, sound

STATE: Final = Schema(4, tables("state"))

_RELEASED = "accounts_let_go"
"""In ``meta``: bot accounts as a JSON list."""
_NAMED = "last_map_scopes"
"""In ``meta``: scopes as a JSON list."""
_REBOUND = "rebound"
"""In ``meta``: rebindings as a JSON list."""
_ADD_SCOPE = "INSERT OR IGNORE INTO known_scope VALUES (?)"
_MARK = "mark:"
"""What the names of marks begin with in ``meta``."""


class SqliteStateStore(SqliteFile):
    """Its facts steer warnings and counters; the memories stand in the vault."""

    SCHEMA = STATE

    def _stored(self, values: Sequence[object]) -> tuple[object, ...]:
        return tuple(values)  # an id that cannot be stored must not become another one

    def map_past(self) -> MapPast:
        """Returns what is remembered of the owner's maps."""
        # What was lost at once and is not back, as a former version kept it: without its scopes.
        lost = self._column("SELECT key FROM lost_map_key")
        return MapPast(
            lost or self._column("SELECT key FROM map_key"),
            self._column("SELECT scope FROM known_scope"),
            frozenset(map(str, self._json(_RELEASED) or ())),
            frozenset(() if lost else map(str, self._json(_NAMED) or ())),
        )

    def put_map_past(self, past: MapPast) -> None:
        """Replace it; no scope that is known goes."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM lost_map_key")
            connection.execute("DELETE FROM map_key")
            connection.executemany("INSERT INTO map_key VALUES (?)", [(key,) for key in past.keys])
            connection.executemany(_ADD_SCOPE, [(name,) for name in past.scopes])
            self._put_json(_NAMED, sorted(past.named))
            self._put_json(_RELEASED, sorted(past.released))

    def know_scopes(self, names: Iterable[str]) -> None:
        """Add some that the owner has brought from elsewhere. Idempotent; they are kept even where
        nothing else is."""
        self.write(_ADD_SCOPE, [(name,) for name in names])

    def rebindings(self) -> tuple[Rebinding, ...]:
        """Returns the names that were replaced by others, in the order in which that was done."""
        found = self._json(_REBOUND) or ()
        return tuple(Rebinding(fields["old"], fields["new"]) for fields in found)

    def put_rebindings(self, rebindings: Sequence[Rebinding]) -> None:
        """Replace them all."""
        self._put_json(_REBOUND, [one._asdict() for one in rebindings])

    def _json(self, name: str) -> Any:
        found = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        return json.loads(found[0][0]) if found else None

    def _put_json(self, name: str, value: object) -> None:
        written = json.dumps(value, ensure_ascii=False)
        self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, written))

    def public_peers(self) -> frozenset[str]:
        """Returns who wrote privately while the chat fell to public: bot accounts with persons."""
        return self._column("SELECT person FROM public_peer")

    def add_public_peer(self, person: str) -> None:
        self.rows("INSERT OR IGNORE INTO public_peer VALUES (?)", (person,))

    def note_sender(self, sender: SeenSender) -> None:
        """Keep who has spoken under an origin, and where that was. The latest stands."""
        self.rows("INSERT OR REPLACE INTO seen_sender VALUES (?, ?, ?, ?, ?, ?)", sender)

    def senders(self, umo: str = "") -> list[SeenSender]:
        """Returns all who have spoken under this origin, or under any."""
        found = self.rows("SELECT umo, scope, adapter, group_id, peer, name FROM seen_sender")
        return [SeenSender(*row) for row in found if umo in ("", row[0])]

    def model_history(self, umo: str, history: str) -> tuple[str, bool] | None:
        """The scope that was noted last of a chat history that the model is given, and whether it
        was another one before, so that the history may hold words of it."""
        rows = self.rows(
            "SELECT scope, is_mixed FROM model_history WHERE umo = ? AND history = ?",
            (umo, history),
        )
        return (rows[0][0], bool(int(rows[0][1]))) if rows else None

    def note_model_history(self, umo: str, history: str, scope: str, *, mixed: bool) -> None:
        values = (umo, history, scope, str(int(mixed)))
        self.rows("INSERT OR REPLACE INTO model_history VALUES (?, ?, ?, ?)", values)

    def drop_public_peer(self, person: str) -> None:
        self.rows("DELETE FROM public_peer WHERE person = ?", (person,))

    def set_mark(self, name: str, *, there: bool = True) -> None:
        """Keep that something was done once, or that it was not after all. Idempotent."""
        keep, drop = "INSERT OR REPLACE INTO meta VALUES (?, '')", "DELETE FROM meta WHERE name = ?"
        self.rows(keep if there else drop, (f"{_MARK}{name}",))

    def marks(self, begin: str = "") -> frozenset[str]:
        """Returns what follows ``begin`` in the names of all marks that begin so."""
        names, begin = self._column("SELECT name FROM meta"), f"{_MARK}{begin}"
        return frozenset(name.removeprefix(begin) for name in names if name.startswith(begin))

    def derived_scopes(self) -> list[DerivedScope]:
        """Returns which scopes policies derived for which conversations, now or before."""
        rows = self.rows("SELECT scope, conversation, adapter, own_id FROM derived_scope")
        return [DerivedScope(*row) for row in rows]

    def note_derived_scopes(self, records: Collection[DerivedScope]) -> None:
        rows = [(one.scope, one.conversation, one.adapter, one.own_id) for one in records]
        self.write("INSERT OR REPLACE INTO derived_scope VALUES (?, ?, ?, ?)", rows)

    def count_use(self, keys: Sequence[Key]) -> None:
        """Count one more use of each memory."""
        self.write(
            "INSERT INTO use_count VALUES (?, ?, 1)"
            " ON CONFLICT (scope, memory_id) DO UPDATE SET uses = uses + 1",
            keys,
        )

    def drop_uses(self, memory_ids: Iterable[str]) -> None:
        """Delete the counts of memories that were purged."""
        statement = "DELETE FROM use_count WHERE memory_id = ?"
        self.write(statement, [(memory_id,) for memory_id in memory_ids])

    def all_uses(self) -> dict[Key, int]:
        """Returns how often each memory was found useful."""
        rows = self.rows("SELECT scope, memory_id, uses FROM use_count")
        return {Key(scope, memory_id): int(uses) for scope, memory_id, uses in rows}

    def installation(self) -> str:
        """Returns a random id of this installation, made once: 32 hexadecimal digits.

        Raises StateUnavailable where nothing is kept: it would be another one next time.
        """
        if not self._is_kept:
            raise StateUnavailable("kept in memory only", str(self._path))
        return self.made_once("installation")[:32]

    def made_once(self, name: str) -> str:
        """Returns what stands under a name: 64 random hexadecimal digits, made when first asked."""
        self.rows("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, secrets.token_hex(32)))
        return str(self.rows("SELECT value FROM meta WHERE name = ?", (name,))[0][0])

    def _column(self, query: str) -> frozenset[str]:
        return frozenset(str(row[0]) for row in self.rows(query))


class ForgetfulState(SqliteStateStore):
    """Works on a copy, in memory: what an engine without the owner's map would take for a map that
    was lost must not be remembered."""

    def open(self) -> bool:
        self.open_in_memory()
        return True

    def know_scopes(self, names: Iterable[str]) -> None:
        scopes = list(names)
        super().know_scopes(scopes)
        with contextlib.closing(SqliteStateStore(self._path, version=self._version)) as file:
            file.open()
            file.know_scopes(scopes)


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
        return bytes.fromhex(self._state.made_once("correction_key"))


def _row(deed: Deed) -> tuple[object, ...]:
    return tuple(sound(_stored(getattr(deed, name))) for name in _FIELDS)


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
