"""The folder of a sentence-transformers model: finding it and telling it from others. Blocks."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...errors import EmbeddingFailed
from .prompts import Prompts

_WHOLE_BELOW = 1 << 20
"""Bytes: a configuration is hashed whole, weights by their size and both ends."""

_END = 1 << 16
_KINDS = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".vocab"})


def find_model(name_or_folder: str, cache_folder: Path | None) -> Path | None:
    """The folder on disk, None if there is none. Never asks a network.

    Args:
        name_or_folder: A folder, or a model's name on the hub.
        cache_folder: Where downloads are kept. The hub library's own place is looked at, too.

    Raises:
        EmbeddingFailed: ``no_hub_library``; a folder was named that is none: ``no_such_folder``.
    """
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    if not is_hub_name(name_or_folder):
        raise EmbeddingFailed(f"no_such_folder: {name_or_folder}")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise EmbeddingFailed("no_hub_library: huggingface_hub cannot be imported") from error
    for place in dict.fromkeys((cache_folder, None)):
        try:
            found = snapshot_download(
                hub_name(name_or_folder), cache_dir=place, local_files_only=True
            )
        except (OSError, ValueError):  # all of the library's "not here" errors are one of these
            continue
        return Path(found)
    return None


def is_own_folder(name_or_folder: str, found: Path) -> bool:
    """Whether the owner named the folder itself, so that no download can mend it."""
    return Path(name_or_folder).expanduser() == found


def is_hub_name(name: str) -> bool:
    """``model`` or ``owner/model``, and nothing that looks like a path."""
    parts = name.split("/")
    return (
        len(parts) <= 2
        and "\\" not in name
        and all(part and part not in {".", ".."} and not part.startswith("~") for part in parts)
    )


def hub_name(name: str) -> str:
    """A name without an owner is one of the sentence-transformers project's."""
    return name if "/" in name else f"sentence-transformers/{name}"


def content_revision(folder: Path, prompts: Prompts) -> str:
    """16 hexadecimal digits: another model, or the same with other prompts, gives others.

    Hashed are the relative names of configuration, vocabulary and weight files and their content,
    of files above 1 MiB the size and 64 KiB at either end.
    """
    digest = hashlib.sha256(repr(tuple(prompts)).encode())
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
