"""A model in a process of its own as an embedder: the bot's end of ``program.py``."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import batched
from typing import TYPE_CHECKING, Any, Final

from ...errors import EmbeddingFailed
from ..child.process import DIED, HANGS, NOT_STARTED, Child, ChildFailed
from ..child.program import Json
from .local.on_disk import ModelOnDisk
from .ports import CONTROL, Fingerprint, unit

if TYPE_CHECKING:
    from .ports import Vector

_AT_ONCE: Final = 2
"""Documents in a call: a query waits for no more."""
_THREADS: Final = 4
_SECONDS: Final = 280.0
"""For a model to be read from the slowest disk. Past it there is no hope."""
_LOADING: Final = re.compile(r"while loading (\S+)$")
_LACKS_INSTRUCTIONS: Final = ("SIGILL", "0xc000001d")
"""How a process ends where a library was built for another processor: that stays so."""


class ModelEmbedder:
    """Belongs inside a ``GuardedEmbedder``. Reasons are those of ``Models``, ``native`` (a library
    ended the process at its import), ``died``, ``closed``, ``no_child``, and of ``ModelOnDisk``.

    Args:
        child: The program, of this embedder alone.
        disk: The model; None for the best of the packages that are bundled.
    """

    def __init__(self, child: Child, disk: ModelOnDisk | None = None) -> None:
        self.label = disk.label if disk is not None else "bundled"
        self._child = child
        self._disk = disk
        self._model: dict[str, Json] = {}
        self._deaths: dict[str, Json] = {}
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")

    async def prepare(self) -> Fingerprint:
        """Loads it there."""
        model: dict[str, Json] = {"kind": "package", "deaths": self._deaths}
        if self._disk is not None:
            model |= {"kind": "model", **await self._disk.where()}
        (row,), found = await self._asked(model, [CONTROL], is_query=True)
        try:
            dim = len(unit(row, 0))
        except EmbeddingFailed as error:
            raise EmbeddingFailed(f"broken_{model['kind']}: {error.code}") from error
        self._model = model | {"revision": found["revision"]}
        return Fingerprint(found["model"], dim, found["revision"])

    async def embed_query(self, text: str) -> Vector:
        (vector,), _ = await self._asked(self._model, [text], is_query=True)
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        found: list[Vector] = []
        for some in batched(texts, _AT_ONCE):
            found += (await self._asked(self._model, some, is_query=False))[0]
        return found

    async def close(self) -> None:
        """Ends the program. Idempotent."""
        if self._disk is not None:
            await self._disk.close()
        await asyncio.to_thread(self._child.close)
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _asked(
        self, model: Mapping[str, Json], texts: Sequence[str], *, is_query: bool
    ) -> tuple[Sequence[Vector], Mapping[str, Any]]:
        """Rows, and what its program says of the model."""
        import numpy as np

        fields: dict[str, Json] = {**model, "texts": [*texts], "is_query": is_query}
        asked = self._executor.submit(
            self._child.ask, "embed", fields, seconds=_SECONDS, urgent=is_query
        )
        try:
            found, body = await asyncio.wrap_future(asked)
        except ChildFailed as failed:
            raise self._translated(failed) from failed
        return list(np.frombuffer(body, dtype=np.float32).reshape(len(texts), -1)), found

    def _translated(self, failed: ChildFailed) -> EmbeddingFailed:
        """Of what was loaded when the process ended, by its name."""
        said, library = str(failed), _LOADING.search(str(failed))
        if failed.code != DIED or library is None:
            code = DIED if failed.code in (HANGS, NOT_STARTED) else failed.code
            return EmbeddingFailed(f"{code}: {said}")
        death = said.partition(" ")[0]
        if death in _LACKS_INSTRUCTIONS:
            self._deaths[library[1]] = death
        return EmbeddingFailed(f"native: {library[1]} {death}")
