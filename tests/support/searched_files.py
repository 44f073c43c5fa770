"""Which files hold certain words, however they are written down."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path


def files_holding(root: Path, *words: str) -> set[str]:
    """Every file below a folder that holds one of the words: as they are, as JSON escapes them, as
    UTF-16, or in a line of JSON or a zip that was unpacked. Files and folders may come and go."""
    wanted = [
        form
        for one in words
        for form in (one.encode(), json.dumps(one)[1:-1].encode(), one.encode("utf-16-le"))
    ]
    found: set[str] = set()
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                content = path.read_bytes()
                unpacked = _unpacked(path, content)
                if any(one in text for text in (content, *unpacked) for one in wanted):
                    found.add(path.relative_to(root).as_posix())
    return found


def _unpacked(path: Path, content: bytes) -> Iterator[bytes]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from map(archive.read, archive.namelist())
    for line in content.splitlines() if path.suffix == ".jsonl" else ():
        with contextlib.suppress(ValueError):
            yield from _leaves(json.loads(line))


def _leaves(value: object, name: str = "") -> Iterator[bytes]:
    if isinstance(value, str):
        yield base64.b64decode(value) if name == "base64" else value.encode(errors="replace")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
