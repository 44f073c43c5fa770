"""``/memory scope bring``: what was left behind in former scopes, told and brought along."""

from __future__ import annotations

from ...llm_memory import Brought, LeftBehind, MustBeNamed, NotAllowed, Rejected
from ...llm_memory.texts import Texts
from .call import Call
from .slow_command import slow


@slow
async def bring(call: Call) -> str:
    """This conversation's, or that of the former scopes that are named."""
    outcome = await call.service.admin.bring(
        call.rest.split(), conversation_id=call.where, actor=call.actor
    )
    if isinstance(outcome, NotAllowed | Rejected):
        return call.refused(outcome)
    if isinstance(outcome, MustBeNamed):
        return "\n".join(left_text(call.texts, one) for one in outcome.left)
    lines = [brought_text(call.texts, one) for one in outcome]
    return "\n".join(lines) or call.say("scope.nothing_left")


def brought_text(texts: Texts, one: Brought, code: str = "scope.brought", **more: object) -> str:
    """What was brought, and what stayed."""
    counts = {"count": one.memories, "turns": one.turns, **more}
    said = texts.say(code, source=one.source, target=one.target, **counts)
    return "\n".join([said, *texts.counted({"rebind.left": one.left})])


def left_text(texts: Texts, left: LeftBehind, code: str = "") -> str:
    """To the conversation to which it belongs: what it no longer sees, and what brings it along.
    ``status.left``: the same in the status, for admins."""
    return texts.say(
        code or _code(left),
        source=left.source,
        target=left.target,
        count=left.memories,
        turns=left.turns,
        # What an admin writes behind the command, in whatever conversation.
        words=f"{left.source} {left.target}" if left.shared else left.source,
    )


def _code(left: LeftBehind) -> str:
    if left.remainder.source.is_public:
        return "scope.left_public"
    return "scope.left_shared" if left.shared else "scope.left"
