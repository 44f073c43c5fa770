"""The index of words in memory: shared tokens and letters, the same contract as the real one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import (
    LexicalMatch,
    LexicalMatches,
    LexicalQuery,
    LexicalRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

_TOKENIZER = Tokenizer(use_jieba=False)


@dataclass
class Shelf:
    """What outlives an index."""

    records: dict[Key, LexicalRecord] = field(default_factory=dict)


class InMemoryLexicalIndex:
    """The port LexicalIndex."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self.shelf = shelf or Shelf()
        self._is_open = False
        self._is_closed = False

    def open(self) -> str:
        if self._is_closed:
            raise IndexUnavailable("closed", code="closed")
        self._is_open = True
        return ""

    def write(self, records: Sequence[LexicalRecord], gone: Collection[Key]) -> None:
        known = self._records()
        for key in gone:
            known.pop(key, None)
        known.update({record.key: record for record in records})

    def checkpoint_wal(self) -> None:
        self._records()

    def hashes(self) -> dict[Key, str]:
        return {key: record.content_hash for key, record in self._records().items()}

    def count(self) -> int:
        return len(self._records())

    def search(
        self,
        query: LexicalQuery,
        scope_filter: ScopeFilter,
        k: int,
        fresh: Iterable[LexicalRecord] = (),
    ) -> LexicalMatches:
        records = {**self._records(), **{record.key: record for record in fresh}}
        wanted = set(_TOKENIZER.query_tokens(query.text))
        asked = set(_TOKENIZER.query_tokens(query.subject))
        subject = set("".join(asked))
        found, holding = [], 0
        for key, record in records.items():
            said = set(_TOKENIZER.tokens(record.text))
            holding += bool(subject) and scope_filter.admits(key.scope) and asked <= said
            tokens = set(_TOKENIZER.tokens(f"{record.text} {record.context}"))
            if scope_filter.admits(key.scope) and wanted & tokens:
                letters = set("".join(tokens))
                share = len(subject & letters) / len(subject) if subject else 0.0
                found.append((len(wanted & tokens) / len(wanted), share, key))
        found.sort(key=lambda row: -row[0])
        best = found[0][0] if found else 1.0
        first = found[: max(k, 0)]
        matches = tuple(LexicalMatch(key, s / best, share) for s, share, key in first)
        return LexicalMatches(matches, holding=holding)

    def discard(self) -> None:
        self.shelf.records.clear()
        self._is_open = False

    def close(self) -> None:
        self._is_closed = True

    def _records(self) -> dict[Key, LexicalRecord]:
        if self._is_closed or not self._is_open:
            raise IndexUnavailable("closed" if self._is_closed else "not open", code="closed")
        return self.shelf.records


class NoWords(InMemoryLexicalIndex):
    """An index of words that never opens: recall does without it."""

    def open(self) -> str:
        raise IndexUnavailable("no test of words", code="busy")
