"""The lines of data in a prompt that a scripted reader of turns is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def data_lines(prompt: str, name: str) -> Iterator[dict[str, Any]]:
    """The JSON objects, one a line, that have this field."""
    for line in prompt.splitlines():
        if line.startswith("{"):
            value = json.loads(line)
            if name in value:
                yield value
