"""Whether CONSTITUTION.md is another one than it was: who agreed to a root is told of a pull."""

from __future__ import annotations

from contextlib import suppress

from ..errors import StateUnavailable
from ..models.scope import SHARED
from ..storage.state_store import SqliteStateStore
from ..text.normalising import content_hash


class ChangedRules:
    """Keeps a digest of the text that each asker has met, such as the sessions of agents."""

    def __init__(self, state: SqliteStateStore) -> None:
        self._state = state

    def changed(self, asker: str, text: str) -> bool:
        """Returns whether the asker has met another text before, and notes this one. Blocks. What
        cannot be noted is told again."""
        begin, digest = f"{SHARED.name} constitution {asker} ", content_hash(text)
        with suppress(StateUnavailable):
            met = self._state.marks(begin)
            if digest not in met:
                self._state.set_mark(f"{begin}{digest}")
                for former in met:
                    self._state.set_mark(f"{begin}{former}", there=False)
                return bool(met)
        return False
