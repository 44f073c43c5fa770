"""Why a recall found what it found, in words, and as JSON."""

from __future__ import annotations

from typing import Any

from ...llm_memory import GIVEN_UP, Arm, DropReason, Explained, Hit, Primed, Told
from ...llm_memory.models.recall import Considered, Trace
from ...llm_memory.text.safe_text import safe, safe_pointer
from ...llm_memory.texts import Texts
from ..services.injection_service import hit_line

_SHOWN = 6
_PREVIEW = 40
_QUERY_SHOWN = 60
_NEAR = 3
_LEAST_SHARE = 0.05


def why_text(
    texts: Texts, explained: Explained, *, back: int = 1, admin: bool = False, detail: bool = False
) -> str:
    """A question, what was attached to it and what came close, in words that need no manual.

    Args:
        back: It is the last one, the last but one, and so on.
        admin: Who reads it may hear what a broken part says of the machine.
        detail: The way to the answer, and the best candidates with their figures.
    """
    record, trace = explained.told, explained.told.trace
    scopes = texts.say("common.and").join(trace.scopes)
    way = _way_lines(texts, trace) if detail else [texts.say("explain.looked_in", scopes=scopes)]
    notes = [_note_line(texts, note, admin=admin) for note in trace.notes]
    found = _figures(texts, explained) if detail else _plainly(texts, explained)
    return "\n".join([_asked_line(texts, record, back), *way, *notes, *found])


def _plainly(texts: Texts, explained: Explained) -> list[str]:
    say = texts.say
    lines = []
    hits = attached(explained)
    if hits:
        lines.append(say("explain.attached", count=len(hits)))
    elif GIVEN_UP not in explained.told.trace.notes:
        lines.append(say("explain.attached_none"))
    for number, hit in enumerate(hits, start=1):
        lines += [f"{number}. {hit_line(hit, texts)}", *_instead_of(texts, explained, hit)]
    near = [
        say("explain.near_line", text=hit_line(hit, texts), why=_why(texts, considered))
        for considered, hit in explained.candidates
        if considered.dropped is not None and hit is not None
    ]
    lines += [say("explain.near"), *near[:_NEAR]] if near else []
    return [*lines, say("explain.figures")]


def _figures(texts: Texts, explained: Explained) -> list[str]:
    trace, say = explained.told.trace, texts.say
    lines = []
    for considered, hit in explained.candidates[:_SHOWN]:
        lines += _candidate_lines(texts, considered, hit)
        lines += _instead_of(texts, explained, hit)
    rest = trace.candidates - min(len(explained.candidates), _SHOWN)
    if rest > 0:
        lines.append(say("explain.rest", count=rest))
    if trace.dropped:
        counts = (
            say("explain.count", fate=say(f"fate.{reason.value}"), count=count)
            for reason, count in trace.dropped.items()
        )
        lines.append(say("explain.dropped", counts=say("common.and").join(counts)))
    if not explained.candidates and GIVEN_UP not in trace.notes:
        lines.append(say("explain.no_candidates"))
    return lines


def _instead_of(texts: Texts, explained: Explained, hit: Hit | None) -> list[str]:
    gone = explained.instead_of.get(hit.memory_id) if hit is not None else None
    if not gone:
        return []
    return [texts.say("explain.instead_of", ids=texts.say("common.and").join(gone), id=gone[-1])]


def _way_lines(texts: Texts, trace: Trace) -> list[str]:
    say = texts.say
    comma = say("common.and")
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
        names = comma.join(say(f"voice.{voice}") for voice in trace.talk.voices)
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
        lines.append(say("explain.terms", score=score, terms=say("common.and").join(terms)))
    return lines


def _asked_line(texts: Texts, record: Told, back: int) -> str:
    """When was asked, and what. ``back``: it is the last one, the last but one, and so on."""
    return texts.say(
        "explain.head" if back == 1 else "explain.earlier",
        query=safe(record.query)[:_QUERY_SHOWN],
        time=f"{record.at:%m-%d %H:%M:%S}",
        back=back,
    )


def _note_line(texts: Texts, note: str, *, admin: bool) -> str:
    if note == GIVEN_UP:
        return texts.say("explain.given_up")
    # A part that is broken may name folders and addresses.
    return texts.say("explain.note", text=safe(note if admin else note.partition(":")[0]))


def primed_text(texts: Texts, primed: Primed) -> str:
    """Says which briefing the conversation got when it came back."""
    return texts.say(
        "explain.primed",
        time=f"{primed.at:%m-%d %H:%M:%S}",
        hours=f"{primed.away.total_seconds() / 3600:.1f}",
        count=primed.memories,
        tokens=primed.tokens,
    )


def attached(explained: Explained) -> list[Hit]:
    """The hits that the conversation may still see, best first."""
    return [hit for one, hit in explained.candidates if one.dropped is None and hit is not None]


def fate_text(texts: Texts, explained: Explained, memory_id: str) -> str:
    """What became of one memory in a recall; empty where it was no candidate."""
    record = explained.told
    for considered, _ in explained.candidates:
        if considered.memory_id == memory_id:
            return texts.say(
                "explain.fate",
                time=f"{record.at:%m-%d %H:%M:%S}",
                query=safe(record.query)[:_QUERY_SHOWN],
                fate=_why(texts, considered),
            )
    return ""


def _why(texts: Texts, considered: Considered) -> str:
    if considered.dropped is None:
        return texts.say("fate.hit")
    if considered.dropped is not DropReason.FLOOR:
        return texts.say(f"fate.{considered.dropped}")
    if considered.coverage < _LEAST_SHARE:
        return texts.say("explain.far")
    return texts.say("explain.share", percent=f"{considered.coverage:.0%}")


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
