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
from ...llm_memory.text.refusal_words import line_words, refusal_words
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from .call import Call, no_words

_SHOWN = 5
_DETAIL = 120
_ANYWAY = ("anyway", "仍要")
"""Behind the name of a file: what was corrected since it was said is wanted, too."""


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
    return _why_not(call.texts, "export", outcome)


async def import_(call: Call) -> str:
    """The memories of a file into this conversation's scope: by an admin."""
    file, _, last = call.rest.rpartition(" ")
    anyway = bool(file) and last.lower() in _ANYWAY
    name = file.strip() if anyway else call.rest
    if not name:
        return call.say("transfer.usage")
    outcome = await call.service.import_(
        name, conversation_id=call.where, actor=call.actor, anyway=anyway
    )
    match outcome:
        case Imported():
            return imported_text(call.texts, outcome)
        case NotAllowed():
            return call.say("outcome.admins_only")
    return _why_not(call.texts, "import", outcome)


def _why_not(texts: Texts, what: str, outcome: NotTransferred | Rejected) -> str:
    if isinstance(outcome, Rejected):
        return texts.said(refusal_words(outcome))
    return texts.say(f"transfer.no_{what}", why=fault_text(texts, outcome.fault, outcome.detail))


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
