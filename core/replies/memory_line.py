"""A memory as people read it in a chat: what, who, where, which day, and whether it still holds.

A model's line, with all that is to be known of the speaker, is that of ``text/hit_line.py``.
"""

from __future__ import annotations

import re
from datetime import date

from ...llm_memory import Hit, Memory
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import note_title, safe
from ...llm_memory.texts import Texts

_SHOWN = 80
_PLACES = {PUBLIC_NAME: "public", ALL_PRIVATE_CHATS.name: "private_chats"}


def memory_line(texts: Texts, hit: Hit, here: str, today: date) -> str:
    """One memory, or piece of a note. ``here``: the reader's own scope, which is not said of what
    lies in it; ``today``: a day of this year is said without the year."""
    say, elsewhere, account = texts.say, hit.scope_name != here, hit.byline.account
    known = "account_unknown" if account == UNKNOWN else "account"
    about = [
        note_title(hit.headings) or say("inject.note") if hit.is_note else names(hit, say),
        say(f"inject.{known}", end=account) if account else "",
        say("inject.reworded") if hit.byline.reworded else "",
        place_text(texts, hit.scope_name) if elsewhere else "",
        say("list.elsewhere") if hit.byline.elsewhere and not elsewhere else "",
        shown_day(hit.day, say("inject.undated")).removeprefix(f"{today:%Y-}"),
        say("list.over") if hit.closed else say("list.earlier") if hit.earlier else "",
        say("inject.weak") if hit.weak else "",
    ]
    text = quoted(texts, hit.preview, is_order=hit.quoted)
    return say("list.line", text=text, about=say("list.comma").join(filter(None, about)))


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
