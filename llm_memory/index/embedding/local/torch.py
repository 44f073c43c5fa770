"""A folder of sentence-transformers' own, run by torch: for models without an ONNX export. In the
models' program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .layout import prompts_of

if TYPE_CHECKING:
    from ..ports import Vectors

_BATCH: Final = 4


class TorchModel:
    """A sentence-transformers model in memory, computed by one thread.

    Args:
        folder: As sentence-transformers saves it.
        name: As configured, for prompts that the files do not name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        given = self._model.prompts, self._model.default_prompt_name
        self._prompts = prompts_of(*given, Path(name).name)

    @property
    def how(self) -> str:
        """What else than its files decides on the vectors."""
        return str(tuple(self._prompts))

    def encode(self, texts: Sequence[str], is_query: bool) -> Vectors:
        """One row per text."""
        vectors: Vectors = self._model.encode(
            list(texts),
            prompt=self._prompts.query if is_query else self._prompts.document,
            batch_size=_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return vectors
