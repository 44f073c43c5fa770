"""What is to be written to ``shared/``, noted before it is written: table ``record``.

The file alone cannot tell an accept that was cut off by a kill from one that was never made.
"""

from __future__ import annotations

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
    payload: The lines that are appended; empty once they stand there.
    at: Since when it is in ``state``.
    proposal: Key of the proposal; empty for a withdrawal.
    """

    number: int
    file: str
    payload: bytes
    at: datetime
    proposal: str = ""
    state: IntentState = IntentState.INTENT


class RecordIntents:
    """All in ``state.sqlite``. Every method blocks, and raises StateUnavailable."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def rows(self) -> list[RecordIntent]:
        """Returns all of them, by number."""
        found = self._state.rows(
            "SELECT number, file, COALESCE(payload, x''), at, proposal, state"
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
            " VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
            [
                (
                    intent.number,
                    SHARED.name,
                    intent.file,
                    intent.proposal,
                    intent.payload,
                    intent.state.value,
                    intent.at.isoformat(),
                )
            ],
        )

    def advance(self, number: int, state: IntentState, at: datetime) -> None:
        """Note how far it is. The words stand in the file then, and here no more."""
        change = "UPDATE record SET state = ?, at = ?, payload = NULL WHERE number = ?"
        self._state.write(change, [(state.value, at.isoformat(), number)])

    def forget(self, proposal: str) -> None:
        """Keep no words of a proposal that was deleted for good."""
        self._state.write("UPDATE record SET payload = NULL WHERE proposal = ?", [(proposal,)])

    def drop(self, number: int) -> None:
        """Delete one that was not written, and of which nobody was told."""
        self._state.write("DELETE FROM record WHERE number = ?", [(number,)])


def _row(
    number: int, file: str, payload: bytes, at: str, proposal: str, state: str
) -> RecordIntent:
    moment = datetime.fromisoformat(at)
    return RecordIntent(number, file, bytes(payload), moment, proposal, IntentState(state))
