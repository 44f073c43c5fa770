"""Deterministic embedding vectors."""

import base64
import hashlib
import math
from array import array

from ..llm_memory.recall.embedder_trust import probes

_UNDERSTOOD = {
    text: f"{language}-{number}"
    for language, pairs in probes().items()
    for number, pair in enumerate(pairs)
    for text in pair
}
"""What the plugin asks to see whether a model understands what it reads: this one does."""


def vector(text: str, dimensions: int) -> list[float]:
    """A unit vector of hashed characters and character pairs: like texts lie near each other."""
    values = [0.0] * dimensions
    pairs = [text[i : i + 2] for i in range(len(text) - 1)]
    meaning = _UNDERSTOOD.get(text)
    for token in [*text, *pairs] if meaning is None else [meaning]:
        digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
        index = int.from_bytes(digest[:6], "big") % dimensions
        values[index] += 1.0 if digest[6] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in values))
    if length == 0.0:
        values[0] = length = 1.0
    return [value / length for value in values]


def base64_floats(values: list[float]) -> str:
    """The `encoding_format=base64` form that OpenAI clients ask for."""
    return base64.b64encode(array("f", values).tobytes()).decode()
