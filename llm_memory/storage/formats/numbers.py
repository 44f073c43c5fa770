"""Format numbers and the versions that wrote them, as files state them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import FormatNewer

_VERSION = re.compile(r"v?\d[\w.+-]{0,39}")
_LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class FormatStamp:
    """A format's number, and the version that first wrote it: empty if unknown."""

    format: int
    written_by: str = ""


def read_stamp(path: Path) -> FormatStamp | None:
    """The stamp of a JSON file; None where there is none, or none that makes sense."""
    try:
        if not path.is_file():  # a pipe would hold us up
            return None
        with path.open("rb") as file:
            content = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    number, version = content.get("format"), content.get("written_by")
    if type(number) is not int or number < 1:  # True is an int, too
        return None
    return FormatStamp(number, version if isinstance(version, str) else "")


def refuse_newer(path: Path, stamp: FormatStamp | None, known: int, version: str) -> None:
    """Raises FormatNewer if ``stamp`` is beyond ``known``; ``version`` is our own."""
    if stamp is None or stamp.format <= known:
        return
    stated = _VERSION.fullmatch(stamp.written_by)
    needs = f"≥ {stamp.written_by}" if stated else f"> {version or '?'}"
    raise FormatNewer(str(path), stamp.format, known, needs)
