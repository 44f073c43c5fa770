"""Which files of a model's repository are needed to run it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePosixPath
from typing import Any, Final

TOKENIZER: Final = "tokenizer.json"

_GRAPHS: Final = ("model_quantized.onnx", "model.onnx", "model_int8.onnx", "model_uint8.onnx")
"""What one would choose for a CPU, the best first: eight bits are as good and a quarter as long."""
_LAST_GRAPHS: Final = ("fp16", "O4", "q4", "bnb4")
"""Made for other machines, or too coarse."""
_CONFIGURATION: Final = frozenset(
    {
        *("config.json", "config_sentence_transformers.json", "modules.json", TOKENIZER),
        *("sentence_bert_config.json", "special_tokens_map.json", "tokenizer_config.json"),
    }
)
_RUN_BY_US: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_WEIGHTS: Final = (".safetensors", ".bin")
_BESIDE_WEIGHTS: Final = (".json", ".txt", ".model")
_OTHER_FORMATS: Final = frozenset({"onnx", "openvino"})


class NothingToRun(Exception):
    """A repository has nothing that could be run here. The message is for the owner."""


def best_graph(names: Iterable[str]) -> str | None:
    """Of the ONNX files of a repository or a folder; None if there is none that is a model's."""
    found = [name for name in names if _is_graph(name)]
    return min(found, key=_rank, default=None)


def _is_graph(name: str) -> bool:
    path = PurePosixPath(name)
    is_model = path.name.startswith("model") and path.suffix == ".onnx"
    return is_model and str(path.parent) in {".", "onnx"}


def _rank(name: str) -> tuple[int, int, str]:
    file = PurePosixPath(name).name
    last = any(mark in file for mark in _LAST_GRAPHS)
    known = _GRAPHS.index(file) if file in _GRAPHS else len(_GRAPHS) + last
    return known, name.count("/"), name


def other_modules(modules: Any) -> bool:
    """Whether a ``modules.json`` names what is more than a transformer, pooling and length one."""
    if not isinstance(modules, list):
        return False
    kinds = {str(m.get("type", "")).rpartition(".")[2] for m in modules if isinstance(m, dict)}
    return not kinds <= _RUN_BY_US


def needed(names: Collection[str], modules: Any, *, torch: bool) -> list[str]:
    """The files to fetch of those there are.

    Args:
        names: Of all files.
        modules: The content of ``modules.json``.
        torch: Whether sentence-transformers could read weights.

    Raises:
        NothingToRun: there is nothing that could be run here.
    """
    graph = best_graph(names)
    if graph and TOKENIZER in names and not (torch and other_modules(modules)):
        return sorted(
            name
            for name in names
            if name in _CONFIGURATION
            or name.endswith("_Pooling/config.json")
            or name == graph
            or name.startswith((f"{graph}_", f"{graph}."))  # weights that lie beside it
        )
    weights = next((kind for kind in _WEIGHTS if any(n.endswith(kind) for n in names)), None)
    if weights is None:
        raise NothingToRun(
            "neither an ONNX export with tokenizer.json nor weights in this repository"
        )
    if not torch:
        raise NothingToRun(
            "no ONNX export, and sentence-transformers is not installed to read weights"
        )
    kinds = (weights, *_BESIDE_WEIGHTS)
    return sorted(
        name
        for name in names
        if name.endswith(kinds) and name.partition("/")[0] not in _OTHER_FORMATS
    )
