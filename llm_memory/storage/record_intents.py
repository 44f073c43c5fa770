"""What is to be written to ``shared/``, noted before it is written: table ``record``.

The file alone cannot tell a record that a person deleted from one that an old editor buffer has
overwritten, nor an accept that was cut off by a kill from one that was never made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..models.scope import SHARED
from .state_store import SqliteStateStore


class IntentState(StrEnum):
    """How far it is."""

    INTENT = "intent"
    """Nothing is known to stand in the file."""
    WRITTEN = "written"
    """It stands there; the proposal is still open."""
    SETTLED = "settled"
    """The proposal says so, too."""


@dataclass(frozen=True, slots=True)
class RecordIntent:
    """Attributes:
    number: Of the record: 7 for ``D-0007``. Never given twice.
    file: Path under the memory root, such as ``shared/DECISIONS.md``.
    payload: The lines that are appended; empty once nobody will put them back.
    at: Since when it is in ``state``.
    proposal: Key of the proposal; empty for a withdrawal.
    put_back: It was appended a second time, after an old buffer had overwritten it.
    """

    number: int
    file: str
    payload: bytes
    at: datetime
    proposal: str = ""
    state: IntentState = IntentState.INTENT
    put_back: bool = False


class RecordIntents:
    """All in ``state.sqlite``. Every method blocks, and raises StateUnavailable."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def rows(self) -> list[RecordIntent]:
        """Returns all of them, by number."""
        found = self._state.rows(
            "SELECT number, file, COALESCE(payload, x''), at, proposal, state, put_back"
            " FROM record ORDER BY number"
        )
        return [_row(*values) for values in found]

    def begin(self, intent: RecordIntent) -> None:
        """Note what is about to be written. On disk when it returns.

        Raises StateUnavailable also where the number or the proposal is there already, or where
        the state is kept in memory only: a kill would lose the note.
        """
        self._state.require_durable()
        self._state.write(
            "INSERT INTO record (number, scope, file, proposal, payload, state, at, put_back)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    intent.number,
                    SHARED.name,
                    intent.file,
                    intent.proposal,
                    intent.payload,
                    intent.state.value,
                    intent.at.isoformat(),
                    int(intent.put_back),
                )
            ],
        )

    def advance(self, number: int, state: IntentState, at: datetime) -> None:
        """Note how far it is."""
        change = "UPDATE record SET state = ?, at = ? WHERE number = ?"
        self._state.write(change, [(state.value, at.isoformat(), number)])

    def note_put_back(self, number: int, at: datetime) -> None:
        """Note that it was appended again, since when it is in its state anew."""
        change = "UPDATE record SET put_back = 1, at = ? WHERE number = ?"
        self._state.write(change, [(at.isoformat(), number)])

    def drop_payloads(self, numbers: Iterable[int]) -> None:
        """Keep that there are such records, and no second copy of their words."""
        statement = "UPDATE record SET payload = NULL WHERE number = ?"
        self._state.write(statement, [(number,) for number in numbers])

    def drop(self, number: int) -> None:
        """Delete one that was not written, and of which nobody was told."""
        self._state.write("DELETE FROM record WHERE number = ?", [(number,)])


def _row(
    number: int, file: str, payload: bytes, at: str, proposal: str, state: str, put_back: int
) -> RecordIntent:
    moment = datetime.fromisoformat(at)
    return RecordIntent(
        number, file, bytes(payload), moment, proposal, IntentState(state), bool(put_back)
    )
