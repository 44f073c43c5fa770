"""The recalls of the parts of one message, as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from ..models.recall import DropReason, Hit, Recall, Trace


def joined(recalls: Sequence[Recall], limit: int) -> Recall:
    """The best of each part, then the second of each, once each, at most ``limit``."""
    hits: dict[tuple[str, str], Hit] = {}
    for hit in chain.from_iterable(zip_longest(*(recall.hits for recall in recalls))):
        if hit is not None:
            hits.setdefault((hit.scope_name, hit.memory_id), hit)
    shown = tuple(hits.values())[:limit]
    return Recall(shown, _trace([recall.trace for recall in recalls], shown, len(hits)))


def _trace(traces: Sequence[Trace], shown: Sequence[Hit], found: int) -> Trace:
    """Sums, and the decision on the part that is answered best."""
    best = max(traces, key=lambda trace: trace.chance or 0.0)
    dropped: Counter[DropReason] = Counter()
    milliseconds: Counter[str] = Counter()
    for trace in traces:
        dropped.update(trace.dropped)
        milliseconds.update(trace.milliseconds)
    dropped[DropReason.LIMIT] += found - len(shown)
    return replace(
        best,
        candidates=sum(trace.candidates for trace in traces),
        considered=tuple(chain.from_iterable(trace.considered for trace in traces)),
        tokens=sum(hit.tokens for hit in shown),
        dropped={reason: count for reason, count in dropped.items() if count},
        milliseconds=dict(milliseconds),
        notes=tuple(dict.fromkeys(chain.from_iterable(trace.notes for trace in traces))),
        topics=tuple(dict.fromkeys(chain.from_iterable(trace.topics for trace in traces))),
        talk=traces[0].talk,
    )
