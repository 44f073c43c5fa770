"""``/memory scope``: which scope a conversation has, and giving it another one."""

from __future__ import annotations

from contextlib import suppress

from ...llm_memory import (
    Actor,
    ConversationId,
    EngineClosed,
    MapChange,
    NotAllowed,
    Refused,
    ScopeFault,
    Usable,
)
from ...llm_memory.scopes.rules.map_edits import entry_of, with_entry
from ...llm_memory.text.safe_text import safe
from ..host.panel_map import NotSaved
from ..plugin_context import PluginContext
from ..replies.loop_text import moment
from ..turn.first_message import scope_line
from .bring_command import BRING, BringCommand, left_text
from .correct_commands import split
from .rebind_command import REBIND, RebindCommand

_CONFIRM = frozenset({"confirm", "确认"})
_PUBLIC = frozenset({"public", "公共", "公开"})
_OFF = frozenset({"off", "取消", "清除", "none"})
_NAME = 80


class ScopeCommands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        self._bring = BringCommand(plugin).bring
        self._rebind = RebindCommand(plugin).rebind

    async def scope(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Nothing: what it is and why. A name: from now on it is this one, by an admin."""
        word, more = split(rest)
        if not word:
            return await self._describe(conversation_id, actor)
        if word.lower() in _CONFIRM:
            return await self._confirm(actor)
        if word.lower() in BRING:
            return await self._bring(conversation_id, actor, more)
        if word.lower() in REBIND:
            return await self._rebind(conversation_id, actor, more)
        if not actor.admin:
            return self._say("outcome.admins_only")
        if not more and word.lower() in _OFF:
            return await self._set(conversation_id, actor, None)
        name = "public" if not more and word.lower() in _PUBLIC else rest
        return await self._set(conversation_id, actor, name)

    async def _describe(self, conversation_id: ConversationId, actor: Actor) -> str:
        report = await self._plugin.service.describe(conversation_id=conversation_id)
        lines = [
            self._say("scope.id", id=conversation_id.umo),
            scope_line(self._plugin, report.resolution),
            self._say("scope.visible", count=report.visible),
            self._say("scope.paste", id=conversation_id.map_key),
        ]
        if actor.admin:  # a key may name another conversation
            lines += [
                self._say("scope.near", key=safe(key)[:_NAME], value=safe(value)[:_NAME])
                for key, value in report.near
            ]
        if report.paused:
            lines.append(self._say("status.paused", since=moment(report.paused)))
        if report.mixed_history:
            lines.append(self._say("scope.mixed_history"))
        if not self._plugin.config.engine.scope_filter_enabled:
            lines.append(self._say("notice.scope_filter_off"))
        if report.damaged:
            lines.append(self._say("scope.damaged"))
        lines += [left_text(self._plugin.texts, one) for one in report.left]
        is_public = isinstance(report.resolution, Usable) and report.resolution.scope.is_public
        if report.strangers_in_public and is_public:
            lines.append(self._say("scope.strangers"))
        return "\n".join(lines)

    async def _confirm(self, actor: Actor) -> str:
        released = await self._plugin.service.admin.confirm_map(actor=actor)
        if released is None:
            return self._say("outcome.admins_only")
        return self._say("scope.confirmed", count=released)

    async def _set(self, conversation_id: ConversationId, actor: Actor, name: str | None) -> str:
        """Save the map with this conversation's entry changed, and go by it."""
        service, panel_map = self._plugin.service, self._plugin.panel_map
        report = await service.describe(conversation_id=conversation_id)
        if isinstance(report.resolution, Refused):
            return scope_line(self._plugin, report.resolution)
        async with panel_map.changing:
            raw = panel_map.read()
            former = entry_of(raw, conversation_id)
            if former == name:
                same = "scope.set_none" if name is None else "scope.set_already"
                return self._say(same, scope=name or "")
            changed = with_entry(raw, conversation_id, name)
            if fault := await service.admin.check_entry(changed, conversation_id):
                wrong = self._say(f"fault.{ScopeFault(fault)}")
                return self._say("scope.illegal", name=safe(name or "")[:_NAME], fault=wrong)
            try:
                await panel_map.save(changed)
            except NotSaved as error:
                if not error.detail:
                    return self._say("scope.overtaken")
                return self._say("scope.not_saved", detail=safe(error.detail))
            change = await service.admin.change_map(
                changed, conversation_id=conversation_id, actor=actor
            )
        if isinstance(change, NotAllowed):
            return self._say("outcome.admins_only")
        return await self._changed(conversation_id, change, name, former)

    async def _changed(
        self,
        conversation_id: ConversationId,
        change: MapChange,
        name: str | None,
        former: str | None,
    ) -> str:
        """Who sees what from now on, what stays where it was, and how to undo it."""
        after, before = change.after, change.before
        lines = [self._say("scope.set_off")] if name is None else []
        if isinstance(after, Usable) and after.scope.name == name:
            kind = "public" if after.scope.is_public else "private"
            said = self._say(f"scope.set_{kind}", scope=name, count=change.sharing)
            lines.append(said)
        else:
            lines.append(scope_line(self._plugin, after))
        if isinstance(before, Usable) and isinstance(after, Usable) and before.scope != after.scope:
            stays = "scope.stays_public" if before.scope.is_public else "scope.stays"
            lines.append(self._say(stays, scope=before.scope.name))
            with suppress(EngineClosed):  # the change is made, and not to be made again
                report = await self._plugin.service.describe(conversation_id=conversation_id)
                lines += [left_text(self._plugin.texts, one) for one in report.left]
        back = self._say("scope.word_off") if former is None else safe(former)[:_NAME]
        lines.append(self._say("scope.set_back", word=back))
        return "\n".join(lines)
