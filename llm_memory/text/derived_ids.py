"""Ids that are told from what a memory says: brought again, it is known again."""

from __future__ import annotations

import base64
import hashlib

_BYTES = 15
"""24 characters of base32: no id of ours that tells a time has as many."""


def derived_id(prefix: str, *parts: str) -> str:
    """``<prefix>-`` and 24 characters of lower-case base32, the same for the same parts."""
    text = "".join(f"{len(part)}:{part}" for part in parts)
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
    return f"{prefix}-{base64.b32encode(raw).decode().lower()}"
