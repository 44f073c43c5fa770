"""A folder of sentence-transformers' own, run by torch: for models without an ONNX export."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ....errors import EmbeddingFailed
from ..native_probe import NativeProbe
from .prompts import Prompts, prompts_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from ..ports import Vectors

TORCH_TRIED: Final = Path(__file__).with_name("try_native.py")
"""The program that a NativeProbe of torch runs."""

_BATCH: Final = 4


def open_sentence_transformer(
    folder: Path, name: str, native: NativeProbe | None = None
) -> TorchModel:
    """The model in a folder, computed by one thread.

    Args:
        folder: As sentence-transformers saves it.
        name: As configured, for prompts that the files do not name.
        native: Asked before torch is imported; None imports it unasked.

    Raises:
        EmbeddingFailed: ``native``, torch would end the process; ``no_sentence_transformers``.
        Exception: whatever the library raises over files that are broken.
    """
    if native is not None and (refusal := native.refusal()):
        raise EmbeddingFailed(f"native: {refusal}")
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except Exception as error:
        # Absent, or there and broken: a missing shared library, a numpy of another generation.
        what = type(error).__name__
        if isinstance(error, ModuleNotFoundError):
            what = f"{error.name} is not there; install sentence-transformers"
        raise EmbeddingFailed(f"no_sentence_transformers: {what}") from error
    torch.set_num_threads(1)
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return TorchModel(model, prompts_of(model.prompts, model.default_prompt_name, Path(name).name))


class TorchModel:
    """A sentence-transformers model in memory."""

    variant = ""

    def __init__(self, model: SentenceTransformer, prompts: Prompts) -> None:
        self._model = model
        self._prompts = prompts

    @property
    def prompts(self) -> Prompts:
        return self._prompts

    def encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        """One row per text."""
        vectors: Vectors = self._model.encode(
            list(texts),
            prompt=prompt,
            batch_size=_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return vectors
