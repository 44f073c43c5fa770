"""What is asked of the process that holds the index and the model, by the names of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ...models.passages import Key
from ..embedding.ports import Fingerprint
from .ports import VectorStore

_PAGE: Final = 1000


class WorkerCalls:
    """A method a call; those that are not here are the store's own."""

    def __init__(
        self,
        load: Callable[[], None],
        store: VectorStore,
    ) -> None:
        """``load`` imports Chroma."""
        self.load = load
        self._store = store

    def answer(self, name: str, arguments: Sequence[Any]) -> Iterator[Any]:
        """The parts of an answer: one, but for those below that come one after the other."""
        call = getattr(self if hasattr(self, name) else self._store, name)
        answer = call(*arguments)
        if isinstance(answer, Iterator):
            yield from answer
        else:
            yield answer

    def use(self, collection: str, fingerprint: Fingerprint | None) -> bool:
        if fingerprint is not None:
            self._store.name_for(fingerprint)
        return self._store.use(collection)

    def hashes(self) -> Iterator[list[tuple[Key, str]]]:
        found = list(self._store.hashes().items())
        for start in range(0, len(found), _PAGE):  # the receiver may do other work between two
            yield found[start : start + _PAGE]
