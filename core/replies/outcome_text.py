"""The engine's outcomes as short texts, for tools and commands alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...llm_memory import (
    EngineClosed,
    EngineOff,
    NoticeCode,
    PrivateKind,
    Reason,
    Recall,
    Refused,
    RememberOutcome,
    Replaced,
    ScopedMemoryError,
    StateUnavailable,
    Stored,
    StoredMemory,
)
from ...llm_memory.catalogue.rules.pointers import is_note_id, pointed_id
from ...llm_memory.errors import DirectoryInUse, FormatNewer, TransferFailed
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import private_words, refusal_words
from ...llm_memory.text.safe_text import cut, safe, shown_name
from ...llm_memory.texts import Texts
from ..host.panel_map import NotSaved
from .memory_line import place_text

_SHOWN = 60
_LONG = 200
_OFF: Mapping[type[ScopedMemoryError], str] = {
    DirectoryInUse: NoticeCode.DIRECTORY_IN_USE,
    FormatNewer: NoticeCode.FORMAT_NEWER,
}
"""The notice that says why the engine does not open."""


class Enough(Exception):
    """A command ends here, and this is its answer."""


ENDS = (ScopedMemoryError, NotSaved, Enough)
"""What ends a command with an answer, see ``error_text``."""


def remembered_text(texts: Texts, outcome: RememberOutcome, group: str = "outcome") -> str:
    """Says what was stored where, or why nothing was: to a model; by the group ``add`` to a person,
    who reads who will see it, and no path."""
    if isinstance(outcome, Refused):
        return texts.say("outcome.rejected", why=refusal_words(outcome))
    stored, scope = outcome.memory, outcome.memory.scope
    place = place_text(texts, scope.name)
    alone = as_derived(scope.name) and scope != ALL_PRIVATE_CHATS
    seen = "public" if scope.is_public else "here" if alone else "scope"
    said = texts.say(
        f"{group}.{type(outcome).__name__.lower()}",
        seen=texts.say(f"seen.{seen}", scope=place),
        pointer=stored.pointer,
        scope=place,
        former=_words(outcome.former) if isinstance(outcome, Replaced) else "",
    )
    said += redacted_text(texts, outcome.redacted)
    if stored.memory.quoted:
        said += texts.say("outcome.quoted")
    if isinstance(outcome, Stored) and outcome.missed:
        said += texts.say("outcome.missed")
    if isinstance(outcome, Stored) and (older := outcome.conflict) is not None:
        former = older.memory.memory_id
        said += texts.say("outcome.conflict", former=former, text=_words(older))
    return said


def added_text(texts: Texts, outcome: RememberOutcome) -> str:
    """Says the same to a person."""
    return remembered_text(texts, outcome, "add")


def _words(stored: StoredMemory) -> str:
    return safe(preview(stored.memory.judgment, _SHOWN))


def redacted_text(texts: Texts, redacted: Sequence[PrivateKind]) -> str:
    """What was hidden, empty if nothing was."""
    return texts.say("outcome.redacted", kinds=private_words(redacted)) if redacted else ""


def refusal_text(texts: Texts, code: str, outcome: Refused) -> str:
    """Why nothing was corrected: whose words they are, or where they may be changed; that no such
    memory lives here. ``code``: of the text for who may not."""
    if outcome.reason is Reason.NOT_ALLOWED:
        code = "pointed.elsewhere" if outcome.scope else code
        who = shown_name(outcome.who) or texts.say("inject.nobody")
        return texts.say(code, who=who, scope=place_text(texts, outcome.scope))
    if outcome.reason is Reason.NOT_VISIBLE and is_note_id(pointed_id(outcome.detail) or ""):
        return texts.say("pointed.note")
    return texts.said(refusal_words(outcome))


def error_text(texts: Texts, error: ScopedMemoryError | NotSaved | Enough) -> str:
    """What a caller is told when the engine cannot answer, when the panel's settings stay as they
    were, or when all is said."""
    match error:
        case Enough():
            return str(error)
        case NotSaved():
            code, detail = "scope.not_saved" if error.detail else "scope.overtaken", error.detail
        case TransferFailed():
            why = texts.say(f"transfer_fault.{error.code}", detail=cut(error.detail, _LONG))
            code, detail = "transfer.failed", why
        case StateUnavailable():
            code, detail = "outcome.not_written", error.cause
        case EngineClosed():
            code, detail = "outcome.reloaded", ""
        case EngineOff() | DirectoryInUse() | FormatNewer():
            off = error.code if isinstance(error, EngineOff) else _OFF[type(error)]
            code, detail = "outcome.off", texts.say(f"engine_off.{off}")
        case _:
            code, detail = "outcome.failed", type(error).__name__
    return texts.say(code, detail=safe(detail))


def found_text(texts: Texts, recall: Recall) -> str:
    """How many memories a search shows, and how many hold its words where those are more."""
    shown, holding = len(recall.hits), recall.trace.holding
    if holding > shown + sum(len(hit.also) for hit in recall.hits):
        return texts.say("search.head_of", count=shown, all=holding)
    return texts.say("search.head", count=shown)
