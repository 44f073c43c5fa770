"""A memory as people read it in a chat: what, who, where, which day, and whether it still holds.
Why a recall found what it found, in words; the figures stay in the status route.

A model's line, with all that is to be known of the speaker, is that of ``text/hit_line.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from ...llm_memory import GIVEN_UP, Explained, Hit, Memory, Primed
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN, Considered
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import cut, note_title, safe, safe_pointer
from ...llm_memory.texts import Texts

_SHOWN = 80
_NEAR = 3


def memory_line(texts: Texts, hit: Hit, here: str, today: date, *, details: bool = False) -> str:
    """One memory, or piece of a note.

    Args:
        here: The name of the reader's own scope, which is not said of what lies in it.
        today: A day of this year is said without the year.
        details: With its pointer.
    """
    say = texts.say
    about = [note_title(hit.headings) or say("inject.note")] if hit.is_note else _who(texts, hit)
    if hit.scope_name != here:
        about.append(place_text(texts, hit.scope_name))
    elif hit.byline.elsewhere:
        about.append(say("list.elsewhere"))
    about.append(shown_day(hit.day, say("inject.undated")).removeprefix(f"{today:%Y-}"))
    about += [say("list.over")] if hit.closed else [say("list.earlier")] if hit.earlier else []
    about += [say("inject.weak")] if hit.weak else []
    about += [safe_pointer(hit.pointer)] if details else []
    text = quoted(texts, hit.preview, is_order=hit.quoted)
    return say("list.line", text=text, about=say("list.comma").join(about))


def _who(texts: Texts, hit: Hit) -> list[str]:
    """The speakers, and the account of one whose name another bears, too."""
    who, about = [names(hit, texts.say)], hit.byline
    if about.account:
        code = "account_unknown" if about.account == UNKNOWN else "account"
        who.append(texts.say(f"inject.{code}", end=about.account))
    return [*who, texts.say("inject.reworded")] if about.reworded else who


def quoted(texts: Texts, words: str, *, is_order: bool) -> str:
    """Words of a memory on one line, as a quotation where they read like an order to the bot."""
    words = safe(words)
    return texts.say("inject.quoted", text=words) if is_order else words


def shown_words(texts: Texts, memory: Memory) -> str:
    """The beginning of what a memory says."""
    return quoted(texts, preview(memory.judgment, _SHOWN), is_order=memory.quoted)


def place_text(texts: Texts, name: str) -> str:
    """What people call a scope or shelf: its name where an owner gave it one, never a hash."""
    if name == PUBLIC_NAME:
        code = "public"
    elif name.startswith("@"):
        code = name[1:].partition(":")[0]
    elif name == ALL_PRIVATE_CHATS.name:
        code = "private_chats"
    elif as_derived(name):
        code = name.partition("-")[0]
    else:
        return name
    return texts.say(f"place.{code}")


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
