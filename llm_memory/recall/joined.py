"""The recalls of a message and of its parts, as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from ..models.recall import Considered, DropReason, Hit, Recall, Trace


def joined(recalls: Sequence[Recall], limit: int, token_budget: int) -> Recall:
    """The best of each, then the second of each, once each, at most ``limit``, what fits."""
    hits: dict[tuple[str, str], Hit] = {}
    for hit in chain.from_iterable(zip_longest(*(recall.hits for recall in recalls))):
        if hit is not None:
            hits.setdefault((hit.scope_name, hit.memory_id), hit)
    shown: list[Hit] = []
    for hit in hits.values():
        if len(shown) < limit and hit.tokens <= token_budget:
            shown.append(hit)
            token_budget -= hit.tokens
    traces = [recall.trace for recall in recalls]
    return Recall(tuple(shown), _trace(traces, shown, len(hits)))


def _trace(traces: Sequence[Trace], shown: Sequence[Hit], found: int) -> Trace:
    """Sums, and the decision on the part that is answered best."""
    best = max(traces, key=lambda trace: trace.chance or 0.0)
    dropped: Counter[DropReason] = Counter()
    milliseconds: Counter[str] = Counter()
    for trace in traces:
        dropped.update(trace.dropped)
        milliseconds.update(trace.milliseconds)
    dropped[DropReason.LIMIT] += found - len(shown)
    names = {(hit.scope_name, hit.memory_id) for hit in shown}
    considered: dict[tuple[str, str], Considered] = {}
    for one in sorted(chain.from_iterable(t.considered for t in traces), key=_is_dropped):
        name = one.scope_name, one.memory_id
        left = one.dropped is None and name not in names
        considered.setdefault(name, replace(one, dropped=DropReason.LIMIT) if left else one)
    return replace(
        best,
        candidates=sum(trace.candidates for trace in traces),
        considered=tuple(considered.values()),
        tokens=sum(hit.tokens for hit in shown),
        dropped={reason: count for reason, count in dropped.items() if count},
        milliseconds=dict(milliseconds),
        notes=tuple(dict.fromkeys(chain.from_iterable(trace.notes for trace in traces))),
        topics=tuple(dict.fromkeys(chain.from_iterable(trace.topics for trace in traces))),
        talk=traces[0].talk,
        holding=0,  # of the words of one part
    )


def _is_dropped(one: Considered) -> bool:
    return one.dropped is not None
