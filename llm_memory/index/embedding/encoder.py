"""A local model in memory, whichever library runs it and whichever process holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...errors import EmbeddingFailed
from .local.onnx_model import ONNX_TRIED, open_onnx
from .local.prompts import Prompts
from .local.sentence_transformer import TORCH_TRIED, open_sentence_transformer
from .native_probe import NativeProbe

if TYPE_CHECKING:
    from .ports import Vectors


class Encoder(Protocol):
    """A model in memory."""

    @property
    def prompts(self) -> Prompts:
        """What it wants to read before a text."""
        ...

    @property
    def variant(self) -> str:
        """What else than its files and prompts decides on the vectors; may be empty."""
        ...

    def encode(self, texts: Sequence[str], prompt: str) -> Vectors:
        """One row per text, of any length. Blocks; may raise anything."""
        ...


type Open = Callable[[Path, str], Encoder | None]
"""From a folder and the model's name as configured; None if the library is not the one for it. May
raise anything; EmbeddingFailed where it knows the reason."""

LIBRARIES: tuple[Open, ...] = (open_onnx, open_sentence_transformer)
"""Those that need less first."""


def probed_libraries(records: Path) -> tuple[Open, ...]:
    """The same, each tried in a process of its own first, for it may end the one that imports it.
    What came of it is kept in the folder ``records``."""
    onnx = NativeProbe("onnxruntime", ONNX_TRIED, records / "native-onnxruntime.json")
    torch = NativeProbe("torch", TORCH_TRIED, records / "native-torch.json")
    return partial(open_onnx, native=onnx), partial(open_sentence_transformer, native=torch)


def opened(folder: Path, name: str, libraries: Sequence[Open]) -> Encoder:
    """By the first library that can. Raises EmbeddingFailed."""
    try:
        for library in libraries:
            model = library(folder, name)
            if model is not None:
                return model
    except EmbeddingFailed:
        raise
    except Exception as error:
        # Whatever a foreign library raises over foreign files: KeyError, SafetensorError, JSON, …
        raise EmbeddingFailed(f"broken_model: {type(error).__name__}") from error
    raise EmbeddingFailed("broken_model: no library reads it")


def encoded(model: Encoder, texts: Sequence[str], prompt: str) -> Vectors:
    """One row per text. Raises EmbeddingFailed."""
    try:
        return model.encode(texts, prompt)
    except EmbeddingFailed:
        raise
    except Exception as error:
        # Whatever a library and a model's own code raise: out of memory, index errors, …
        raise EmbeddingFailed(f"encoding_failed: {type(error).__name__}") from error
