"""A memory as people read it in a chat: what, who, where, which day, and whether it still holds.
A model's line, with all that is to be known of the speaker, is that of ``text/hit_line.py``."""

from __future__ import annotations

from datetime import date

from ...llm_memory import Hit, Memory
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import note_title, safe, safe_pointer
from ...llm_memory.texts import Texts

_SHOWN = 80


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
