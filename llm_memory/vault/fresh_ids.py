"""Makes ids that are unique in the vault."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

from ..errors import StateUnavailable
from ..models.scope import Scope
from .archive import VaultArchive
from .ledger import SqliteLedger

MakeId = Callable[[datetime], str]

_STEP: Final = timedelta(milliseconds=1)
"""The resolution of an id's time."""
_SLACK_SECONDS: Final = 60.0
"""By how much a file's modification time may be behind the clock."""


class FreshIds:
    """Makes ids with ``make_id`` and checks each one. The caller holds the vault's lock.

    An id has 30 random bits beside its milliseconds: among 60,000 entries of one file, which all
    have the file's time, two or three would collide.
    """

    def __init__(self, make_id: MakeId, ledger: SqliteLedger, archive: VaultArchive) -> None:
        self._make_id = make_id
        self._ledger = ledger
        self._archive = archive
        self._latest: dict[str, datetime] = {}
        """By scope: the last moment for which the archive was checked, or need not be."""

    def take(
        self, scope: Scope, moment: datetime, count: int, *, besides: Collection[str] = ()
    ) -> list[str]:
        """Returns ``count`` different ids of this moment. None of them is in ``besides``, in the
        ledger of any scope, or in the archive of the scope. If all candidates are taken, the next
        millisecond is tried."""
        refused = set(besides)
        found: list[str] = []
        while len(found) < count:
            wanted = dict.fromkeys(self._make_id(moment) for _ in range(count - len(found)))
            candidates = [name for name in wanted if name not in refused]
            refused.update(candidates)
            taken = self._taken(scope, moment, candidates)
            found += [name for name in candidates if name not in taken]
            moment += _STEP
        return found

    def _taken(self, scope: Scope, moment: datetime, names: Collection[str]) -> set[str]:
        if not names:
            return set()
        taken: set[str] = set()
        latest = self._latest.get(scope.name)
        # Entries archived since the last check have earlier ids than a single entry that is written
        # now: such a write need not read the archive's folder.
        if len(names) > 1 or latest is None or moment <= latest:
            # Entries archived before this moment have earlier ids.
            taken = self._archive.ids([scope], since=moment.timestamp() - _SLACK_SECONDS)
        self._latest[scope.name] = moment if latest is None else max(moment, latest)
        with contextlib.suppress(StateUnavailable):
            taken.update(entry.memory_id for entry in self._ledger.entries_named(names))
        return taken


def random_id(_: datetime) -> str:
    """Returns an id without a time in it."""
    return f"m-{secrets.token_hex(8)}"
