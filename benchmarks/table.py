"""Nested figures as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NAME_WIDTH = 34


def table(figures: dict[str, Any]) -> str:
    """A heading for each part and size; below it a line for each group of figures."""
    lines: list[str] = []
    for name, value in figures.items():
        if isinstance(value, list):
            for one in value:
                lines += ["", f"{name}, {one['memories']} memories", *_rows("", one)]
        else:
            lines += _rows(name, value)
    return "\n".join(lines) + "\n"


def _rows(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, dict):
        if name != "memories":
            yield f"  {name:{_NAME_WIDTH}} {value}"
        return
    if value and not any(isinstance(inner, dict) for inner in value.values()) and name:
        cells = "  ".join(f"{key} {inner}" for key, inner in value.items())
        yield f"  {name:{_NAME_WIDTH}} {cells}"
        return
    for key, inner in value.items():
        yield from _rows(f"{name}.{key}" if name else key, inner)
