"""The engine's outcomes as short texts, for tools and commands alike."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import (
    Changed,
    DeedKind,
    EngineClosed,
    EngineOff,
    Recall,
    Refused,
    RememberOutcome,
    ScopedMemoryError,
    StateUnavailable,
    StoredMemory,
)
from ...llm_memory.errors import DirectoryInUse, FormatNewer, TransferFailed
from ...llm_memory.text.refusal_words import private_words, refusal_words
from ...llm_memory.text.safe_text import cut, safe, shown_name
from ...llm_memory.texts import Texts
from ..host.panel_map import NotSaved
from .memory_line import place_text, shown_words

_SHOWN = 60
_LONG = 200
WHOLE = 8_000
"""Characters of an entry that is opened."""
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
