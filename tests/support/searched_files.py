"""Which files hold certain words, however they are written down."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path


def files_holding(root: Path, words: str) -> set[str]:
    """Every file below a folder that holds the words as they are, as JSON escapes them or as
    UTF-16. Files and folders may come and go meanwhile."""
    wanted = [words.encode(), json.dumps(words)[1:-1].encode(), words.encode("utf-16-le")]
    found: set[str] = set()
    for folder, _, names in os.walk(root):
        for path in (Path(folder, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                content = path.read_bytes()
                if any(one in content for one in wanted):
                    found.add(path.relative_to(root).as_posix())
    return found
