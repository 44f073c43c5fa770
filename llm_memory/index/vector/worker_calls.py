"""What is asked of the process that holds the index and the model, by the names of the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ...models.passages import Key
from ...models.scope import ScopeFilter
from ..embedding.bundled.bundled_model import BundledModel
from ..embedding.local.prompts import Prompts
from ..embedding.ports import Fingerprint, Vector, Vectors
from ..embedding.remote_model import OpenedModel, Which
from ..rules.common_part import apart_from
from .ports import Neighbours, VectorStore

_PAGE: Final = 1000


class WorkerCalls:
    """A method a call; those that are not here are the store's own."""

    def __init__(
        self,
        load: Callable[[], None],
        store: VectorStore,
        model: BundledModel,
        local: OpenedModel,
    ) -> None:
        """``load`` imports Chroma."""
        self.load = load
        self._store = store
        self._model = model
        self._local = local
        self.load_model = model.load
        self.encode_local = local.encode

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

    def query_text(
        self, text: str, scope_filter: ScopeFilter, k: int, common: Sequence[float]
    ) -> Iterator[Vector | Neighbours]:
        vector = apart_from(self._model.query(text), common)
        # If the process dies from here on the index is to blame, and not the model.
        yield vector
        yield self._store.query(vector, scope_filter, k)

    def embed(self, texts: Sequence[str], is_query: bool) -> Vectors:
        return (self._model.queries if is_query else self._model.documents)(texts)

    def open_local(self, which: Which) -> tuple[Which, Prompts, str]:
        found, model = self._local.open(which)
        return found, model.prompts, model.variant
