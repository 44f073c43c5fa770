"""What a purged statement leaves in our files: its words and its id. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from ...catalogue.rules.timeline import is_digest
from ...models.data_models import Memory
from ...models.deeds import Deed
from ...models.vault_layout import is_other_version, is_page
from ...text.normalising import same_words
from ...vault.archive import any_of
from ...vault.markdown.entry import render
from ...vault.markdown.escaping import escape_body, escape_inline
from ...vault.markdown.topic_file import parse_file

_NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Traces:
    """Finds purged statements in a content, and cuts them out of a file of a tree.

    The ids are looked for everywhere. So are the words; where they are found, the content may hold
    them for what others say: it has the id or the whole words of such an entry, or the line of such
    a text.

    Args:
        gone: The ids that no entry has any more.
        others: The other entries.
        texts: What else may say the same: notes, and turns since.
        tells: True for words that repeat a purged statement.
    """

    def __init__(
        self,
        purged: Sequence[Deed],
        gone: Collection[str],
        others: Sequence[Memory],
        texts: Sequence[str],
        tells: Callable[[str], bool],
    ) -> None:
        self._purged = {one.number: one for one in purged}
        self._said = {(one.memory_id, same_words(one.words)) for one in purged}
        self._forms = {one.number: _forms(one.words) for one in purged}
        self._numbers: dict[bytes, set[int]] = {}
        for one in purged:
            self._numbers.setdefault(one.memory_id.encode(), set()).add(one.number)
        self._named = any_of(gone)
        self._others = others
        self._texts = texts
        self._tells = tells
        self._marks: dict[int, set[bytes]] = {}

    def found(self, pieces: Callable[[], Iterable[bytes]]) -> set[int]:
        """Returns the numbers of the statements that left a trace in a content, which is given in
        pieces that overlap, from its beginning at each call."""
        ids, words = set[int](), set[int]()
        for piece in pieces():
            ids.update(*(self._numbers[found] for found in self._named.findall(piece)))
            words.update(n for n, forms in self._forms.items() if any(f in piece for f in forms))
        excused = set[int]()
        for piece in pieces() if words else ():
            excused.update(n for n in words if any(mark in piece for mark in self._marks_of(n)))
        return ids | words - excused

    def _marks_of(self, number: int) -> set[bytes]:
        """Returns what a content has in which others say the words of a statement."""
        if number not in self._marks:
            words, found = self._purged[number].words, set[str]()
            for memory in self._others:
                if words in render(memory):
                    found |= {memory.memory_id, *_whole(memory.judgment, words)}
            for text in self._texts:
                found |= {line for line in text.splitlines() if words in line}
            self._marks[number] = set[bytes]().union(*map(_forms, found))
        return self._marks[number]

    def cut(self, path: str, content: bytes) -> bytes | None:
        """Returns what is left of a file; None where it is no text, and nothing can be cut out."""
        if not self._has_any(content):
            return content
        try:
            file = parse_file(content.decode(), fallback_time=_NO_TIME)
        except UnicodeDecodeError:
            return None
        text = file.without(*(entry for entry in file.entries if self._is_gone(entry.memory)))
        if is_page(path) or is_other_version(path):
            has_none = (t for t in text.splitlines(keepends=True) if not self._has_any(t.encode()))
            text = "".join(has_none)
        return self._named.sub(b"m-", text.encode())

    def _has_any(self, content: bytes) -> bool:
        named = self._named.search(content) is not None
        return named or any(form in content for forms in self._forms.values() for form in forms)

    def _is_gone(self, memory: Memory) -> bool:
        if (memory.memory_id, same_words(memory.judgment)) in self._said:
            return True
        return is_digest(memory) and self._tells(memory.judgment)


def _whole(text: str, words: str) -> set[str]:
    return {text} if words in text else set()


def _forms(words: str) -> set[bytes]:
    """Returns the words as they are, and as Markdown has them."""
    return {form.encode() for form in (words, escape_inline(words), escape_body(words))}
