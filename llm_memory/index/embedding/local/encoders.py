"""A folder's model in memory, in the models' program: an ONNX export, run by onnxruntime and
tokenizers, or else what sentence-transformers reads, run by torch; computed by one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .folder import TOKENIZER, exported_graph
from .layout import most_tokens, pooling_of, prompts_of

if TYPE_CHECKING:
    from ..ports import Vector, Vectors

_SENTENCE: Final = "sentence_embedding"
_QUIET: Final = 4
"""Fatal errors alone: the others are raised, too."""
_TORCH_BATCH: Final = 4
_POOLED: Final[Mapping[str, Callable[[Vectors], Vector]]] = {
    "cls": lambda tokens: tokens[0],
    "lasttoken": lambda tokens: tokens[-1],
    "max": lambda tokens: tokens.max(axis=0),
    "mean": lambda tokens: tokens.mean(axis=0),
}
"""The vectors of a text's tokens, shape ``(tokens, dim)``, as one."""


def open_onnx(folder: Path, name: str) -> OnnxModel | None:
    """The folder's export; None if there is none that can be run without its other modules.

    Raises whatever onnxruntime and tokenizers raise over files that are broken.
    """
    graph = exported_graph(folder)
    model = None if graph is None else OnnxModel(folder, graph, name)
    return model if model is not None and (model.pooled or model.pooling) else None


class OnnxModel:
    """One text at a time: in a batch the vectors of a quantised graph would depend on the others,
    and with one thread a batch is hardly quicker.

    The graph is fed what it asks for of ``input_ids``, ``attention_mask``, ``token_type_ids`` and
    ``position_ids``. Its ``sentence_embedding`` is taken where it has one, else its first output.
    """

    def __init__(self, folder: Path, graph: str, name: str) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.pooling = pooling_of(folder, name)
        self._prompts = prompts_of(folder, name)
        longest = most_tokens(folder)
        self.how = str((graph, self.pooling, self._prompts, longest))
        """What else than its files decides on the vectors."""
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(longest)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        options.enable_cpu_mem_arena = False  # it would keep the memory of the longest text
        self._session = onnxruntime.InferenceSession(
            str(folder / graph), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {
            one.name: "int32" if "int32" in one.type else "int64"
            for one in self._session.get_inputs()
        }
        outputs = {one.name: one for one in self._session.get_outputs()}
        self._output = _SENTENCE if _SENTENCE in outputs else next(iter(outputs))
        rank = len(outputs[self._output].shape or ())
        self.pooled = self._output == _SENTENCE or rank == 2
        self._vector([0], [0])  # it can be run

    def encode(self, texts: Sequence[str], is_query: bool) -> Vectors:
        """One row per text, of any length."""
        import numpy as np

        prompt = self._prompts.query if is_query else self._prompts.document
        tokens = (self._tokenizer.encode(prompt + text) for text in texts)
        return np.stack([self._vector(one.ids, one.type_ids) for one in tokens])

    def _vector(self, ids: Sequence[int], types: Sequence[int]) -> Vector:
        import numpy as np

        known = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": types,
            "position_ids": range(len(ids)),
        }
        feed = {name: np.array([known[name]], dtype=kind) for name, kind in self._inputs.items()}
        (answer,) = self._session.run([self._output], feed)
        found: Vectors = answer[0].astype(np.float32)
        return found if self.pooled else _POOLED[self.pooling or "mean"](found)


class TorchModel:
    """A sentence-transformers model.

    Args:
        folder: As sentence-transformers saves it.
        name: As configured, for prompts that the files do not name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(1)
        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        self._prompts = prompts_of(folder, name)
        self.how = str(self._prompts)

    def encode(self, texts: Sequence[str], is_query: bool) -> Vectors:
        """One row per text."""
        vectors: Vectors = self._model.encode(
            list(texts),
            prompt=self._prompts.query if is_query else self._prompts.document,
            batch_size=_TORCH_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return vectors
