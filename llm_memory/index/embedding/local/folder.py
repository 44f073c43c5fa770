"""The files of a local model: which of them are needed, where they lie, whether they changed."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

TOKENIZER: Final = "tokenizer.json"
TOTAL: Final = ".total"
"""A file of an unfinished folder: how many bytes it will hold."""

_END: Final = 1 << 18
_HUB_NAME: Final = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
"""Nothing in it means anything to a file system or in an address."""
_GRAPH: Final = re.compile(r"(?:onnx/)?model[^/]*\.onnx")
_GRAPHS: Final = ("model_quantized.onnx", "model.onnx", "model_int8.onnx", "model_uint8.onnx")
"""What one would choose for a CPU, the best first: eight bits are as good and a quarter as long."""
_LAST_GRAPHS: Final = ("fp16", "O4", "q4", "bnb4")
"""Made for other machines, or too coarse."""
_OTHER_MODULE: Final = re.compile(r"\d+_(?!Transformer|Pooling|Normalize)\w+/")
"""Of sentence-transformers', which an export does not have in it: ``2_Dense/config.json``."""
_WEIGHTS: Final = (".safetensors", ".bin")
_BESIDE_WEIGHTS: Final = (".json", ".txt", ".model")
_KINDS: Final = (*_WEIGHTS, *_BESIDE_WEIGHTS, ".vocab", ".onnx", ".onnx_data", ".data")


def is_folder(path: Path) -> bool:
    """Whether it is one; False for what can be no path, or must not be looked at."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def folder_of(name_or_folder: str, fetched: Path) -> Path | None:
    """The folder of a model that was named, or was ``fetched``; None where it is not there."""
    with contextlib.suppress(RuntimeError):  # ~somebody, whom this machine does not know
        if is_folder(folder := Path(name_or_folder).expanduser()):
            return folder
    own = fetched_folder(name_or_folder, fetched)
    return own if is_folder(own) else None


def fetched_folder(name: str, fetched: Path) -> Path:
    """Where a download puts a model."""
    return fetched / name.replace("/", "--")


def unfinished(folder: Path) -> Path:
    """Where a model lies until it is whole."""
    return folder.with_name(f"{folder.name}.part")


def is_hub_name(name: str) -> bool:
    """``model`` or ``owner/model`` as hubs allow them, and nothing that looks like a path."""
    return _HUB_NAME.fullmatch(name) is not None


def best_graph(names: Iterable[str]) -> str | None:
    """Of the ONNX files of a repository or a folder; None if there is none that is a model's."""
    return min(filter(_GRAPH.fullmatch, names), key=_rank, default=None)


def _rank(name: str) -> tuple[int, int, str]:
    file = name.rpartition("/")[2]
    last = any(mark in file for mark in _LAST_GRAPHS)
    known = _GRAPHS.index(file) if file in _GRAPHS else len(_GRAPHS) + last
    return known, name.count("/"), name


def exported_graph(folder: Path) -> str | None:
    """The ONNX export to run, below the folder; None without one, or without its tokenizer."""
    if not (folder / TOKENIZER).is_file():
        return None
    return best_graph(path.relative_to(folder).as_posix() for path in _below(folder))


def _below(folder: Path) -> set[Path]:
    """Everything, and what a folder in it holds that is a link: ``rglob`` follows none."""
    return {*folder.rglob("*"), *folder.glob("*/*")}


def needed(names: Collection[str], *, torch: bool) -> list[str]:
    """The files to fetch of those there are; none where nothing of it could be run here. ``torch``:
    sentence-transformers could read weights."""
    graph = best_graph(names)
    if graph and TOKENIZER in names and not (torch and any(map(_OTHER_MODULE.match, names))):
        return sorted(
            name
            for name in names
            if (name.endswith(".json") and "/" not in name)
            or name.endswith("_Pooling/config.json")
            or name == graph
            or name.startswith((f"{graph}_", f"{graph}."))  # weights that lie beside it
        )
    weights = next((kind for kind in _WEIGHTS if any(n.endswith(kind) for n in names)), None)
    if weights is None or not torch:
        return []
    others = ("onnx/", "openvino/")
    kinds = (weights, *_BESIDE_WEIGHTS)
    return sorted(name for name in names if name.endswith(kinds) and not name.startswith(others))


def first_model(folder: Path, *, torch: bool) -> Path | None:
    """The first folder below that holds a model: an ONNX export, or where sentence-transformers is
    installed, what has a ``config.json`` or ``modules.json``. What cannot be read is passed over.
    """
    with contextlib.suppress(OSError):
        for path in sorted(folder.iterdir()) if is_folder(folder) else ():
            with contextlib.suppress(OSError):
                told = torch and any((path / n).is_file() for n in ("modules.json", "config.json"))
                if told or exported_graph(path) is not None:
                    return path
    return None


def content_revision(folder: Path, how: str) -> str:
    """16 hexadecimal digits: another model, or the same run in another way, gives others.

    Hashed are ``how``, the names of configuration, vocabulary and weight files, their sizes and
    256 KiB at either end.
    """
    digest = hashlib.sha256(how.encode())
    for path in sorted(_below(folder)):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if not hidden and path.suffix in _KINDS and path.is_file():
            size = path.stat().st_size
            digest.update(f"{relative.as_posix()}\0{size}\0".encode())
            with path.open("rb") as file:
                digest.update(file.read(_END))
                file.seek(max(size - _END, 0))
                digest.update(file.read(_END))
    return digest.hexdigest()[:16]
