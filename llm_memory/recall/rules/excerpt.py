"""The part of a long text that has the most to do with a question."""

from __future__ import annotations

import re

from ...text.normalising import one_line, preview
from ...text.overlap import pieces
from ...text.scripts import fold

_SENTENCE = re.compile(r"[^。！？!?；;\n]*?(?:[。！？!?；;\n]+|\.(?=\s)|$)")
_MOST = 20_000
"""Characters looked at: a table may be a megabyte."""
_MOST_STARTS = 200


def excerpt(text: str, query: str, limit: int) -> str:
    """At most ``limit`` characters of ``text`` on one line, from the beginning of a sentence on:
    the first place that shows most of the query, and what follows on it. The beginning of the
    text, where nothing in it has to do with the query.
    """
    whole = one_line(text[:_MOST])
    if len(whole) <= limit:
        return preview(text, limit)
    wanted = pieces(query)
    sentences = [one_line(sentence) for sentence in _SENTENCE.findall(text[:_MOST])]
    sentences = [sentence for sentence in sentences if sentence][:_MOST_STARTS]
    scores = []
    for number in range(len(sentences)):
        window = fold(_from(sentences, number, limit))
        scores.append(sum(weight for piece, weight in wanted.items() if piece in window))
    best = max(scores, default=0)
    start = scores.index(best) if best else 0
    while best and start + 1 < len(scores) and scores[start + 1] == best:
        start += 1
    if start == 0:
        return preview(whole, limit)
    return preview("…" + _from(sentences, start, limit), limit)


def _from(sentences: list[str], start: int, limit: int) -> str:
    """The sentences from one on, as many as are begun within ``limit`` characters."""
    window = ""
    for sentence in sentences[start:]:
        if len(window) > limit:
            break
        window += f" {sentence}" if window else sentence
    return window[: limit + 1]
