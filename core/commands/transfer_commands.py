"""``/memory export`` and ``/memory import``: text in, text out."""

from __future__ import annotations

from ...llm_memory import (
    Actor,
    ConversationId,
    Exported,
    Imported,
    NotAllowed,
    NotTransferred,
    RefusedLine,
    Rejected,
    RejectReason,
    TransferFault,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.outcome_text import rejected_text
from ..texts import Texts

_SHOWN = 5
_DETAIL = 120
_ANYWAY = ("anyway", "仍要")
"""Behind the name of a file: what was corrected since it was said is wanted, too."""


class TransferCommands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def export(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """All memories that this conversation sees, into a file on the bot's machine."""
        outcome = await self._plugin.service.export(conversation_id=conversation_id, actor=actor)
        texts = self._plugin.texts
        match outcome:
            case Exported(name):
                counted = (f"{scope} {n}" for scope, n in outcome.by_scope.items())
                scopes = texts.say("status.and").join(counted)
                return texts.say(
                    "transfer.exported", count=outcome.count, scopes=scopes or "-", name=name
                )
            case NotTransferred():
                return _why(texts, "export", outcome)
            case NotAllowed():
                return texts.say("transfer.for_the_owner")
            case Rejected():
                return rejected_text(texts, outcome)

    async def import_(self, conversation_id: ConversationId, actor: Actor, name: str) -> str:
        """The memories of a file into this conversation's scope: by an admin."""
        texts = self._plugin.texts
        file, _, last = name.rpartition(" ")
        anyway = bool(file) and last.lower() in _ANYWAY
        name = file.strip() if anyway else name
        if not name:
            return texts.say("transfer.usage")
        outcome = await self._plugin.service.import_(
            name, conversation_id=conversation_id, actor=actor, anyway=anyway
        )
        match outcome:
            case Imported():
                return imported_text(texts, outcome)
            case NotTransferred():
                return _why(texts, "import", outcome)
            case NotAllowed():
                return texts.say("outcome.admins_only")
            case Rejected():
                return rejected_text(texts, outcome)


def imported_text(texts: Texts, imported: Imported) -> str:
    """What became of the lines, and why some were refused."""
    say = texts.say
    lines = [
        say(
            "transfer.imported",
            scope=imported.scope,
            stored=imported.stored,
            reinforced=imported.reinforced,
            replaced=imported.replaced,
            known=imported.known,
            refused=imported.refused,
        )
    ]
    if imported.redacted:
        lines.append(say("transfer.redacted", count=imported.redacted))
    if imported.passed_by:
        lines.append(say("transfer.passed_by", count=imported.passed_by))
    lines += [_line(texts, refused) for refused in imported.lines[:_SHOWN]]
    if any(_is_corrected(refused) for refused in imported.lines):
        lines.append(say("transfer.anyway"))
    if (more := imported.refused - min(len(imported.lines), _SHOWN)) > 0:
        lines.append(say("transfer.more", count=more))
    if imported.stopped_at:
        lines.append(say("transfer.stopped", line=imported.stopped_at))
    elif imported.cut_short:
        lines.append(say("transfer.cut_short"))
    return "\n".join(lines)


def _is_corrected(refused: RefusedLine) -> bool:
    return refused.rejected is not None and refused.rejected.reason is RejectReason.CORRECTED


def _line(texts: Texts, refused: RefusedLine) -> str:
    if refused.rejected is not None:
        why = rejected_text(texts, refused.rejected)
    else:
        why = texts.say(f"line_fault.{refused.fault}", detail=_detail_text(refused.detail))
    return texts.say("transfer.line", line=refused.number, why=why)


def fault_text(texts: Texts, fault: TransferFault, detail: str) -> str:
    """Why a file was not taken or not written."""
    return texts.say(f"transfer_fault.{fault}", detail=_detail_text(detail))


def _why(texts: Texts, what: str, outcome: NotTransferred) -> str:
    why = fault_text(texts, outcome.fault, outcome.detail)
    return texts.say(f"transfer.no_{what}", why=why)


def _detail_text(detail: str) -> str:
    return safe(detail)[:_DETAIL]
