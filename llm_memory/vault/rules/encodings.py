"""Guesses the encoding of a file that is not UTF-8, for a hint to its owner."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from enum import Enum

_ASCII = bytes(range(0x80))
_HAN = re.compile("[\u4e00-\u9fff]")
_UNLIKELY = re.compile("[\x00-\x08\x80-\x9f\ue000-\uf8ff\ufffd]")
_DAMAGED_UTF8 = 0.75
"""The share of valid UTF-8 among non-ASCII bytes above which a file is damaged UTF-8."""


class Encoding(Enum):
    """What Chinese editors on Windows save as, beside UTF-8."""

    GB18030 = "gb18030"
    UTF_16 = "utf-16"


def likely_encoding(raw: bytes) -> Encoding | None:
    """Returns the encoding of a file that is not UTF-8; None for damaged UTF-8 and unknown
    encodings."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return Encoding.UTF_16 if _decoded(raw, Encoding.UTF_16) else None
    beyond = raw.translate(None, _ASCII)
    kept = raw.decode("utf-8", "ignore").encode().translate(None, _ASCII)
    if len(kept) >= _DAMAGED_UTF8 * len(beyond):
        return None
    text = _decoded(raw, Encoding.GB18030)
    is_chinese = _HAN.search(text) is not None and _UNLIKELY.search(text) is None
    return Encoding.GB18030 if is_chinese else None


def _decoded(raw: bytes, encoding: Encoding) -> str:
    """Returns the text without an incomplete last character; empty if decoding fails."""
    try:
        return getincrementaldecoder(encoding.value)().decode(raw)
    except UnicodeDecodeError:
        return ""
