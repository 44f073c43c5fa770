"""The folder of a local model: finding it and telling it from others. Blocks."""

from __future__ import annotations

import contextlib
import hashlib
import re
from pathlib import Path

from ....errors import EmbeddingFailed
from ....log import logger
from .model_files import TOKENIZER, best_graph
from .prompts import Prompts

_WHOLE_BELOW = 1 << 20
"""Bytes: a configuration is hashed whole, weights by their size and both ends."""

_END = 1 << 16
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
"""Nothing in it means anything to a file system or in an address."""
_KINDS = frozenset(
    {".json", ".txt", ".model", ".safetensors", ".bin", ".vocab", ".onnx", ".onnx_data", ".data"}
)


def find_model(name_or_folder: str, cache_folder: Path | None) -> Path | None:
    """The folder on disk, None if there is none. Never asks a network.

    Args:
        name_or_folder: A folder, or a model's name on the hub.
        cache_folder: Where downloads are kept. The hub library's own place is looked at, too,
            if the library is there.

    Raises:
        EmbeddingFailed: a folder was named that is none: ``no_such_folder``.
    """
    with contextlib.suppress(RuntimeError):  # ~somebody, whom this machine does not know
        folder = Path(name_or_folder).expanduser()
        if is_folder(folder):
            return folder
    if not is_hub_name(name_or_folder):
        raise EmbeddingFailed(f"no_such_folder: {name_or_folder}")
    if cache_folder is not None and is_folder(own := fetched_folder(name_or_folder, cache_folder)):
        return own
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        return None
    for place in dict.fromkeys((cache_folder, None)):
        try:
            found = snapshot_download(
                hub_name(name_or_folder), cache_dir=place, local_files_only=True
            )
        except (OSError, ValueError):  # all of the library's "not here" errors are one of these
            continue
        return Path(found)
    return None


def is_folder(path: Path) -> bool:
    """Whether it is one; False for what can be no path, or must not be looked at."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def fetched_folder(name: str, cache_folder: Path) -> Path:
    """Where a download puts a model."""
    return cache_folder / hub_name(name).replace("/", "--")


def is_own_folder(name_or_folder: str, found: Path) -> bool:
    """Whether the owner named the folder itself, so that no download can mend it."""
    return Path(name_or_folder).expanduser() == found


def is_hub_name(name: str) -> bool:
    """``model`` or ``owner/model`` as hubs allow them, and nothing that looks like a path."""
    return _HUB_NAME.fullmatch(name) is not None


def hub_name(name: str) -> str:
    """A name without an owner is one of the sentence-transformers project's."""
    return name if "/" in name else f"sentence-transformers/{name}"


def exported_graph(folder: Path) -> str | None:
    """The ONNX export to run, below the folder; None without one, or without its tokenizer."""
    if not (folder / TOKENIZER).is_file():
        return None
    return best_graph(
        path.relative_to(folder).as_posix()
        for place in (folder, folder / "onnx")
        if place.is_dir()
        for path in place.glob("*.onnx")
    )


def first_model(folder: Path, *, torch: bool) -> Path | None:
    """The first folder below that holds a model: an ONNX export, or where sentence-transformers is
    installed, what has a ``config.json`` or ``modules.json``. Others are passed
    over, and so is what cannot be read."""
    try:
        for path in sorted(folder.iterdir()) if is_folder(folder) else ():
            if _holds_model(path, torch=torch):
                return path
    except OSError as error:
        logger.warning("model_unread", name=folder.name, error=error)
    return None


def _holds_model(folder: Path, *, torch: bool) -> bool:
    try:
        described = any((folder / name).is_file() for name in ("modules.json", "config.json"))
        return exported_graph(folder) is not None or (torch and described)
    except OSError as error:
        logger.warning("model_unread", name=folder.name, error=error)
        return False


def content_revision(folder: Path, prompts: Prompts, variant: str = "") -> str:
    """16 hexadecimal digits: another model, or the same with other prompts or in another
    ``variant``, gives others.

    Hashed are the relative names of configuration, vocabulary and weight files and their content,
    of files above 1 MiB the size and 64 KiB at either end.
    """
    digest = hashlib.sha256(f"{tuple(prompts)!r}{variant}".encode())
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        if hidden or path.suffix not in _KINDS or not path.is_file():
            continue
        size = path.stat().st_size
        digest.update(f"{relative.as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= _WHOLE_BELOW:
                digest.update(file.read())
            else:
                digest.update(file.read(_END))
                file.seek(-_END, 2)
                digest.update(file.read(_END))
    return digest.hexdigest()[:16]
