"""The engine's outcomes as short texts, for tools and commands alike; and a memory as people read
it in a chat: what, who, where, which day, and whether it still holds. A model's line, with all that
is to be known of the speaker, is that of ``text/hit_line.py``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from ...llm_memory import (
    Changed,
    DeedKind,
    EngineClosed,
    EngineOff,
    Hit,
    Memory,
    Recall,
    Refused,
    RememberOutcome,
    ScopedMemoryError,
    StateUnavailable,
    StoredMemory,
)
from ...llm_memory.errors import DirectoryInUse, FormatNewer, TransferFailed
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.recall import UNKNOWN
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import names
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import private_words, refusal_words
from ...llm_memory.text.safe_text import cut, note_title, safe, shown_name
from ...llm_memory.texts import Texts
from ..config import NotSaved

_SHOWN = 60
_LONG = 200
WHOLE = 8_000
"""Characters of an entry that is opened."""
_BEGINNING = 80
_PLACES = {PUBLIC_NAME: "public", ALL_PRIVATE_CHATS.name: "private_chats"}
_SAID_AS = {DeedKind.AMENDED: DeedKind.EDITED}


class Enough(Exception):
    """A command ends here, and this is its answer."""


ENDS = (ScopedMemoryError, NotSaved, Enough)
"""What ends a command with an answer, see ``error_text``."""


def remembered_text(texts: Texts, outcome: RememberOutcome, group: str = "outcome") -> str:
    """Says what was stored where, or why nothing was: to a model; by the group ``add`` to a person,
    who reads who will see it, and no path."""
    say = texts.say
    if isinstance(outcome, Refused):
        return say("outcome.rejected", why=refusal_words(outcome))
    stored, scope, older = outcome.memory, outcome.memory.scope, outcome.conflict
    place = place_text(texts, scope.name)
    said = say(
        f"{group}.{outcome.how}",
        seen=say("seen.public" if scope.is_public else "seen.scope", scope=place),
        pointer=stored.pointer,
        scope=place,
        former=_words(outcome.former),
    )
    said += redacted_text(texts, outcome.hidden)
    said += say("outcome.quoted") if stored.memory.quoted else ""
    said += say("outcome.missed") if outcome.missed else ""
    if older is None:
        return said
    return said + say("outcome.conflict", former=older.memory.memory_id, text=_words(older))


def changed_text(texts: Texts, done: Changed) -> str:
    """Says what became of a memory, or which deed was taken back."""
    code = "several" if done.more else _SAID_AS.get(done.kind, done.kind)
    said = texts.say(
        f"{'undo' if done.undone else 'changed'}.{code}",
        text=shown_words(texts, done.memory.memory),
        before=place_text(texts, cut(done.before)),
        scope=place_text(texts, done.memory.scope.name),
        count=done.more + 1,
        detail=safe(done.unfinished),
    )
    return said + redacted_text(texts, done.hidden)


def _words(stored: StoredMemory | None) -> str:
    return cut(stored.memory.judgment, _SHOWN) if stored else ""


def redacted_text(texts: Texts, redacted: Sequence[str]) -> str:
    """What was hidden, empty if nothing was."""
    return texts.say("outcome.redacted", kinds=private_words(redacted)) if redacted else ""


def refusal_text(texts: Texts, code: str, outcome: Refused) -> str:
    """Why nothing was corrected: whose words they are, or where they may be changed. ``code``: of
    the text for who may not."""
    if outcome.reason == "not_allowed":
        code = "pointed.elsewhere" if outcome.scope else code
        who = shown_name(outcome.who) or texts.say("inject.nobody")
        return texts.say(code, who=who, scope=place_text(texts, outcome.scope))
    return texts.said(refusal_words(outcome))


def error_text(texts: Texts, error: Exception) -> str:
    """What a caller is told when the engine cannot answer, when the panel's settings or the files
    stay as they were, or when all is said."""
    code, detail = "outcome.failed", type(error).__name__
    match error:
        case Enough():
            return str(error)
        case NotSaved():
            code, detail = "scope.not_saved" if str(error) else "scope.overtaken", str(error)
        case TransferFailed():
            code, detail = f"transfer_fault.{error.code}", cut(error.detail, _LONG)
            code, detail = "transfer.failed", texts.say(code, detail=detail)
        case StateUnavailable(cause=detail):
            code = "outcome.not_written"
        case EngineClosed():
            code = "outcome.reloaded"
        case EngineOff() | DirectoryInUse() | FormatNewer():
            code, detail = "outcome.off", texts.say(f"engine_off.{error.code}")
        case OSError():
            code, detail = "transfer.failed", cut(str(error), _LONG)
    return texts.say(code, detail=safe(detail))


def found_text(texts: Texts, recall: Recall) -> str:
    """How many memories a search shows, and how many hold its words where those are more; of none,
    whether nothing like it was ever noted, or nothing is certain."""
    shown, holding = len(recall.hits), recall.trace.holding
    if recall.unsure:
        return texts.say("search.unsure", count=shown or len(recall.trace.considered))
    if not shown:
        return texts.say("search.nothing")
    if holding > shown + sum(len(hit.also) for hit in recall.hits):
        return texts.say("search.head_of", count=shown, all=holding)
    return texts.say("search.head", count=shown)


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
    return quoted(texts, preview(memory.judgment, _BEGINNING), is_order=memory.quoted)


def place_text(texts: Texts, name: str) -> str:
    """What people call a scope or shelf: its name where an owner gave it one, never a hash."""
    if not (name in _PLACES or name.startswith("@") or as_derived(name)):
        return name
    code = _PLACES.get(name) or re.split("[:-]", name.removeprefix("@"))[0]
    return texts.say(f"place.{code}")
