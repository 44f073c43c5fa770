"""Han text to words, the likeliest way to cut it: jieba's algorithm on a dictionary in arrays.

Word for word what ``jieba.Tokenizer().lcut(text, HMM=False)`` gives, without its fifty megabytes of
dictionary, and out of reach of other plugins, who add words to jieba for the whole process.
"""

from __future__ import annotations

import math
import re

from .word_counts import WordCounts

_COMMON = re.compile("([\u4e00-\u9fd5]+)")
"""What jieba looks up; other ideographs stand for themselves."""


class Segmenter:
    """The path of the highest probability through all words of the dictionary that fit."""

    def __init__(self, words: WordCounts) -> None:
        self.words = words
        self._log_total = math.log(words.total)

    def cut(self, text: str) -> list[str]:
        """The words of a text of one script, in order; together they are the text."""
        found: list[str] = []
        for piece in _COMMON.split(text):
            if not _COMMON.match(piece):
                found += piece
                continue
            start = 0
            ends = self._ends(piece)
            while start < len(piece):
                found.append(piece[start : ends[start]])
                start = ends[start]
        return found

    def _ends(self, text: str) -> list[int]:
        """Where the best word that starts at each place ends, found from the end on."""
        along, log, log_total = self.words.along, math.log, self._log_total
        length = len(text)
        best = [0.0] * (length + 1)
        ends = [0] * length
        for start in range(length - 1, -1, -1):
            chosen, score = start + 1, -log_total + best[start + 1]  # a character that no word is
            known = False
            for end, count in enumerate(along(text, start), start + 1):
                if count:
                    own = log(count) - log_total + best[end]
                    if not known or own >= score:  # of equals the longer one
                        known, chosen, score = True, end, own
            best[start], ends[start] = score, chosen
        return ends
