"""Why a recall found what it found, in words; the figures stay in the status route."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ...llm_memory import GIVEN_UP, Explained, Hit, Primed
from ...llm_memory.models.recall import Considered
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from .memory_line import place_text

_NEAR = 3


def why_text(
    texts: Texts,
    explained: Explained,
    shown: Mapping[str, str],
    *,
    back: int = 1,
    admin: bool = False,
) -> str:
    """A question, what was attached to it and what came close, in words that need no manual.

    Args:
        shown: The line of each candidate that the conversation may still see, by its id.
        back: It is the last one, the last but one, and so on.
        admin: Who reads it may hear what a broken part says of the machine.
    """
    told, trace, say = explained.told, explained.told.trace, texts.say
    head = "explain.head" if back == 1 else "explain.earlier"
    lines = [say(head, query=cut(told.query), time=_moment(told.at), back=back)]
    lines += texts.counted("explain", talk=len(trace.talk.voices))
    places = dict.fromkeys(place_text(texts, name) for name in trace.scopes)
    lines.append(say("explain.looked_in", places=tuple(places)))
    for note in trace.notes:
        # A part that is broken may name folders and addresses.
        broken = safe(note if admin else note.partition(":")[0])
        code = "explain.given_up" if note == GIVEN_UP else "explain.note"
        lines.append(say(code, text=broken))
    hits = attached(explained)
    if hits or GIVEN_UP not in trace.notes:
        lines.append(say("explain.attached" if hits else "explain.attached_none", count=len(hits)))
    for number, hit in enumerate(hits, start=1):
        lines.append(f"{number}. {shown[hit.memory_id]}")
        if gone := explained.instead_of.get(hit.memory_id):
            lines.append(say("explain.instead_of", id=gone[-1]))
    near = [
        say("explain.near_line", text=shown[hit.memory_id], why=_fate(texts, considered))
        for considered, hit in explained.candidates
        if considered.dropped is not None and hit is not None
    ]
    lines += [say("explain.near"), *near[:_NEAR]] if near else []
    return "\n".join([*lines, say("explain.more")])


def primed_text(texts: Texts, primed: Primed) -> str:
    """Says which briefing the conversation got when it came back."""
    hours = f"{primed.away.total_seconds() / 3600:.1f}"
    at, count = _moment(primed.at), primed.memories
    return texts.say("explain.primed", time=at, hours=hours, count=count)


def attached(explained: Explained) -> list[Hit]:
    """The hits that the conversation may still see, best first."""
    return [hit for one, hit in explained.candidates if one.dropped is None and hit is not None]


def fate_text(texts: Texts, explained: Explained, memory_id: str) -> str:
    """What became of one memory in a recall; empty where it was no candidate."""
    told = explained.told
    fates = (_fate(texts, one) for one, _ in explained.candidates if one.memory_id == memory_id)
    fate, at = next(fates, ""), _moment(told.at)
    return texts.say("explain.fate", time=at, query=cut(told.query), fate=fate) if fate else ""


def _moment(at: datetime) -> str:
    return f"{at:%m-%d %H:%M}"


def _fate(texts: Texts, considered: Considered) -> str:
    return texts.say("fate.hit" if considered.dropped is None else f"fate.{considered.dropped}")
