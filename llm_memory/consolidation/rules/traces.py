"""What a purged statement would leave in a file: its words as a file may hold them, and its id.
Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Final

from ...models.corrections import Correction
from ...vault.markdown.entry import ID_PATTERN
from ...vault.markdown.escaping import escape_body, escape_inline

_ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be", "gb18030")
"""Those that editors write; the bot reads the first one only."""
_ID: Final = re.compile(ID_PATTERN.encode())


class Traces:
    """Finds purged statements in the bytes of a file.

    Args:
        gone: The ids that no entry has any more.
        kept: What other entries, notes and turns say: what they say as well is nobody's trace.
    """

    def __init__(self, purged: Iterable[Correction], gone: Collection[str], kept: str) -> None:
        self._words: dict[bytes, set[int]] = {}
        self._ids: dict[bytes, set[int]] = {}
        for one in purged:
            if one.words not in kept:
                for form in _forms(one.words):
                    for encoding in _ENCODINGS:
                        content = form.encode(encoding, errors="replace")
                        self._words.setdefault(content, set()).add(one.number)
            if one.memory_id in gone:
                self._ids.setdefault(one.memory_id.encode(), set()).add(one.number)

    def in_bytes(self, content: bytes) -> set[int]:
        """Returns the numbers of the corrections that left a trace."""
        found = {number for word, some in self._words.items() if word in content for number in some}
        if self._ids:
            for name in set(_ID.findall(content)) & self._ids.keys():
                found |= self._ids[name]
        return found

    def in_text(self, text: str) -> set[int]:
        """The same of a text."""
        return self.in_bytes(text.encode(errors="replace"))


def _forms(words: str) -> set[str]:
    """Returns the words as they are, as Markdown has them, and both as JSON has them."""
    plain = {words, escape_inline(words), escape_body(words)}
    return plain | {
        json.dumps(form, ensure_ascii=ascii_only)[1:-1]
        for form in plain
        for ascii_only in (False, True)
    }
