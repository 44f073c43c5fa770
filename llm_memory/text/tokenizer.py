"""Text to tokens, for the index of words and what does without it alike."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from . import stop_words
from .dictionary import Segmenter, WordCounts, load_words
from .english import stem
from .scripts import Script, letters, normalise, runs

VERSION: Final = "3"
"""Of the tokens, beside the digest of the dictionary: anything that changes a token changes one of
the two."""


class _Word(NamedTuple):
    """A word as the text shows it, and the tokens it gives."""

    shown: str
    tokens: list[str]


_STOP_WORDS = stop_words.CHINESE | stop_words.ENGLISH
_STOP_PHRASES = re.compile(
    "|".join(sorted((w for w in stop_words.CHINESE if len(w) > 1), key=lambda w: (-len(w), w)))
)


class Tokenizer:
    """Words where the language shows them, single characters and bigrams where it does not.

    Han text gives jieba's words and, beside them, every single character: the words find what was
    meant, the characters what was said with another word (周会, 开周会). No token crosses from one
    script into another. Deterministic, total, thread-safe.

    jieba's dictionary is loaded at the first Han character, which takes a second unless it was
    kept: the first call, or ``load``, belongs into a thread. Nothing else of jieba is used: its own
    table of the dictionary takes fifty megabytes, and other plugins add words to it.

    Args:
        use_jieba: False cuts Han text into characters and bigrams without trying jieba.
        cache: A file of ours for the digested dictionary; see ``load_words``.
    """

    def __init__(self, *, use_jieba: bool = True, cache: Path | None = None) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._loaded = not use_jieba
        self._segmenter: Segmenter | None = None

    def load(self) -> None:
        """Read the dictionary now; blocks. Never fails: without jieba, Han text has no words."""
        self._han_segmenter()

    def close(self) -> None:
        """Free the dictionary. Han text has no words from now on."""
        with self._lock:
            self._segmenter = None
            self._loaded = True

    def dictionary(self) -> WordCounts | None:
        """Counts of Han words in jieba's own corpus; None without it.

        Blocks at the first call.
        """
        segmenter = self._han_segmenter()
        return None if segmenter is None else segmenter.words

    def tokens(self, text: str) -> list[str]:
        """The tokens of a document, in its order, with repetitions."""
        return [t for word in self._words(text) for t in word.tokens]

    def query_tokens(self, text: str) -> list[str]:
        """The tokens of a query: as ``tokens``, without what says nothing about its subject."""
        return [
            token
            for word in self._words(text, is_query=True)
            if word.shown not in _STOP_WORDS
            for token in word.tokens
            if token not in stop_words.CHINESE
        ]

    def _words(self, text: str, *, is_query: bool = False) -> Iterator[_Word]:
        for script, piece in runs(normalise(text)):
            match script:
                case Script.HAN:
                    yield from self._han_words(piece, is_query=is_query)
                case Script.LATIN:
                    yield _Word(piece, [stem(piece)])
                case Script.DIGIT | Script.SPACED:
                    yield _Word(piece, [piece])
                case Script.KATAKANA:  # a loan word, most of the time whole
                    yield _Word(piece, [*([piece] if len(piece) > 2 else []), *_grams(piece)])
                case Script.HIRAGANA | Script.HANGUL | Script.UNSPACED:
                    yield _Word(piece, _grams(piece))

    def _han_words(self, text: str, *, is_query: bool) -> Iterator[_Word]:
        segmenter = self._han_segmenter()
        if segmenter is None:
            pieces = _STOP_PHRASES.split(text) if is_query else [text]
            yield from (_Word("", _grams(piece)) for piece in pieces)
            return
        before = ""  # the word before, if it was one character
        for word in segmenter.cut(text):
            if len(word) == 1:
                yield _Word(word, [word])
                if before and not {before, word} <= stop_words.CHINESE:
                    yield _Word("", [before + word])
                before = word
            else:
                yield _Word(word, [word, *_inner_words(word, segmenter.words), *word])
                before = ""

    def _han_segmenter(self) -> Segmenter | None:
        with self._lock:
            if not self._loaded:
                self._segmenter = _load_jieba(self._cache)
                self._loaded = True
            return self._segmenter


def _inner_words(word: str, words: WordCounts) -> Iterator[str]:
    """Dictionary words of two or three characters inside a longer one, as jieba's search mode."""
    for length in (2, 3):
        if len(word) > length:
            for start in range(len(word) - length + 1):
                part = word[start : start + length]
                if words.look(part):
                    yield part


def _grams(text: str) -> list[str]:
    """Bigrams, then single characters; a letter keeps its marks."""
    single = letters(text)
    return [a + b for a, b in pairwise(single)] + single


def _load_jieba(cache: Path | None) -> Segmenter | None:
    try:
        # Found, not imported: its tables for unknown words, which we do not use, take megabytes.
        (folder,) = find_spec("jieba").submodule_search_locations  # type: ignore[union-attr,misc]
        with (Path(folder) / "dict.txt").open("rb") as file:
            segmenter = Segmenter(load_words(file, cache))
        works = segmenter.cut("忆域") != []
    except Exception:  # noqa: BLE001  (a foreign package in any state: absent, cut off, another version)
        return None
    return segmenter if works else None
