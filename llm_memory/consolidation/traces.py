"""What a purged statement leaves in our files: its words and its id.."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime

from ..catalogue.rules.timeline import is_digest
from ..models.data_models import Memory
from ..models.deeds import Deed
from ..models.vault_layout import is_other_version, is_page
from ..text.normalising import same_words
from ..vault.archive import any_of
from ..vault.markdown.entry import render
from ..vault.markdown.escaping import escape_body, escape_inline
from ..vault.markdown.topic_file import parse_file


class Traces:
    """Finds purged statements in a content, and cuts them out of a file of a tree.

    Ids are looked for everywhere. So are words, but a content that has them may also have the id of
    another entry that says them, or such a line of a text: others are asked only then.

    Args:
        gone: The ids that no entry has any more.
        others: The other entries.
        texts: What else may say the same: notes, and turns since.
    """

    def __init__(
        self,
        purged: Sequence[Deed],
        gone: Collection[str],
        others: Iterable[Memory],
        texts: Iterable[str],
    ) -> None:
        self._purged = {one.number: one for one in purged}
        self._said = {(one.memory_id, same_words(one.words)) for one in purged}
        self._forms = {one.number: _forms(one.words) for one in purged}
        self._named = any_of(gone)
        self._others = others
        self._texts = texts
        self._marks: dict[int, set[bytes]] = {}
        self.uncut: set[int] = set()
        """The numbers of the statements that ``cut`` left something of."""

    def found(self, pieces: Callable[[], Iterable[bytes]]) -> set[int]:
        """Returns the numbers of the statements that left a trace in a content, which is given in
        pieces that overlap, from its beginning at each call."""
        ids, words = set[int](), set[int]()
        for piece in pieces():
            named = set(self._named.findall(piece))
            ids |= {n for n, one in self._purged.items() if one.memory_id.encode() in named}
            words |= self._words_in(piece)
        for piece in pieces() if words else ():
            words -= {n for n in words if any(mark in piece for mark in self._marks_of(n))}
        return ids | words

    def _words_in(self, piece: bytes) -> set[int]:
        return {n for n, forms in self._forms.items() if any(form in piece for form in forms)}

    def _marks_of(self, number: int) -> set[bytes]:
        if number not in self._marks:
            words = self._purged[number].words
            marks = {one.memory_id.encode() for one in self._others if words in render(one)}
            for text in self._texts:
                marks |= {line.encode() for line in text.splitlines() if words in line}
            self._marks[number] = marks
        return self._marks[number]

    def is_gone(self, memory: Memory) -> bool:
        """Returns True for an archived entry that is purged, and for a journal that repeats it."""
        repeats = is_digest(memory) and bool(self._words_in(memory.judgment.encode()))
        return repeats or (memory.memory_id, same_words(memory.judgment)) in self._said

    def cut(self, path: str, content: bytes) -> bytes | None:
        """Returns what is left of a file; None where it is no text, and nothing can be cut out."""
        if not self._named.search(content) and not self._words_in(content):
            return content
        try:
            file = parse_file(content.decode(), fallback_time=datetime.fromtimestamp(0, UTC))
        except UnicodeDecodeError:
            return None
        text = file.without(*(entry for entry in file.entries if self.is_gone(entry.memory)))
        if is_page(path) or is_other_version(path):
            lines = text.splitlines(keepends=True)
            text = "".join(line for line in lines if not self._words_in(line.encode()))
        left = self._named.sub(b"m-", text.encode())
        self.uncut |= self.found(lambda: (left,))
        return left


def _forms(words: str) -> set[bytes]:
    return {form.encode() for form in (words, escape_inline(words), escape_body(words))}
