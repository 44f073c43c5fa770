"""``/memory scope rename``: a scope has another name, or becomes part of another one."""

from __future__ import annotations

from functools import partial

from ...llm_memory import NotAllowed, Rejected, ScopeFault
from ...llm_memory.scopes.rules.map_edits import with_renamed
from ...llm_memory.text.refusal_words import refusal_words
from ...llm_memory.text.safe_text import safe
from ..host.panel_map import NotSaved
from ..replies.outcome_text import not_saved_text
from .bring_command import brought_text
from .call import Call, admin
from .command_words import PUBLIC, scope_named
from .slow_command import slow

_NAME = 80
_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))


@admin
async def rename(call: Call) -> str:
    """``<old> <new>``. What cannot be told apart again is asked about first."""
    names = [scope_named(name) for name in call.rest.translate(_ARROWS).split()]
    if len(names) != 2 or PUBLIC in names or names[0] == names[1]:
        return call.say("scope.rename_usage")
    old, new = names
    admin_of, where = call.service.admin, call.where
    if fault := await admin_of.check_entry({where.map_key: new}, where, call.actor):
        wrong = call.say(f"fault.{ScopeFault(fault)}")
        return call.say("scope.illegal", name=safe(new)[:_NAME], fault=wrong)
    _, moved = with_renamed(call.plugin.panel_map.read(), old, new)
    exists = await admin_of.plan_rename(old, new, moved)
    if isinstance(exists, Rejected):
        return call.texts.said(refusal_words(exists))
    do = slow(partial(_rename, old=old, new=new))
    if not exists or not moved:
        return await do(call)
    asked = call.say("scope.merges", source=old, target=new, count=len(moved))
    return call.ask(asked, do, short=call.say("scope.merge", source=old, target=new))


async def _rename(call: Call, *, old: str, new: str) -> str:
    panel_map = call.plugin.panel_map
    async with panel_map.changing:
        changed, moved = with_renamed(panel_map.read(), old, new)
        try:
            if moved:
                await panel_map.save(changed)
        except NotSaved as error:
            return not_saved_text(call.texts, error)
        done = await call.service.admin.rename(
            old, new, changed, moved, conversation_id=call.where, actor=call.actor
        )
    match done:
        case NotAllowed():
            return call.say("outcome.admins_only")
        case Rejected():
            return call.texts.said(refusal_words(done))
    if not moved:
        return brought_text(call.texts, done)
    return brought_text(call.texts, done, "scope.renamed", entries=len(moved))
