"""What was shown, and what helped: the evidence by which memories are weighed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..catalogue.catalogue import entry_key
from ..index.passages import Passages
from ..models.data_models import StoredMemory
from ..models.key import Key
from ..models.recall import Hit
from ..models.scope import ScopeFilter
from ..models.turns import Feedback
from .use_counts import UseCounts


@dataclass(frozen=True, slots=True)
class Served:
    """What came of feedback: the ids that were ``counted``, how many counted for nothing."""

    counted: tuple[str, ...]
    dropped: int


class Usefulness:
    """Counts for what a filter admits alone."""

    def __init__(self, passages: Passages, uses: UseCounts) -> None:
        self._passages = passages
        self._uses = uses

    def show(self, hits: Iterable[Hit]) -> None:
        """The asker is shown these: an access of each memory."""
        self._uses.show(self._passages.get(Key(hit.scope_name, hit.memory_id)) for hit in hits)

    async def feedback(
        self, feedback: Feedback, scope_filter: ScopeFilter, *, recalled: Collection[str]
    ) -> Served:
        """Count what helped, and what was shown and did not.

        What the filter admits has served once more. How an entry is weighed one day is changed in
        the reader's own scope alone, and only what was ``recalled`` can have been in the way.
        Raises StateUnavailable.
        """
        own = scope_filter.scopes[0].name
        useful = [self._admitted(one, scope_filter) for one in feedback.useful_ids]
        useless = [
            self._admitted(one, scope_filter) if one in recalled else None
            for one in feedback.useless_ids
        ]
        helped = list(dict.fromkeys(key for key in useful if key is not None))
        hindered = {key for key in useless if key is not None and key.scope == own}
        await self._uses.count(helped)
        await self._uses.weigh(
            [key for key in helped if key.scope == own], sorted(hindered.difference(helped))
        )
        dropped = useful.count(None) + sum(key is None or key.scope != own for key in useless)
        return Served(tuple(key.memory_id for key in helped), dropped)

    def _admitted(self, memory_id: str, scope_filter: ScopeFilter) -> Key | None:
        """The entry of a memory that the filter admits, the reader's own scope first. A note is
        none."""
        found = (self._passages.get(Key(name, memory_id)) for name in scope_filter.names)
        return next((entry_key(one) for one in found if isinstance(one, StoredMemory)), None)
