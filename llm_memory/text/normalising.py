"""Small pure functions over texts."""

from __future__ import annotations

import base64
import hashlib
import re

from ..models.data_models import Memory
from .scripts import WIDE, fold, simplified

# Controls but tab and newline; zero-width space, word joiner, byte order mark; direction overrides;
# tag characters (they smuggle invisible text); lone surrogates. Joiners stay: emoji and
# several scripts are written with them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
ELLIPSIS = "…"
_LATIN_CHARS_PER_TOKEN = 4
SENTENCE_ENDS = re.compile(r"(?<=[。！？；!?;\n])|(?<=\.)(?=\s)")
"""Where a text is cut into sentences, each with the sign that ends it."""


def clean(text: str) -> str:
    """``text`` without invisible characters, line ends as ``\\n``, blanks trimmed at both ends."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def without_controls(text: str) -> str:
    """``text`` as it is read from a file of a person's: without control characters, which no line
    end or tab is among. The file keeps them."""
    return _CONTROLS.sub("", text)


def is_sendable(text: str) -> bool:
    """False for half surrogate pairs: no request, file or reply could carry them."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def one_line(text: str) -> str:
    """All white space folded to single spaces."""
    return " ".join(text.split())


def normalise(text: str) -> str:
    """The letters and digits of a text, NFKC, lower case: empty where it says nothing."""
    return "".join(character for character in fold(text) if character.isalnum())


def same_words(text: str) -> str:
    """What two texts are compared by before one of them is not stored.

    All but the script, the width of blanks and a full stop at the end: signs (3.5 and 35, C++ and
    C#) and case (a password) mean something.
    """
    return one_line(simplified(text)).rstrip("。.!！ ")


def preview(text: str, limit: int) -> str:
    """``text`` on one line, at most ``limit`` characters, cut with an ellipsis."""
    line = one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)] + ELLIPSIS


def estimate_tokens(text: str) -> int:
    """About what a prompt pays: one a Han, kana or Hangul character, one per four others.

    An estimate on the high side of common tokenizers; a real one would fetch its vocabulary from
    the internet at first use.
    """
    wide = len(WIDE.findall(text))
    return wide + -(-(len(text) - wide) // _LATIN_CHARS_PER_TOKEN)


def embedded_text(memory: Memory) -> str:
    """What is embedded of a memory, in one script: speaker, judgment and tags.

    The speaker as a prefix makes "what did X say" findable; the reasoning would dilute the vector.
    """
    who = f"{memory.provenance.who}: " if memory.provenance.who else ""
    tags = f" {' '.join(memory.tags)}" if memory.tags else ""
    return one_line(simplified(f"{who}{memory.judgment}{tags}"))


def content_hash(text: str) -> str:
    """SHA-256 of ``text``, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def derived_id(prefix: str, *parts: str) -> str:
    """``<prefix>-`` and 24 characters of lower-case base32, the same for the same parts.

    What is brought again is recognised by it. No id of ours that is made of a time is as long.
    """
    text = "".join(f"{len(part)}:{part}" for part in parts)
    raw = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=15).digest()
    return f"{prefix}-{base64.b32encode(raw).decode().lower()}"
