"""A memory as people read it in a chat: what, who, where, which day, and whether it still holds.
Why a recall found what it found, in words; the figures stay in the status route.

A model's line, with all that is to be known of the speaker, is that of ``text/hit_line.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from ...llm_memory import GIVEN_UP, Hit, Memory, Primed, Told
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import cut, note_title, safe
from ...llm_memory.texts import Texts

_SHOWN = 80
_NEAR = 3
_PLACES = {PUBLIC_NAME: "public", ALL_PRIVATE_CHATS.name: "private_chats"}


def memory_line(texts: Texts, hit: Hit, here: str, today: date) -> str:
    """One memory, or piece of a note.

    Args:
        here: The name of the reader's own scope, which is not said of what lies in it.
        today: A day of this year is said without the year.
    """
    say, elsewhere = texts.say, hit.scope_name != here
    about = [
        note_title(hit.headings) or say("inject.note") if hit.is_note else names(hit, say),
        _account(texts, hit),
        say("inject.reworded") if hit.byline.reworded else "",
        place_text(texts, hit.scope_name) if elsewhere else "",
        say("list.elsewhere") if hit.byline.elsewhere and not elsewhere else "",
        shown_day(hit.day, say("inject.undated")).removeprefix(f"{today:%Y-}"),
        say("list.over") if hit.closed else say("list.earlier") if hit.earlier else "",
        say("inject.weak") if hit.weak else "",
    ]
    text = quoted(texts, hit.preview, is_order=hit.quoted)
    return say("list.line", text=text, about=say("list.comma").join(filter(None, about)))


def _account(texts: Texts, hit: Hit) -> str:
    """The account of a speaker whose name another bears, too."""
    account = hit.byline.account
    code = "account_unknown" if account == UNKNOWN else "account"
    return texts.say(f"inject.{code}", end=account) if account else ""


def quoted(texts: Texts, words: str, *, is_order: bool) -> str:
    """Words of a memory on one line, as a quotation where they read like an order to the bot."""
    words = safe(words)
    return texts.say("inject.quoted", text=words) if is_order else words


def shown_words(texts: Texts, memory: Memory) -> str:
    """The beginning of what a memory says."""
    return quoted(texts, preview(memory.judgment, _SHOWN), is_order=memory.quoted)


def place_text(texts: Texts, name: str) -> str:
    """What people call a scope or shelf: its name where an owner gave it one, never a hash."""
    if not (name in _PLACES or name.startswith("@") or as_derived(name)):
        return name
    code = _PLACES.get(name) or re.split("[:-]", name.removeprefix("@"))[0]
    return texts.say(f"place.{code}")


def why_text(texts: Texts, told: Told, shown: Sequence[str]) -> str:
    """A question, what was attached to it and what came close, in words that need no manual.

    Args:
        shown: The lines of the candidates that the conversation may still see.
    """
    trace, say = told.trace, texts.say
    seen = [considered for considered in trace.considered if considered.memory_id in told.hits]
    attached, near = list[str](), list[str]()
    for one, line in zip(seen, shown, strict=True):
        if one.dropped is not None:
            near.append(say("explain.near_line", text=line, why=say(f"fate.{one.dropped}")))
            continue
        attached.append(f"{len(attached) + 1}. {line}")
        if gone := told.instead_of.get(one.memory_id):
            attached[-1] += "\n" + say("explain.instead_of", id=gone)
    lines = [
        say("explain.head", query=cut(told.query), time=f"{told.at:%m-%d %H:%M}"),
        *texts.counted("explain", talk=len(trace.talk)),
        say("explain.looked_in", places=tuple({place_text(texts, one): 0 for one in trace.scopes})),
        *(_note(texts, note) for note in trace.notes),
        say("explain.attached" if attached else "explain.attached_none", count=len(attached)),
        *attached,
        *([say("explain.near"), *near[:_NEAR]] if near else []),
        say("explain.more"),
    ]
    return "\n".join(lines)


def _note(texts: Texts, note: str) -> str:
    """What a recall did without. What a part that is broken says more may name folders."""
    if note == GIVEN_UP:
        return texts.say("explain.given_up")
    return texts.say("explain.note", text=safe(note.partition(":")[0]))


def primed_text(texts: Texts, primed: Primed) -> str:
    """Says which briefing the conversation got when it came back."""
    time, hours = f"{primed.at:%m-%d %H:%M}", f"{primed.away.total_seconds() / 3600:.1f}"
    return texts.say("explain.primed", time=time, hours=hours, count=primed.memories)
