"""The chain of a soul: one line of canonical JSON an event, each with the hash of the one before.

What was changed in it later shows: tamper-evident, not tamper-proof. In every format a line's
``prev`` is the SHA-256 of the line before without its line end, and the first line names the
format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, get_args

from ..models.soul import SoulEvent, SoulLine
from ..storage.soul_heads import SoulHead

FORMAT: Final = 1
NO_LINE: Final = "0" * 64
"""What the first line has for ``prev``."""
_NUMBERS: Final = ("n", "proposal", "version", "source")
_TEXTS: Final = ("role", "actor", "prev", "sha256", "eval")


@dataclass(frozen=True, slots=True)
class Chain:
    """What a chain's file holds.

    Attributes:
        lines: Those before the first broken one; none of a newer format.
        end: The hash of the last of them.
        broken: The first broken line, 0 for none; ``why`` names what is wrong with it.
        torn: What stands behind the last line end and was never acknowledged: a write that was cut
            off.
        newer: A newer version of the plugin wrote it.
    """

    lines: tuple[SoulLine, ...] = ()
    end: str = NO_LINE
    broken: int = 0
    why: str = ""
    torn: bytes = b""
    newer: bool = False


def digest(raw: bytes) -> str:
    """Returns the SHA-256 of bytes as it stands in the chain."""
    return hashlib.sha256(raw).hexdigest()


def written(line: SoulLine) -> bytes:
    """Returns the line as it is written, without its line end."""
    fields: dict[str, object] = {**asdict(line), "at": line.at.isoformat()}
    if line.n == 1:
        fields["format"] = FORMAT
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def read_chain(raw: bytes, role: str, head: SoulHead | None) -> Chain:
    """Returns what the bytes of a chain's file say. ``head`` is its last known line."""
    *pieces, rest = raw.split(b"\n")
    if _is_newer(pieces):
        found = _first_wrong_link(pieces, head)
        return Chain(broken=found, why="prev" if found else "", newer=not found)
    lines = _lines(pieces, role)
    good = pieces[: len(lines)]
    if found := _first_wrong_link(good, head):
        return _broken(lines, found, "prev")
    if len(lines) < len(pieces):
        return _broken(lines, len(lines) + 1, "form")
    if head and len(lines) < head.n:
        return _broken(lines, len(lines) + 1, "line end" if rest else "missing")
    return Chain(tuple(lines), digest(good[-1]) if good else NO_LINE, torn=rest)


def _broken(lines: Sequence[SoulLine], number: int, why: str) -> Chain:
    return Chain(tuple(lines[: number - 1]), broken=number, why=why)


def _lines(pieces: Sequence[bytes], role: str) -> list[SoulLine]:
    """Returns the lines up to the first that is not as we write them."""
    lines: list[SoulLine] = []
    for number, piece in enumerate(pieces, 1):
        line = _line(piece)
        if line is None or (line.n, line.role) != (number, role) or written(line) != piece:
            break
        lines.append(line)
    return lines


def _line(piece: bytes) -> SoulLine | None:
    fields = _fields(piece)
    fields.pop("format", None)
    try:
        at = datetime.fromisoformat(fields.pop("at"))
        line = SoulLine(at=at, **fields)
    except (KeyError, TypeError, ValueError):
        return None
    numbers = all(type(fields.get(name, 0)) is int for name in _NUMBERS)
    texts = all(isinstance(fields.get(name, ""), str) for name in _TEXTS)
    known = line.event in get_args(SoulEvent)
    return line if numbers and texts and known and at.tzinfo is not None else None


def _fields(piece: bytes) -> dict[str, Any]:
    """Returns the object of any format's line, empty for anything else."""
    try:
        found = json.loads(piece)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_newer(pieces: Sequence[bytes]) -> bool:
    number = _fields(pieces[0]).get("format") if pieces else None
    return type(number) is int and number > FORMAT


def _first_wrong_link(pieces: Sequence[bytes], head: SoulHead | None) -> int:
    """Returns the first line that was changed, 0 for none.

    Where a line does not name the one before it, either may have been changed. What follows tells
    whether the later one was.
    """
    named = [str(_fields(piece).get("prev")) for piece in pieces]
    hashes = [digest(piece) for piece in pieces]
    told = [*named[1:], ""]
    """Each line's hash, as the next line or the head has it; empty where neither does."""
    if head and head.n <= len(pieces):
        told[head.n - 1] = head.sha256
    if named and named[0] != NO_LINE:
        return 1
    for at in range(1, len(pieces)):
        if named[at] != hashes[at - 1]:
            return at + 1 if told[at] not in ("", hashes[at]) else at
    is_head_wrong = head and head.n <= len(pieces) and head.sha256 != hashes[head.n - 1]
    return head.n if head and is_head_wrong else 0
