"""``/memory yes``: what waits in this conversation for this person is done."""

from __future__ import annotations

from time import monotonic

from ...llm_memory import EngineClosed
from .call import Call, admin
from .command_words import unknown_text


async def yes(call: Call) -> str:
    """Do what the person was asked last; else what the notices have an admin confirm."""
    if call.rest:  # a question that only begins like a yes
        return unknown_text(call.texts, call.rest) or call.say("asked.nothing")
    asked = call.asked.pop(call.person, None)
    if asked is None:
        return await _confirm(call)
    if monotonic() >= asked.until:
        return call.say("asked.late")
    if asked.admin and not call.actor.admin:
        return call.say("outcome.admins_only")
    return await asked.do(call)


@admin
async def _confirm(call: Call) -> str:
    """Entries that disappeared from the files are deleted; the map, where nothing else waits."""
    service = call.service
    count = await service.admin.confirm_deletions(actor=call.actor) or 0
    lines = call.texts.counted({"asked.deleted": count})
    try:
        if (await service.describe(conversation_id=call.where)).damaged:
            if lines:
                return "\n".join([*lines, call.say("scope.damaged")])
            await service.admin.confirm_map(actor=call.actor)
            lines.append(call.say("asked.map"))
    except EngineClosed:
        if not lines:  # else it is not to be done again: there would be nothing to confirm
            raise
    return "\n".join(lines) or call.say("asked.nothing")
