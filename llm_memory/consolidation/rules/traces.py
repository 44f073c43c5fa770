"""What a purged statement would leave in a file: its words as a file may hold them, and its id.
Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from ...models.data_models import Memory
from ...models.deeds import Deed
from ...vault.markdown.entry import render
from ...vault.markdown.escaping import escape_body, escape_inline

_ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-16-be", "gb18030")
"""Those that editors write; the bot reads the first one only."""
_COMMON: Final = 100
"""Words with so many marks of others that say them are looked for nowhere: they tell nothing."""

type _Numbers = dict[bytes, set[int]]


class Traces:
    """Finds purged statements in the contents of a file.

    The ids are looked for everywhere. So are the words, but in a content that also has one of the
    others that say them: the id or the whole words of an entry, the line of a text.

    Args:
        gone: The ids that no entry has any more.
        living: The other entries.
        texts: What else may say the same: notes, and turns since.
    """

    def __init__(
        self,
        purged: Iterable[Deed],
        gone: Collection[str],
        living: Sequence[Memory] = (),
        texts: Iterable[str] = (),
    ) -> None:
        self._words: _Numbers = {}
        self._ids: _Numbers = {}
        self._others: _Numbers = {}
        """What a content has that may say the words of these, too."""
        self._longer = _longer_ids(gone, [one.memory_id for one in living])
        said = list(_said(living, texts))
        everything = "\n".join(text for text, _ in said)
        for one in purged:
            if one.memory_id in gone:
                _add(self._ids, {one.memory_id}, one.number)
            others: set[str] = set()
            if one.words in everything:
                others |= {mark for text, mark in said if one.words in text}
            if len(others) < _COMMON:
                _add(self._words, _forms(one.words), one.number)
                for other in others:
                    _add(self._others, _forms(other), one.number)

    def in_pieces(self, pieces: Iterable[bytes]) -> set[int]:
        """Returns the numbers of the corrections that left a trace in a content, given in pieces
        that overlap."""
        ids: set[int] = set()
        words: set[int] = set()
        others: set[int] = set()
        for piece in pieces:
            ids |= _found(self._ids, self._without_longer(piece))
            words |= _found(self._words, piece)
            others |= _found(self._others, piece)
        return ids | words - others

    def in_bytes(self, content: bytes) -> set[int]:
        """The same of a whole content."""
        return self.in_pieces((content,))

    def _without_longer(self, piece: bytes) -> bytes:
        for longer in self._longer:
            piece = piece.replace(longer, b"")
        return piece


def _said(living: Iterable[Memory], texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields what others say, each with what a content has that says it."""
    for memory in living:
        yield render(memory), memory.memory_id
        yield memory.judgment, memory.judgment
    for text in texts:
        for line in text.splitlines():
            yield line, line


def _longer_ids(gone: Collection[str], living: Iterable[str]) -> list[bytes]:
    """Returns the ids in use that begin with one that is gone: a person may have made them up."""
    lengths = {len(name) for name in gone}
    return [
        name.encode(encoding)
        for name in living
        if any(name[:length] in gone for length in lengths if length < len(name))
        for encoding in _ENCODINGS[:3]
    ]


def _add(numbers: _Numbers, forms: Iterable[str], number: int) -> None:
    for form in forms:
        for encoding in _ENCODINGS:
            content = form.encode(encoding, errors="replace")
            numbers.setdefault(content, set()).add(number)


def _found(numbers: _Numbers, piece: bytes) -> set[int]:
    return {number for content, some in numbers.items() if content in piece for number in some}


def _forms(words: str) -> set[str]:
    """Returns the words as they are, as Markdown has them, and both as JSON has them."""
    plain = {words, escape_inline(words), escape_body(words)}
    return plain | {
        json.dumps(form, ensure_ascii=ascii_only)[1:-1]
        for form in plain
        for ascii_only in (False, True)
    }
