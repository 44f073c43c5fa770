"""Detects a state database that was rolled back, and so lost pauses. Pure.

``state/`` may be put back from a backup, or deleted, while ``memory/`` stays. The state counts each
change of the pauses; the mark, a file beside the memories, holds that count and hashes of what was
paused then.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...models.loop import PauseMark
from ...text.normalising import content_hash

_HASH_CHARS = 32


def mark_of(generation: int, pauses: Mapping[str, str]) -> PauseMark:
    """The mark of paused conversations, told with their scopes."""
    by_scope: dict[str, set[str]] = {}
    for conversation, scope in pauses.items():
        by_scope.setdefault(scope, set()).add(content_hash(conversation)[:_HASH_CHARS])
    return PauseMark(generation, {scope: frozenset(found) for scope, found in by_scope.items()})


def lost_pauses(state: PauseMark, mark: PauseMark | None) -> int:
    """How many pauses the mark knows that the state does not. 0 where the state is the newer of the
    two: those conversations were resumed since.

    Pauses that only the state knows are kept: a conversation that stays paused for too long harms
    nobody.
    """
    if mark is None or state.generation > mark.generation:
        return 0
    return len(_hashes(mark) - _hashes(state))


def _hashes(mark: PauseMark) -> set[str]:
    return {one for found in mark.paused.values() for one in found}
