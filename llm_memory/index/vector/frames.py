"""Messages over a pipe between us and a child of ours: a head of JSON, and bytes behind it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

_LENGTHS: Final = struct.Struct("<II")
"""Bytes of the head and of the body."""
_MOST: Final = 1 << 28
"""Bytes of either. More is no message of ours."""
GREETING: Final = b"\x00scoped-memory-frames-1\n"
"""What a child sends before its first message. Whatever was printed before is passed over."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. ``head`` is what JSON can say, ``body`` what it had better not."""

    head: Mapping[str, Any]
    body: bytes = b""


def write_frame(stream: BinaryIO, frame: Frame) -> None:
    """Send it, whole. Raises OSError (or ValueError for a closed stream): the other end is gone."""
    head = json.dumps(frame.head, separators=(",", ":")).encode()
    stream.write(_LENGTHS.pack(len(head), len(frame.body)))
    stream.write(head)
    stream.write(frame.body)
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next message, None where there is no whole one any more. Blocks."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_bytes, body_bytes = _LENGTHS.unpack(lengths)
    if max(head_bytes, body_bytes) > _MOST:
        return None
    head, body = stream.read(head_bytes), stream.read(body_bytes)
    if len(head) < head_bytes or len(body) < body_bytes:
        return None
    return Frame(json.loads(head), body)


def await_hello(stream: BinaryIO) -> bool:
    """Read on until the greeting is over. False if there is none to come. Blocks."""
    seen = b""
    while not seen.endswith(GREETING):
        byte = stream.read(1)
        if not byte:
            return False
        seen = (seen + byte)[-len(GREETING) :]
    return True
