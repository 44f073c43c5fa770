"""Why a recall found what it found, in words, and as JSON."""

from __future__ import annotations

from typing import Any

from ...llm_memory import GIVEN_UP, Arm, Explained, Hit, Primed, Told
from ...llm_memory.models.recall import Considered, Trace
from ...llm_memory.text.safe_text import safe, safe_pointer
from ..texts import Texts

_SHOWN = 6
_PREVIEW = 40
QUERY_SHOWN = 60


def why_text(texts: Texts, explained: Explained, *, back: int = 1, admin: bool = False) -> str:
    """A question, the way to its answer, and the best candidates, one a line.

    Args:
        back: It is the last one, the last but one, and so on.
        admin: Who reads it may hear what a broken part says of the machine.
    """
    record, trace, say = explained.told, explained.told.trace, texts.say
    lines = [asked_line(texts, record, back), *_way_lines(texts, trace)]
    lines += [note_line(texts, note, admin=admin) for note in trace.notes]
    for considered, hit in explained.candidates[:_SHOWN]:
        lines += _candidate_lines(texts, considered, hit)
        if hit is not None and (gone := explained.instead_of.get(hit.memory_id)):
            ids = say("private.and").join(gone)
            lines.append(say("explain.instead_of", ids=ids, id=gone[-1]))
    rest = trace.candidates - min(len(explained.candidates), _SHOWN)
    if rest > 0:
        lines.append(say("explain.rest", count=rest))
    if trace.dropped:
        counts = (
            say("explain.count", fate=say(f"fate.{reason.value}"), count=count)
            for reason, count in trace.dropped.items()
        )
        lines.append(say("explain.dropped", counts=say("private.and").join(counts)))
    if not explained.candidates and GIVEN_UP not in trace.notes:
        lines.append(say("explain.no_candidates"))
    return "\n".join(lines)


def _way_lines(texts: Texts, trace: Trace) -> list[str]:
    """How the answer was found."""
    say = texts.say
    comma = say("private.and")
    lines = [
        say(
            "explain.way",
            arm=say(f"arm.{trace.arm}"),
            scopes=comma.join(trace.scopes),
            weight=f"{trace.dense_weight:.2f}",
            tokens=trace.tokens,
            ms=f"{sum(trace.milliseconds.values()):.0f}",
        )
    ]
    if trace.reranker:
        lines.append(say("explain.reranker", name=safe(trace.reranker)))
    if trace.topics:
        names = comma.join(f"{name}.md" for name in trace.topics)
        lines.append(say("explain.topics", names=names))
    if trace.talk.voices:
        names = comma.join(say(f"talk.{voice}") for voice in trace.talk.voices)
        lines.append(say("explain.carried" if trace.talk.carried else "explain.talk", names=names))
    if trace.chance is not None:
        lines.append(say("explain.chance", percent=f"{trace.chance:.0%}"))
    return lines


def _candidate_lines(texts: Texts, considered: Considered, hit: Hit | None) -> list[str]:
    """One candidate: what became of it, its figures, and the terms of its score."""
    say = texts.say
    reason = "hit" if considered.dropped is None else considered.dropped.value
    lines = [
        say(
            "explain.line",
            fate=say(f"fate.{reason}"),
            text=_shown(texts, hit),
            coverage=f"{considered.coverage:.2f}",
            lexical=_number(considered.lexical),
            similarity=_number(considered.similarity),
        )
    ]
    if considered.terms:
        terms = (f"{say(f'term.{n}')} {v:.2f}" for n, v in considered.terms.items() if v)
        score = f"{sum(considered.terms.values()):.2f}"
        lines.append(say("explain.terms", score=score, terms=say("private.and").join(terms)))
    return lines


def asked_line(texts: Texts, record: Told, back: int) -> str:
    """When was asked, and what. ``back``: it is the last one, the last but one, and so on."""
    return texts.say(
        "explain.head" if back == 1 else "explain.earlier",
        query=safe(record.query)[:QUERY_SHOWN],
        time=f"{record.at:%m-%d %H:%M:%S}",
        back=back,
    )


def note_line(texts: Texts, note: str, *, admin: bool) -> str:
    """What went wrong in a recall."""
    if note == GIVEN_UP:
        return texts.say("explain.given_up")
    # A part that is broken may name folders and addresses.
    return texts.say("explain.note", text=safe(note if admin else note.partition(":")[0]))


def primed_text(texts: Texts, primed: Primed) -> str:
    """That the conversation was told where things stand when it came back."""
    return texts.say(
        "explain.primed",
        time=f"{primed.at:%m-%d %H:%M:%S}",
        hours=f"{primed.away.total_seconds() / 3600:.1f}",
        count=primed.memories,
        tokens=primed.tokens,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _shown(texts: Texts, hit: Hit | None) -> str:
    if hit is None:
        return texts.say("explain.gone")
    text = safe(hit.preview)
    short = text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 1]}…"
    return texts.say("explain.candidate", text=short, pointer=safe_pointer(hit.pointer))


def record_json(record: Told) -> dict[str, Any]:
    """One recall for the panel: ids and scores, no word of a memory or a question."""
    trace = record.trace
    return {
        "conversation": record.conversation,
        "at": record.at.isoformat(),
        "scopes": list(trace.scopes),
        "arm": Arm(trace.arm).value,
        "dense_weight": trace.dense_weight,
        "tokens": trace.tokens,
        "chance": trace.chance,
        "reranker": trace.reranker,
        "topics": list(trace.topics),
        "talk": {"voices": list(trace.talk.voices), "carried": trace.talk.carried},
        "milliseconds": {name: round(ms, 2) for name, ms in trace.milliseconds.items()},
        "dropped": {reason.value: count for reason, count in trace.dropped.items()},
        "notes": list(trace.notes),
        "candidates": [
            {
                "scope": one.scope_name,
                "id": one.memory_id,
                "lexical": one.lexical,
                "coverage": round(one.coverage, 4),
                "similarity": one.similarity,
                "score": round(one.score, 6),
                "terms": {name: round(value, 4) for name, value in one.terms.items()},
                "reranked": one.reranked,
                "dropped": None if one.dropped is None else one.dropped.value,
            }
            for one in trace.considered
        ],
    }
