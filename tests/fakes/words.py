"""An index of words that takes none: recall does without it."""

from __future__ import annotations

from collections.abc import Sequence

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.cut_texts import Tokens
from astrbot_plugin_scoped_memory.llm_memory.index.records import (
    WordMatches,
    WordQuery,
    WordRecord,
)
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer


class NoWords(Words):
    """It never opens."""

    def __init__(self) -> None:
        super().__init__(Tokenizer(use_jieba=False))

    def search(self, query: WordQuery, seen: ScopeFilter, k: int) -> WordMatches:
        raise IndexUnavailable("no test of words", code="no_numpy")

    def put(self, rows: Sequence[tuple[WordRecord, Tokens]]) -> None:
        raise IndexUnavailable("no test of words", code="no_numpy")


def keys_in(words: Words) -> set[Key]:
    """All that it finds, of whatever scope."""
    return {Key(name, one) for name, place in words._places.items() for one in place.numbers}
