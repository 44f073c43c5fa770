"""``/memory scope rebind``: a chat or a bot account that goes on under another name keeps all that
stands under its former one. A platform that says so itself needs no command."""

from __future__ import annotations

from astrbot.api import logger

from ...llm_memory import Actor, EngineClosed, EngineOff
from ...llm_memory.models.resolution import RebindFault, Rebound
from ...llm_memory.scopes.rules.rebinding import (
    chat_key,
    is_account,
    with_moved,
    with_moved_back,
)
from ...llm_memory.scopes.rules.scope_map import canonical_key
from ...llm_memory.text.normalising import clean
from ...llm_memory.text.safe_text import cut
from ...llm_memory.texts import Texts
from ..host.panel_map import MAP_KEY, NotSaved, PanelMap
from ..plugin_context import PluginContext
from ..replies.outcome_text import ENDS, error_text
from .call import Call, admin

_UNDO = frozenset({"undo", "撤销", "恢复"})
_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))
_POLICIES = "dm_scope_by_account"
_GROUP = "advanced"
_PLATFORM = Actor(person="", name="", admin=True)
"""The actor of a move that the platform announced."""


@admin
async def rebind(call: Call) -> str:
    """``<old> <new>``, ``<old>`` for this conversation, ``undo`` for the last one."""
    names = [canonical_key(clean(name)) for name in call.rest.translate(_ARROWS).split()]
    if not 1 <= len(names) <= 2:
        return call.say("rebind.usage")
    if len(names) == 1 and names[0].lower() in _UNDO:
        return await _undo(call)
    old, new = (*names, chat_key(call.where))[:2]
    return await _rebind(call.plugin, old, new, call.where.umo, call.actor)


async def rebind_moved(plugin: PluginContext, old: str, new: str) -> None:
    """The platform says that a chat goes on under another id. What cannot be done now is left to an
    admin: until then the chat reads public only."""
    try:
        await plugin.service.admin.rebinds.keep_holds()
        said = await _rebind(plugin, old, new, new, _PLATFORM)
    except (EngineClosed, EngineOff):
        return  # it is held, and the status says so
    except ENDS as error:
        said = error_text(plugin.texts, error)
    logger.warning(plugin.texts.say("rebind.platform", old=old, new=new, result=said))


async def _rebind(
    plugin: PluginContext, old: str, new: str, conversation: str, actor: Actor
) -> str:
    rebinds, panel = plugin.service.admin.rebinds, plugin.panel_map
    async with panel.changing:
        raw = panel.read()
        # The policy for private chats that the panel gives this bot account alone.
        policy = str(panel.table(f"{_GROUP}.{_POLICIES}").get(old, ""))
        plan = await rebinds.plan(raw, old, new, policy)
        if isinstance(plan, RebindFault):
            if plan is RebindFault.NOTHING and actor is _PLATFORM:
                await rebinds.release(new)
            names = {"old": cut(old), "new": cut(new)}
            return plugin.texts.say(f"rebind.{plan}", **names)
        changed = with_moved(raw, plan.moved)
        await rebinds.begin(plan)
        try:
            await _save(panel, raw, changed, policy, old, new)
        except NotSaved:
            await rebinds.give_up()
            raise
        done = await rebinds.finish(changed, conversation, actor)
    return _done_text(plugin.texts, done)


async def _undo(call: Call) -> str:
    rebinds, panel = call.service.admin.rebinds, call.plugin.panel_map
    async with panel.changing:
        last = await rebinds.last()
        if last is None:
            return call.say("rebind.nothing_to_undo")
        raw = panel.read()
        changed = with_moved_back(raw, last.moved)
        await _save(panel, raw, changed, last.policy, last.new, last.old)
        done = await rebinds.undo(changed, call.where.umo, call.actor)
    counts = {"entries": len(last.moved), "memories": done.memories if done else 0}
    lines = [call.say("rebind.undone", old=last.old, new=last.new), *_moved(call.texts, **counts)]
    return "\n".join(lines)


def _done_text(texts: Texts, done: Rebound) -> str:
    say, rebinding = texts.say, done.rebinding
    kind = "account" if is_account(rebinding.old) else "chat"
    lines = [say(f"rebind.done_{kind}", old=rebinding.old, new=rebinding.new)]
    lines += _moved(texts, entries=len(rebinding.moved), memories=done.memories, turns=done.turns)
    lines += texts.counted("rebind", paused=len(rebinding.paused), left=done.left)
    return "\n".join([*lines, say("rebind.undo")])


def _moved(texts: Texts, **counts: int) -> list[str]:
    what = texts.listed("counts", **counts)
    return [texts.say("rebind.moved", what=what)] if what else []


async def _save(
    panel: PanelMap, raw: dict[str, object], changed: dict[str, object], policy: str, *names: str
) -> None:
    """The map, and the former account's policy under its new name. Raises NotSaved."""
    if policy:
        old, new = names
        policies = panel.table(f"{_GROUP}.{_POLICIES}")
        policies.pop(old, None)
        renamed = panel.table(_GROUP) | {_POLICIES: policies | {new: policy}}
        await panel.save_all({MAP_KEY: changed, _GROUP: renamed})
    elif changed != raw:
        await panel.save(changed)
