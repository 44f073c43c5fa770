"""What was purged: keyed hashes take the place of its words at night."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Collection, Sequence
from dataclasses import replace

from ..errors import EngineClosed, StateUnavailable
from ..log import logger
from ..models.corrections import Correction
from ..storage.state_store import SqliteStateStore
from .correction_index import CorrectionIndex
from .rules.corrected import marks_of

_PURGED = "purged:"
"""Begins a mark in the state: this entry was purged. Scope and id follow."""
_LOG = "sealed_in_log"
"""In the state, the mark of a log that may hold what was sealed."""


class Purges:
    """Knows which entries a person had purged, and seals their corrections."""

    def __init__(self, state: SqliteStateStore, index: CorrectionIndex) -> None:
        self._state = state
        self._index = index
        self._key = b""
        self._unsealed: set[tuple[str, str]] = set()
        """Purged, and not sealed yet."""

    def load_key(self) -> None:
        """Read the key of the hashes. Raises StateUnavailable. Blocks."""
        self._key = bytes.fromhex(self._state.correction_key())

    def load_unsealed(self) -> None:
        """Read what is not sealed yet. Raises StateUnavailable. Blocks."""
        self._unsealed = {_split_mark(one) for one in self._state.marks(_PURGED)}

    def mark(self, text: str) -> str:
        """Returns the keyed hash of a text."""
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def pseudonym(self, person: str) -> str:
        """Returns the keyed hash of a person's id, empty while the key is unknown."""
        return self.mark(f"person:{person}") if self._key else ""

    def is_purged(self, scope: str, memory_id: str) -> bool:
        """True if a person had an entry purged: it may not be restored."""
        names = {(scope, memory_id), (scope, self.mark(memory_id))}
        return not names.isdisjoint(self._index.purged | self._unsealed)

    async def note(self, scope: str, memory_id: str, *, there: bool = True) -> None:
        """Record at once that an entry is purged: no file brings it back, whatever it says of its
        time, though the words are needed until the night. Or that it is sealed, or lives again."""
        (self._unsealed.add if there else self._unsealed.discard)((scope, memory_id))
        try:
            name = f"{_PURGED}{scope}/{memory_id}"
            await asyncio.to_thread(self._state.set_mark, name, there=there)
        except (StateUnavailable, EngineClosed) as error:
            logger.warning("purge_not_noted", error=error)

    def unsealed(self) -> list[tuple[str, str]]:
        """Returns scope and id of each entry that was purged and is not sealed yet."""
        return sorted(self._unsealed)

    async def seal(self, purged: Sequence[Correction], gone: Collection[str]) -> None:
        """Replace the words of these, and those ids that are ``gone``, by keyed hashes.

        Raises StateUnavailable: they may still be in the log of the state's file. They are out of
        it once ``clear_log`` returns True.
        """
        sealed = [
            replace(
                one,
                memory_id=self.mark(one.memory_id) if one.memory_id in gone else one.memory_id,
                words="",
                who="",
                marks=marks_of(one, self.mark),
            )
            for one in purged
        ]
        await asyncio.to_thread(self._state.set_mark, _LOG)
        await asyncio.to_thread(self._state.seal_corrections, sealed)
        self._index.seal(sealed)

    async def clear_log(self) -> bool:
        """Take what was sealed out of the log of the state's file. Returns whether there was any.
        Raises StateUnavailable: it is tried again at the next call."""
        if not await asyncio.to_thread(self._state.has_mark, _LOG):
            return False
        await asyncio.to_thread(self._state.checkpoint_wal)
        await asyncio.to_thread(self._state.set_mark, _LOG, there=False)
        return True


def _split_mark(mark: str) -> tuple[str, str]:
    scope, _, memory_id = mark.rpartition("/")
    return scope, memory_id
