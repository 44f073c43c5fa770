"""One model from a hub into a folder: what is needed of it, whole, or not at all. Blocks."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO, Final
from urllib.error import HTTPError

from ..local.model_files import needed
from .hub import Hub, HubFile

TOTAL: Final = ".total"
"""A file of the unfinished folder: how many bytes it will hold."""

_PIECE: Final = 1 << 18
_ATTEMPTS: Final = 5
_FIRST_PAUSE = 1.0
"""Seconds; each further one without a byte is longer by as much."""
_SPARE: Final = 100 << 20
"""Bytes that stay free on the disk."""


class FetchFailed(Exception):
    """The message is for the owner."""


def unfinished(folder: Path) -> Path:
    """Where a model lies until it is whole."""
    return folder.with_name(f"{folder.name}.part")


def fetch(hub: Hub, folder: Path, *, torch: bool) -> None:
    """The model into ``folder``. Raises FetchFailed, OSError."""
    part = unfinished(folder)
    if folder.is_dir() and not part.exists():
        folder.rename(part)  # there is something wrong with it: keep what is whole
    part.mkdir(parents=True, exist_ok=True)
    found = hub.files()
    modules = None
    if "modules.json" in found:
        _fetch_file(hub, found["modules.json"], part)
        modules = json.loads((part / "modules.json").read_text(encoding="utf-8"))
    files = sorted((found[n] for n in needed(found, modules, torch=torch)), key=lambda f: f.size)
    missing = sum(max(file.size - _size(part / file.path), 0) for file in files)
    if shutil.disk_usage(part).free < missing + _SPARE:
        raise FetchFailed(f"the disk is full: {missing / 1e6:.0f} MB are needed")
    (part / TOTAL).write_text(str(sum(file.size for file in files)))
    for file in files:
        _fetch_file(hub, file, part)
    _remove_others(part, {part / file.path for file in files})
    if folder.is_dir():
        shutil.rmtree(folder)
    part.rename(folder)


def _remove_others(folder: Path, wanted: set[Path]) -> None:
    """What an earlier commit had, and how many bytes were expected."""
    for path in folder.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def _fetch_file(hub: Hub, file: HubFile, folder: Path) -> None:
    """One whole file. Goes on where it was cut off, over several connections if need be."""
    path = folder / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and _size(path) >= file.size and _digest(path, file) != file.digest:
        path.unlink()  # of an older commit, or of one that was changed since
    if not file.digest:
        raise FetchFailed(f"{file.path}: the hub says no hash of it")
    failures = 0
    while _size(path) < file.size or not path.is_file():
        before = _size(path)
        trouble = _fetch_part(hub, file, path)
        failures = 0 if _size(path) > before else failures + 1
        if failures >= _ATTEMPTS:
            raise FetchFailed(f"{file.path}: {trouble}")
        if failures:
            time.sleep(failures * _FIRST_PAUSE)
    if _digest(path, file) != file.digest:
        path.unlink()
        raise FetchFailed(f"wrong hash: {file.path} is not what the hub says, it was thrown away")


def _fetch_part(hub: Hub, file: HubFile, path: Path) -> str:
    """What comes over one connection, and why it ended. Raises HTTPError for a refusal."""
    try:
        with path.open("r+b" if path.is_file() else "wb") as target:
            for at, piece in hub.read(file, _size(path)):
                target.seek(at)
                target.write(piece[: file.size - at])
                if at + len(piece) >= file.size:
                    break  # what follows is not the file's, and may have no end
    except HTTPError as error:
        if error.code < 500:
            raise
        return f"HTTP {error.code}"
    except (OSError, HTTPException) as error:
        return str(error) or type(error).__name__
    return "the connection was closed"


def _digest(path: Path, file: HubFile) -> str:
    """As the hub counts: of a small file git's own, which begins with a header."""
    digest = hashlib.sha256() if file.is_large else hashlib.sha1(usedforsecurity=False)
    if not file.is_large:
        digest.update(b"blob %d\0" % _size(path))
    with path.open("rb") as content:
        for piece in _pieces(content):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(content: IO[bytes]) -> Iterator[bytes]:
    while piece := content.read(_PIECE):
        yield piece


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
