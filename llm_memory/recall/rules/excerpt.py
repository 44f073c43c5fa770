"""The part of a long text that has the most to do with a question."""

from __future__ import annotations

import re
from itertools import islice

from ...text.normalising import one_line, preview
from ...text.overlap import pieces
from ...text.scripts import fold

_END = re.compile(r"[。！？!?；;\n]+\s*|\.\s+")
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
    starts = [0, *islice((end.end() for end in _END.finditer(text, 0, _MOST)), _MOST_STARTS)]
    shown = [one_line(text[start : start + 2 * limit])[: limit + 1] for start in starts]
    scores = [
        sum(w for piece, w in wanted.items() if piece in window) for window in map(fold, shown)
    ]
    best = max(scores)
    first = scores.index(best)
    while best and scores[first + 1 : first + 2] == [best]:
        first += 1
    return preview("…" + shown[first] if first else whole, limit)
