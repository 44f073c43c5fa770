"""Words of a question that say nothing about what is asked for: ``data/stop_words.txt``."""

from __future__ import annotations

from .data import words_of

CHINESE = frozenset(word for word in words_of("stop_words") if not word.isascii())
ENGLISH = frozenset(word for word in words_of("stop_words") if word.isascii())
