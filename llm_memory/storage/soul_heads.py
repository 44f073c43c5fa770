"""The end of each soul's chain, beside the chain: table ``soul_head``.

The chain's file alone cannot tell that its last lines were cut off.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..models.scope import role_scope
from .state_store import SqliteStateStore


@dataclass(frozen=True, slots=True)
class SoulHead:
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
    """All in ``state.sqlite``, by the role's folder. Every method blocks, and raises
    StateUnavailable."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def get(self, role: str) -> SoulHead | None:
        """Returns the last one that was put, if any."""
        question = "SELECT n, sha256, version, in_force FROM soul_head WHERE role = ?"
        found = self._state.rows(question, (role,))
        return SoulHead(*found[0]) if found else None

    def put(self, role: str, head: SoulHead) -> None:
        """Replace it. On disk when it returns."""
        row = (role, role_scope(role), head.n, head.sha256, head.version, head.in_force)
        self._state.write("INSERT OR REPLACE INTO soul_head VALUES (?, ?, ?, ?, ?, ?)", [row])

    def forget(self, role: str) -> None:
        """Drop it, for another chain comes in the place of its own. On disk when it returns."""
        self._state.write("DELETE FROM soul_head WHERE role = ?", [(role,)])
