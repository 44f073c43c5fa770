"""``/memory scope rebind``: a chat or a bot account that goes on under another name keeps all that
stands under its former one. A platform that says so itself needs no command."""

from __future__ import annotations

from collections.abc import Mapping

from astrbot.api import logger

from ...llm_memory import Actor, ConversationId, EngineClosed, EngineOff, ScopedMemoryError
from ...llm_memory.models.rebinding import RebindFault, Rebound
from ...llm_memory.scopes.rules.map_keys import canonical_key
from ...llm_memory.scopes.rules.rebinding import (
    chat_key,
    is_account,
    with_moved,
    with_moved_back,
)
from ...llm_memory.text.normalising import clean
from ...llm_memory.text.safe_text import safe
from ..host.panel_map import MAP_KEY, NotSaved, PanelMap
from ..plugin_context import PluginContext
from ..replies.outcome_text import error_text
from .slow_command import answer_or_continue

REBIND = frozenset({"rebind", "改绑", "换绑"})
_UNDO = frozenset({"undo", "撤销", "恢复"})
_ARROWS = str.maketrans(dict.fromkeys("→⇒", " "))
_POLICIES = "dm_scope_by_account"
_GROUP = "advanced"
_SHOWN = 120
_PLATFORM = Actor(person="", name="", admin=True)
"""Who has a chat moved that the platform moved."""


class RebindCommand:
    """One command for admins, and ``moved`` for the platform."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    async def rebind(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """``<old> <new>``, ``<old>`` for this conversation, ``undo`` for the last one."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        names = [canonical_key(clean(name)) for name in rest.translate(_ARROWS).split()]
        if not 1 <= len(names) <= 2:
            return self._say("rebind.usage")

        async def work() -> str:
            if len(names) == 1 and names[0].lower() in _UNDO:
                return await self._undo(conversation_id, actor)
            old, new = (*names, chat_key(conversation_id))[:2]
            return await self._rebind(old, new, conversation_id.umo, actor)

        return await answer_or_continue(self._plugin, work, "rebind.goes_on")

    async def moved(self, old: str, new: str) -> None:
        """The platform says that a chat goes on under another id. What cannot be done now is left
        to an admin: until then the chat reads public only."""
        try:
            await self._plugin.service.admin.rebinds.keep_holds()
            said = await self._rebind(old, new, new, _PLATFORM)
        except (EngineClosed, EngineOff):
            return  # it is held, and the status says so
        except ScopedMemoryError as error:
            said = error_text(self._plugin.texts, error)
        logger.warning(self._say("rebind.platform", old=old, new=new, result=said))

    async def _rebind(self, old: str, new: str, conversation: str, actor: Actor) -> str:
        rebinds, panel = self._plugin.service.admin.rebinds, self._plugin.panel_map
        async with panel.changing:
            raw = panel.read()
            plan = await rebinds.plan(raw, old, new, _policy(panel, old))
            if isinstance(plan, RebindFault):
                if plan is RebindFault.NOTHING and actor is _PLATFORM:
                    await rebinds.release(new)
                names = {"old": safe(old)[:_SHOWN], "new": safe(new)[:_SHOWN]}
                return self._say(f"rebind.{plan}", **names)
            changed = with_moved(raw, plan.moved)
            await rebinds.begin(plan)
            try:
                await _save(panel, raw, changed, plan.policy, old, new)
            except NotSaved as error:
                await rebinds.give_up()
                return self._not_saved(error)
            done = await rebinds.finish(changed, conversation, actor)
        return self._done_text(done)

    async def _undo(self, conversation_id: ConversationId, actor: Actor) -> str:
        rebinds, panel = self._plugin.service.admin.rebinds, self._plugin.panel_map
        async with panel.changing:
            last = await rebinds.last()
            if last is None:
                return self._say("rebind.nothing_to_undo")
            raw = panel.read()
            changed = with_moved_back(raw, last.moved)
            try:
                await _save(panel, raw, changed, last.policy, last.new, last.old)
            except NotSaved as error:
                return self._not_saved(error)
            done = await rebinds.undo(changed, conversation_id.umo, actor)
        count = done.memories if done else 0
        return self._say(
            "rebind.undone", old=last.old, new=last.new, entries=len(last.moved), count=count
        )

    def _done_text(self, done: Rebound) -> str:
        rebinding = done.rebinding
        kind = "account" if is_account(rebinding.old) else "chat"
        lines = [
            self._say(
                f"rebind.done_{kind}",
                old=rebinding.old,
                new=rebinding.new,
                entries=len(rebinding.moved),
            )
        ]
        if done.memories or done.turns:
            lines.append(self._say("rebind.brought", count=done.memories, turns=done.turns))
        if rebinding.paused:
            lines.append(self._say("rebind.paused", count=len(rebinding.paused)))
        if done.left:
            lines.append(self._say("rebind.left", count=done.left))
        return "\n".join([*lines, self._say("rebind.undo")])

    def _not_saved(self, error: NotSaved) -> str:
        if not error.detail:
            return self._say("scope.overtaken")
        return self._say("scope.not_saved", detail=safe(error.detail))


def _policy(panel: PanelMap, account: str) -> str:
    """The policy for private chats that the panel gives this bot account alone; empty for none."""
    return str(_policies(panel).get(account, ""))


def _policies(panel: PanelMap) -> dict[str, object]:
    group = panel.all().get(_GROUP)
    found = group.get(_POLICIES) if isinstance(group, Mapping) else None
    return dict(found) if isinstance(found, Mapping) else {}


async def _save(
    panel: PanelMap, raw: dict[str, object], changed: dict[str, object], policy: str, *names: str
) -> None:
    """The map, and the former account's policy under its new name. Raises NotSaved."""
    if policy:
        old, new = names
        policies = _policies(panel)
        policies.pop(old, None)
        group = panel.all().get(_GROUP)
        others = group if isinstance(group, Mapping) else {}
        renamed = {**others, _POLICIES: policies | {new: policy}}
        await panel.save_all({MAP_KEY: changed, _GROUP: renamed})
    elif changed != raw:
        await panel.save(changed)
