"""``/memory scope rename``: a scope has another name, or becomes part of another one."""

from __future__ import annotations

from functools import partial

from ...llm_memory import NotAllowed, Rejected
from ...llm_memory.scopes.rules.map_edits import with_renamed
from .bring_command import brought_text
from .call import Call, admin
from .command_words import PUBLIC, scope_named
from .slow_command import slow

_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))


@admin
async def rename(call: Call) -> str:
    """``<old> <new>``. What cannot be told apart again is asked about first."""
    names = [scope_named(name) for name in call.rest.translate(_ARROWS).split()]
    if len(names) != 2 or PUBLIC in names or names[0] == names[1]:
        return call.say("scope.rename_usage")
    old, new = names
    await call.check_scope({call.where.map_key: new}, call.where)
    _, moved = with_renamed(call.plugin.panel_map.read(), old, new)
    exists = await call.service.admin.plan_rename(old, new, moved)
    if isinstance(exists, Rejected):
        return call.refused(exists)
    do = slow(partial(_rename, old=old, new=new))
    if not exists or not moved:
        return await do(call)
    asked = call.say("scope.merges", source=old, target=new, count=len(moved))
    return call.ask(asked, do, short=call.say("scope.merge", source=old, target=new))


async def _rename(call: Call, *, old: str, new: str) -> str:
    panel_map = call.plugin.panel_map
    async with panel_map.changing:
        changed, moved = with_renamed(panel_map.read(), old, new)
        if moved:
            await panel_map.save(changed)
        done = await call.service.admin.rename(
            old, new, changed, moved, conversation_id=call.where, actor=call.actor
        )
    if isinstance(done, NotAllowed | Rejected):
        return call.refused(done)
    if not moved:
        return brought_text(call.texts, done)
    return brought_text(call.texts, done, "scope.renamed", entries=len(moved))
