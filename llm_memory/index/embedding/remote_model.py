"""A local model in another process, beside the index: what its library dies of costs the bot one
call."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ...errors import EmbeddingFailed
from .encoder import Encoder, Open, encoded, opened
from .local.model_folder import content_revision
from .local.prompts import Prompts

if TYPE_CHECKING:
    from .ports import Vectors

_CALL: Final = 8
"""Texts in a call, which has to be over in time."""


class Which(NamedTuple):
    """A model: where it lies, what it was configured as, and what its files said when it was first
    opened."""

    folder: str
    name: str
    revision: str = ""


class ModelProcess(Protocol):
    """Where a local model can run. Both methods block and may raise EmbeddingFailed; ``died`` where
    the process ended meanwhile."""

    def open_local(self, which: Which) -> tuple[Which, Prompts, str]:
        """Start the process if need be, and open the model there; its variant comes last."""
        ...

    def encode_local(self, which: Which, texts: Sequence[str], prompt: str) -> Vectors:
        """One row per text."""
        ...


class RemoteModel:
    """The bot's end: an ``Encoder``."""

    def __init__(self, process: ModelProcess, folder: Path, name: str) -> None:
        """Opens it there. Raises EmbeddingFailed."""
        self._process = process
        self._which, self.prompts, self.variant = process.open_local(Which(str(folder), name))

    def encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        """One row per text. Raises EmbeddingFailed."""
        import numpy as np

        starts = range(0, len(texts), _CALL)
        ask = self._process.encode_local
        rows = [ask(self._which, texts[start : start + _CALL], prompt) for start in starts]
        return np.concatenate(rows)


class OpenedModel:
    """The other end: the one local model of a process. Thread-safe: one call at a time."""

    def __init__(self, libraries: Sequence[Open]) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._which = Which("", "")
        self._model: Encoder | None = None

    def open(self, which: Which) -> tuple[Which, Encoder]:
        """Read it from the disk. Raises EmbeddingFailed."""
        with self._lock:
            return self._open(which)

    def encode(self, which: Which, texts: Sequence[str], prompt: str) -> Vectors:
        """One row per text. Raises EmbeddingFailed: ``model_changed``, the process was restarted
        and the files are not what they were."""
        with self._lock:
            model = self._model
            if model is None or self._which != which:
                found, model = self._open(which)
                if found != which:
                    raise EmbeddingFailed(f"model_changed: {which.name}")
            return encoded(model, texts, prompt)

    def _open(self, which: Which) -> tuple[Which, Encoder]:
        self._model = None  # before another takes as much memory again
        folder = Path(which.folder)
        model = opened(folder, which.name, self._libraries)
        revision = content_revision(folder, model.prompts, model.variant)
        self._which, self._model = which._replace(revision=revision), model
        return self._which, model
