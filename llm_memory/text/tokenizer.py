"""Text to tokens, for the index of words and what does without it alike."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Final

from . import stop_words
from .dictionary import Segmenter, WordCounts, load_words
from .english import stem
from .scripts import Script, letters, normalise, runs

VERSION: Final = "3"
"""Of the tokens, beside the digest of the dictionary: anything that changes a token changes one of
the two."""


type _Word = tuple[str, list[str]]
"""A word as the text shows it, empty for none, and the tokens it gives."""
_STOP_WORDS = stop_words.CHINESE | stop_words.ENGLISH
_PHRASES = sorted((word for word in stop_words.CHINESE if len(word) > 1), key=len, reverse=True)
_STOP_PHRASES = re.compile("|".join(_PHRASES))


class Tokenizer:
    """Words where the language shows them, single characters and bigrams where it does not.

    Han text gives jieba's words and, beside them, every single character: the words find what was
    meant, the characters what was said with another word (周会, 开周会). No token crosses from one
    script into another. Deterministic, total, thread-safe.

    jieba's dictionary is loaded at the first Han character, which takes a second unless it was
    kept: the first call belongs into a thread. Nothing else of jieba is used: its own
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
        return [token for _, tokens in self._words(text) for token in tokens]

    def query_tokens(self, text: str) -> list[str]:
        """The tokens of a query: as ``tokens``, without what says nothing about its subject."""
        if self._han_segmenter() is None:
            text = _STOP_PHRASES.sub(" ", normalise(text))
        return [
            token
            for shown, tokens in self._words(text)
            if shown not in _STOP_WORDS
            for token in tokens
            if token not in stop_words.CHINESE
        ]

    def _words(self, text: str) -> Iterator[_Word]:
        for script, piece in runs(normalise(text)):
            match script:
                case Script.HAN if segmenter := self._han_segmenter():
                    yield from _han_words(piece, segmenter)
                case Script.HAN:
                    yield "", _grams(piece)
                case Script.LATIN:
                    yield piece, [stem(piece)]
                case Script.DIGIT | Script.SPACED:
                    yield piece, [piece]
                case Script.KATAKANA:  # a loan word, most of the time whole
                    yield piece, [*([piece] if len(piece) > 2 else []), *_grams(piece)]
                case Script.HIRAGANA | Script.HANGUL | Script.UNSPACED:
                    yield piece, _grams(piece)

    def _han_segmenter(self) -> Segmenter | None:
        with self._lock:
            if not self._loaded:
                self._segmenter = _load_jieba(self._cache)
                self._loaded = True
            return self._segmenter


def _han_words(text: str, segmenter: Segmenter) -> Iterator[_Word]:
    before = ""  # the word before, if it was one character
    for word in segmenter.cut(text):
        if len(word) > 1:
            yield word, [word, *_inner_words(word, segmenter.words), *word]
            before = ""
            continue
        yield word, [word]
        if before and not {before, word} <= stop_words.CHINESE:
            yield "", [before + word]
        before = word


def _inner_words(word: str, words: WordCounts) -> Iterator[str]:
    """Dictionary words of two or three characters inside a longer one, as jieba's search mode."""
    parts = (word[at : at + n] for n in (2, 3) if len(word) > n for at in range(len(word) - n + 1))
    return (part for part in parts if words.look(part))


def _grams(text: str) -> list[str]:
    """Bigrams, then single characters; a letter keeps its marks."""
    single = letters(text)
    return [a + b for a, b in pairwise(single)] + single


def _load_jieba(cache: Path | None) -> Segmenter | None:
    try:
        # Found, not imported: its tables for unknown words, which we do not use, take megabytes.
        (folder,) = find_spec("jieba").submodule_search_locations  # type: ignore[union-attr,misc]
        with (Path(folder) / "dict.txt").open("rb") as file:
            return Segmenter(load_words(file, cache))
    except Exception:  # noqa: BLE001  (a foreign package in any state: absent, cut off, another version)
        return None
