"""Why a recall found what it found, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ...llm_memory import GIVEN_UP, DropReason, Explained, Hit, Primed, Told
from ...llm_memory.models.recall import Considered
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from .memory_line import place_text

_NEAR = 3
_LEAST_SHARE = 0.05


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
    record, trace, say = explained.told, explained.told.trace, texts.say
    places = dict.fromkeys(place_text(texts, name) for name in trace.scopes)
    lines = [
        _asked_line(texts, record, back),
        *([say("explain.talk")] if trace.talk.voices else []),
        say("explain.looked_in", places=say("common.and").join(places)),
        *(_note_line(texts, note, admin=admin) for note in trace.notes),
    ]
    hits = attached(explained)
    if hits:
        lines.append(say("explain.attached", count=len(hits)))
    elif GIVEN_UP not in trace.notes:
        lines.append(say("explain.attached_none"))
    for number, hit in enumerate(hits, start=1):
        lines.append(f"{number}. {shown[hit.memory_id]}")
        if gone := explained.instead_of.get(hit.memory_id):
            lines.append(say("explain.instead_of", id=gone[-1]))
    near = [
        say("explain.near_line", text=shown[hit.memory_id], why=_why(texts, considered))
        for considered, hit in explained.candidates
        if considered.dropped is not None and hit is not None
    ]
    lines += [say("explain.near"), *near[:_NEAR]] if near else []
    return "\n".join([*lines, say("explain.more")])


def _moment(at: datetime) -> str:
    return f"{at:%m-%d %H:%M}"


def _asked_line(texts: Texts, record: Told, back: int) -> str:
    """When was asked, and what. ``back``: it is the last one, the last but one, and so on."""
    return texts.say(
        "explain.head" if back == 1 else "explain.earlier",
        query=cut(record.query),
        time=_moment(record.at),
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
        time=_moment(primed.at),
        hours=f"{primed.away.total_seconds() / 3600:.1f}",
        count=primed.memories,
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
                time=_moment(record.at),
                query=cut(record.query),
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
