"""A memory as people read it in a chat: what, who, where, which day, and whether it still holds.
A model's line, with all that is to be known of the speaker, is that of ``injection_service``."""

from __future__ import annotations

from datetime import date

from ...llm_memory import Hit
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.safe_text import note_title, safe, safe_pointer
from ...llm_memory.texts import Texts


def memory_line(texts: Texts, hit: Hit, here: str, today: date, *, details: bool = False) -> str:
    """One memory, or piece of a note.

    Args:
        here: The name of the reader's own scope, which is not said of what lies in it.
        today: A day of this year is said without the year.
        details: With its pointer.
    """
    say, text = texts.say, safe(hit.preview)
    if hit.quoted:
        text = say("inject.quoted", text=text)
    about = [note_title(hit.headings) or say("inject.note")] if hit.is_note else _who(texts, hit)
    if hit.scope_name != here:
        about.append(place_text(texts, hit.scope_name))
    elif hit.byline.elsewhere:
        about.append(say("list.elsewhere"))
    about.append(_day(texts, hit.day, today))
    about += [say("list.over")] if hit.closed else [say("list.earlier")] if hit.earlier else []
    about += [say("inject.weak")] if hit.weak else []
    about += [safe_pointer(hit.pointer)] if details else []
    return say("list.line", text=text, about=say("list.comma").join(about))


def place_text(texts: Texts, name: str) -> str:
    """What people call a scope or shelf: its name where an owner gave it one, never a hash."""
    if name == PUBLIC_NAME:
        return texts.say("place.public")
    if name.startswith("@"):
        kind = name[1:].partition(":")[0]
        return texts.say(f"place.{kind}")
    if name == ALL_PRIVATE_CHATS.name:
        return texts.say("place.private_chats")
    return texts.say(f"place.{name.partition('-')[0]}") if as_derived(name) else name


def _who(texts: Texts, hit: Hit) -> list[str]:
    """The speakers, and the account of one whose name another bears, too."""
    who, about = [names(hit, texts.say)], hit.byline
    if about.account:
        unknown = about.account == UNKNOWN
        code = "inject.account_unknown" if unknown else "inject.account"
        who.append(texts.say(code, end=about.account))
    return [*who, texts.say("inject.reworded")] if about.reworded else who


def _day(texts: Texts, day: date, today: date) -> str:
    said = shown_day(day, texts.say("inject.undated"))
    return said.removeprefix(f"{today:%Y-}")
