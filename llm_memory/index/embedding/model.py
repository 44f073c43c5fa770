"""A model in a process of its own as an embedder: the bot's end of ``program.py``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import batched
from typing import TYPE_CHECKING, Final, Protocol

from ...errors import EmbeddingFailed
from ..child.process import DIED, HANGS, Child, ChildFailed
from ..child.program import Answer, Json
from .ports import Fingerprint

if TYPE_CHECKING:
    from .ports import Vector

PROGRAM: Final = "llm_memory.index.embedding.program"
BUNDLED_LABEL: Final = "bundled"
_AT_ONCE: Final = 2
"""Documents in a call: a query waits for no more."""
_THREADS: Final = 4
_LOADING_SECONDS: Final = 280.0
"""For a model to be read from the slowest disk."""
_EMBEDDING_SECONDS: Final = 120.0
"""For a few texts. Past it there is no hope."""
_LOADING: Final = re.compile(r"while loading (\S+)$")
_LACKS_INSTRUCTIONS: Final = ("SIGILL", "0xc000001d")
"""How a process ends where a library was built for another processor: that stays so."""


class ModelSource(Protocol):
    """Which model it is."""

    @property
    def label(self) -> str:
        """For the status."""
        ...

    async def which(self) -> Mapping[str, Json]:
        """What its program needs to open it. Raises EmbeddingFailed while there is none."""
        ...

    async def close(self) -> None:
        """Give back what it holds. Idempotent."""
        ...


class BundledSource:
    """The best of the packages."""

    label = BUNDLED_LABEL

    async def which(self) -> Mapping[str, Json]:
        return {"kind": "package"}

    async def close(self) -> None:
        """It holds nothing."""


class ModelEmbedder:
    """Belongs inside a ``GuardedEmbedder``. Reasons are those of ``Models``, ``native`` (a library
    ended the process at its import), ``died``, ``closed``, ``no_child``, and those of its source.

    Args:
        source: The model.
        child: Its program, of this embedder alone.
    """

    def __init__(self, source: ModelSource, child: Child) -> None:
        self._source = source
        self._child = child
        self._which: Mapping[str, Json] = {}
        self._deaths: dict[str, Json] = {}
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")

    @property
    def label(self) -> str:
        return self._source.label

    async def prepare(self) -> Fingerprint:
        """Loads it there."""
        which = {**await self._source.which(), "deaths": self._deaths}
        found, _ = await self._ask("load", which, _LOADING_SECONDS)
        self._which = {**which, "revision": found["revision"]}
        dim = found["dim"]
        return Fingerprint(
            str(found["model"]), dim if isinstance(dim, int) else 0, str(found["revision"])
        )

    async def embed_query(self, text: str) -> Vector:
        (vector,) = await self._embed([text], is_query=True)
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        found: list[Vector] = []
        for some in batched(texts, _AT_ONCE):
            found += await self._embed(some, is_query=False)
        return found

    async def close(self) -> None:
        """Ends the program. Idempotent."""
        await self._source.close()
        await asyncio.to_thread(self._child.close)
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _embed(self, texts: Sequence[str], *, is_query: bool) -> Sequence[Vector]:
        import numpy as np

        fields: dict[str, Json] = {**self._which, "texts": [*texts], "is_query": is_query}
        _, body = await self._ask("embed", fields, _EMBEDDING_SECONDS, urgent=is_query)
        return list(np.frombuffer(body, dtype=np.float32).reshape(len(texts), -1))

    async def _ask(
        self, what: str, fields: Mapping[str, Json], seconds: float, *, urgent: bool = False
    ) -> Answer:
        ask = partial(self._child.ask, what, fields, seconds=seconds, urgent=urgent)
        try:
            return await asyncio.wrap_future(self._executor.submit(ask))
        except ChildFailed as failed:
            raise self._translated(failed) from failed
        except RuntimeError as error:  # shut down
            raise EmbeddingFailed("closed") from error

    def _translated(self, failed: ChildFailed) -> EmbeddingFailed:
        """Of what was loaded when the process ended, by its name."""
        said = str(failed)
        library = _LOADING.search(said)
        if failed.code != DIED or library is None:
            code = DIED if failed.code == HANGS else failed.code
            return EmbeddingFailed(f"{code}: {said}")
        death = said.partition(" ")[0]
        if death in _LACKS_INSTRUCTIONS:
            self._deaths[library[1]] = death
        return EmbeddingFailed(f"native: {library[1]} {death}")
