"""Why a recall found what it found, in words that need no manual."""

from __future__ import annotations

from ...llm_memory import GIVEN_UP, DropReason, Explained, Hit
from ...llm_memory.models.recall import Considered
from ...llm_memory.text.safe_text import safe
from ..services.injection_service import hit_line
from ..texts import Texts
from .explanation import QUERY_SHOWN, asked_line, note_line

_NEAR = 3
_LEAST_SHARE = 0.05


def plain_why_text(texts: Texts, explained: Explained, *, back: int = 1, admin: bool) -> str:
    """What was attached, numbered, and what came close and why it was not.

    Args:
        back: It is the last one, the last but one, and so on.
        admin: Who reads it may hear what a broken part says of the machine.
    """
    record, say = explained.told, texts.say
    comma = say("private.and")
    lines = [
        asked_line(texts, record, back),
        say("explain.looked_in", scopes=comma.join(record.trace.scopes)),
        *(note_line(texts, note, admin=admin) for note in record.trace.notes),
    ]
    hits = attached(explained)
    if hits:
        lines.append(say("explain.attached", count=len(hits)))
    elif GIVEN_UP not in record.trace.notes:
        lines.append(say("explain.attached_none"))
    for number, hit in enumerate(hits, start=1):
        lines.append(f"{number}. {hit_line(hit, texts)}")
        if gone := explained.instead_of.get(hit.memory_id):
            lines.append(say("explain.instead_of", ids=comma.join(gone), id=gone[-1]))
    near = [
        (considered, hit)
        for considered, hit in explained.candidates
        if considered.dropped is not None and hit is not None
    ]
    if near:
        lines.append(say("explain.near"))
        lines += [
            say("explain.near_line", text=hit_line(hit, texts), why=_why(texts, considered))
            for considered, hit in near[:_NEAR]
        ]
    lines.append(say("explain.figures"))
    return "\n".join(lines)


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
                query=safe(record.query)[:QUERY_SHOWN],
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
