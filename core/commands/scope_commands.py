"""``/memory scope``: which scope a conversation has, and giving it another one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from ...llm_memory import EngineClosed, MapChange, NotAllowed, Refused, ScopeFault, Usable
from ...llm_memory.scopes.rules.map_edits import entry_of, with_entry
from ...llm_memory.text.safe_text import safe
from ..host.panel_map import NotSaved
from ..replies.outcome_text import not_saved_text
from ..turn.first_message import scope_line
from .bring_command import bring, left_text
from .call import Call, Handler, admin
from .rebind_command import rebind
from .yes_command import confirm_map

_PUBLIC = frozenset({"public", "公共", "公开"})
_OFF = frozenset({"off", "取消", "清除", "none"})
_NAME = 80


async def scope(call: Call) -> str:
    """Without words, describe the scope; with a name, set it, which only admins may."""
    handler = _WORDS.get(call.split()[0].lower())
    return await (_set(call) if handler is None else handler(call.behind()))


async def _describe(call: Call) -> str:
    report = await call.service.describe(conversation_id=call.where)
    lines = [
        call.say("scope.id", id=call.where.umo),
        scope_line(call.plugin, report.resolution),
        call.say("status.visible", count=report.visible),
        call.say("scope.paste", id=call.where.map_key),
    ]
    if call.actor.admin:  # a key may name another conversation
        lines += [
            call.say("scope.near", key=safe(key)[:_NAME], value=safe(value)[:_NAME])
            for key, value in report.near
        ]
    if report.paused:
        lines.append(call.paused(report.paused))
    if report.mixed_history:
        lines.append(call.say("scope.mixed_history"))
    if not call.plugin.config.engine.scope_filter_enabled:
        lines.append(call.say("notice.scope_filter_off"))
    if report.damaged:
        lines.append(call.say("scope.damaged"))
    lines += [left_text(call.texts, one) for one in report.left]
    is_public = isinstance(report.resolution, Usable) and report.resolution.scope.is_public
    if report.strangers_in_public and is_public:
        lines.append(call.say("scope.strangers"))
    return "\n".join(lines)


_WORDS: Mapping[str, Handler] = {
    "": _describe,
    **dict.fromkeys(("confirm", "确认"), confirm_map),
    **dict.fromkeys(("bring", "带来", "搬来"), bring),
    **dict.fromkeys(("rebind", "改绑", "换绑"), rebind),
}


@admin
async def _set(call: Call) -> str:
    """Save the map with this conversation's entry changed, and go by it."""
    word = call.rest.strip().lower()
    name = None if word in _OFF else "public" if word in _PUBLIC else call.rest
    service, panel_map = call.service, call.plugin.panel_map
    report = await service.describe(conversation_id=call.where)
    if isinstance(report.resolution, Refused):
        return scope_line(call.plugin, report.resolution)
    async with panel_map.changing:
        raw = panel_map.read()
        former = entry_of(raw, call.where)
        if former == name:
            same = "scope.set_none" if name is None else "scope.set_already"
            return call.say(same, scope=name or "")
        changed = with_entry(raw, call.where, name)
        if fault := await service.admin.check_entry(changed, call.where):
            wrong = call.say(f"fault.{ScopeFault(fault)}")
            return call.say("scope.illegal", name=safe(name or "")[:_NAME], fault=wrong)
        try:
            await panel_map.save(changed)
        except NotSaved as error:
            return not_saved_text(call.texts, error)
        change = await service.admin.change_map(
            changed, conversation_id=call.where, actor=call.actor
        )
    if isinstance(change, NotAllowed):
        return call.say("outcome.admins_only")
    return await _changed(call, change, name, former)


async def _changed(call: Call, change: MapChange, name: str | None, former: str | None) -> str:
    """Who sees what from now on, what stays where it was, and how to undo it."""
    after, before = change.after, change.before
    lines = [call.say("scope.set_off")] if name is None else []
    if isinstance(after, Usable) and after.scope.name == name:
        kind = "public" if after.scope.is_public else "private"
        lines.append(call.say(f"scope.set_{kind}", scope=name, count=change.sharing))
    else:
        lines.append(scope_line(call.plugin, after))
    if isinstance(before, Usable) and isinstance(after, Usable) and before.scope != after.scope:
        stays = "scope.stays_public" if before.scope.is_public else "scope.stays"
        lines.append(call.say(stays, scope=before.scope.name))
        with suppress(EngineClosed):  # the change is made, and not to be made again
            report = await call.service.describe(conversation_id=call.where)
            lines += [left_text(call.texts, one) for one in report.left]
    back = call.say("scope.word_off") if former is None else safe(former)[:_NAME]
    return "\n".join([*lines, call.say("scope.set_back", word=back)])
