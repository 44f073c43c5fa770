"""``/memory export`` and ``/memory import``: text in, text out."""

from __future__ import annotations

from ...llm_memory import (
    Exported,
    Imported,
    NotAllowed,
    NotTransferred,
    Rejected,
    RejectReason,
    TransferFault,
)
from ...llm_memory.text.refusal_words import line_words
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from .call import Call, no_words

_SHOWN = 5
_DETAIL = 120
_ANYWAY = ("anyway", "仍要")


@no_words
async def export(call: Call) -> str:
    """All memories that this conversation sees, into a file on the bot's machine."""
    outcome = await call.service.export(conversation_id=call.where, actor=call.actor)
    match outcome:
        case Exported(name):
            counted = (f"{scope} {n}" for scope, n in outcome.by_scope.items())
            scopes = call.say("common.and").join(counted) or "-"
            return call.say("transfer.exported", count=outcome.count, scopes=scopes, name=name)
        case NotAllowed():
            return call.say("transfer.for_the_owner")
    return _why_not(call, "export", outcome)


async def import_(call: Call) -> str:
    """The memories of a file into this conversation's scope: by an admin."""
    name, anyway = named_file(call.rest)
    if not name:
        return call.say("transfer.usage")
    outcome = await call.service.import_(
        name, conversation_id=call.where, actor=call.actor, anyway=anyway
    )
    match outcome:
        case Imported():
            return imported_text(call.texts, outcome)
    return _why_not(call, "import", outcome)


def named_file(words: str) -> tuple[str, bool]:
    """The name of a file, and whether what was corrected since is wanted, too."""
    name, _, last = words.rpartition(" ")
    anyway = bool(name) and last.lower() in _ANYWAY
    return (name.strip(), True) if anyway else (words, False)


def _why_not(call: Call, what: str, outcome: NotTransferred | NotAllowed | Rejected) -> str:
    if not isinstance(outcome, NotTransferred):
        return call.refused(outcome)
    why = fault_text(call.texts, outcome.fault, outcome.detail)
    return call.say(f"transfer.no_{what}", why=why)


def imported_text(texts: Texts, imported: Imported) -> str:
    """What became of the lines, and why some were refused."""
    say = texts.say
    head = say(
        "transfer.imported",
        scope=imported.scope,
        stored=imported.stored,
        reinforced=imported.reinforced,
        replaced=imported.replaced,
        known=imported.known,
        refused=imported.refused,
    )
    beside = texts.counted(
        {"transfer.redacted": imported.redacted, "transfer.passed_by": imported.passed_by}
    )
    lines = [head, *beside]
    lines += [texts.said(line_words(refused)) for refused in imported.lines[:_SHOWN]]
    rejected = [one.rejected for one in imported.lines if one.rejected is not None]
    if any(one.reason is RejectReason.CORRECTED for one in rejected):
        lines.append(say("transfer.anyway"))
    more = imported.refused - min(len(imported.lines), _SHOWN)
    lines += texts.counted({"transfer.more": max(more, 0)})
    if imported.stopped_at:
        lines.append(say("transfer.stopped", line=imported.stopped_at))
    elif imported.cut_short:
        lines.append(say("transfer.cut_short"))
    return "\n".join(lines)


def fault_text(texts: Texts, fault: TransferFault, detail: str) -> str:
    """Why a file was not taken or not written."""
    return texts.say(f"transfer_fault.{fault}", detail=safe(detail)[:_DETAIL])
