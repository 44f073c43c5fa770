"""``/memory scope rebind``: a chat or a bot account that goes on under another name keeps all that
stands under its former one. A platform that says so itself needs no command."""

from __future__ import annotations

from astrbot.api import logger

from ...llm_memory import EngineClosed, EngineOff, Refused
from ...llm_memory.scopes.rules.rebinding import chat_key, is_account, renamed, with_moved_back
from ...llm_memory.scopes.rules.scope_map import canonical_key
from ...llm_memory.text.normalising import clean
from ..host.panel_map import MAP_KEY, NotSaved, PanelMap
from ..plugin_context import PluginContext
from ..replies.outcome_text import ENDS, error_text, refusal_text
from .call import Call, admin

_UNDO = frozenset({"undo", "撤销", "恢复"})
_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))
_POLICIES = "dm_scope_by_account"
_GROUP = "advanced"


@admin
async def rebind(call: Call) -> str:
    """``<old> <new>``, ``<old>`` for this conversation, ``undo`` for the last one."""
    names = [canonical_key(clean(name)) for name in call.rest.translate(_ARROWS).split()]
    if not 1 <= len(names) <= 2:
        return call.say("rebind.usage")
    if len(names) == 1 and names[0].lower() in _UNDO:
        return await _undo(call)
    old, new = (*names, chat_key(call.where))[:2]
    return await _rebind(call.plugin, old, new)


async def rebind_moved(plugin: PluginContext, old: str, new: str) -> None:
    """The platform says that a chat goes on under another id."""
    try:
        said = await _rebind(plugin, old, new, told=True)
    except (EngineClosed, EngineOff):
        return
    except ENDS as error:
        said = error_text(plugin.texts, error)
    logger.warning(plugin.texts.say("rebind.platform", old=old, new=new, result=said))


async def _rebind(plugin: PluginContext, old: str, new: str, *, told: bool = False) -> str:
    service, panel, texts = plugin.service.admin, plugin.panel_map, plugin.texts
    async with panel.changing:
        raw = panel.read()
        policy = str(panel.table(f"{_GROUP}.{_POLICIES}").get(old, ""))
        done = await service.rebind(old, new, raw, policy, told=told)
        if isinstance(done, Refused):
            return refusal_text(texts, "", done)
        try:
            await _save(panel, raw, done.raw, policy, old, new)
        except NotSaved:
            if not told:  # else it holds all the same, for the platform will not say it again
                await service.undo_rebind(done.rebinding)
            raise
        await service.go_by(done.raw, done.rebinding.moved)
    kind = "account" if is_account(old) else "chat"
    lines = [texts.say(f"rebind.done_{kind}", old=old, new=new)]
    lines += texts.counted("rebind", entries=len(done.rebinding.moved), paused=done.paused)
    return "\n".join([*lines, texts.say("rebind.undo")])


async def _undo(call: Call) -> str:
    service, panel = call.service.admin, call.plugin.panel_map
    async with panel.changing:
        last = await service.last_rebinding()
        if last is None:
            return call.say("rebind.nothing_to_undo")
        raw = panel.read()
        changed = with_moved_back(raw, last)
        await _save(panel, raw, changed, last.policy, last.new, last.old)
        await service.undo_rebind(last)
        moved = {to for key in last.moved if (to := renamed(key, last.old, last.new))}
        await service.go_by(changed, moved)
    lines = [call.say("rebind.undone", old=last.old, new=last.new)]
    return "\n".join([*lines, *call.texts.counted("rebind", entries=len(last.moved))])


async def _save(
    panel: PanelMap,
    raw: dict[str, object],
    changed: dict[str, object],
    policy: str,
    old: str,
    new: str,
) -> None:
    """The map, and an account's policy under its other name. Raises NotSaved."""
    if policy:
        policies = panel.table(f"{_GROUP}.{_POLICIES}")
        policies.pop(old, None)
        renamed_too = panel.table(_GROUP) | {_POLICIES: policies | {new: policy}}
        await panel.save_all({MAP_KEY: changed, _GROUP: renamed_too})
    elif changed != raw:
        await panel.save(changed)
