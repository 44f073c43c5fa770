"""``/memory``: every command as a text in, text out. Replies show what the conversation may see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import (
    Actor,
    ConversationId,
    EngineClosed,
    EngineOff,
    EngineStatus,
    MemoryDraft,
    ScopedMemoryError,
    Source,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.loop_text import loop_lines, moment
from ..replies.outcome_text import added_text, error_text
from ..turn.first_message import announce_conversation, strangers_warning
from .backup_commands import BackupCommands
from .bring_command import status_text
from .command_words import unknown_text
from .correct_commands import CorrectCommands
from .decide_commands import DecideCommands
from .last_shown import LastShown
from .look_commands import LookCommands
from .memory_reference import MemoryReference
from .migration_commands import MigrationCommands
from .pause_commands import PauseCommands
from .reflection_commands import ReflectionCommands
from .scope_commands import ScopeCommands
from .sleep_command import SleepCommand
from .transfer_commands import TransferCommands
from .typing_rate import TypingRate

_STATUS_SECONDS = 1.0

Command = Callable[[ConversationId, Actor, str], Awaitable[str]]


class Commands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        self._rate = TypingRate()
        shown = LastShown()
        naming = MemoryReference(plugin, shown)
        look = LookCommands(plugin, naming, shown)
        self.list: Command = look.list
        self.search: Command = look.search
        self.why: Command = look.why
        correct = CorrectCommands(plugin, naming)
        self.forget: Command = correct.forget
        self.edit: Command = correct.edit
        self.move: Command = correct.move
        self.undo: Command = correct.undo
        self.decide: Command = DecideCommands(plugin, naming).decide
        transfers = TransferCommands(plugin)
        self.export: Command = transfers.export
        self.import_: Command = transfers.import_
        moving = BackupCommands(plugin)
        self.backup: Command = moving.backup
        self.restore: Command = moving.restore
        pauses = PauseCommands(plugin)
        reader = ReflectionCommands(plugin)
        self.reflect: Command = reader.reflect
        self.letters: Command = reader.letters
        self.pause: Command = pauses.pause
        self.resume: Command = pauses.resume
        self.sleep: Command = SleepCommand(plugin).sleep
        self.migrate: Command = MigrationCommands(plugin).migrate
        self.scope: Command = ScopeCommands(plugin).scope

    async def answer(
        self, event: AstrMessageEvent, command: Command, *, words: int = 2
    ) -> str | None:
        """Run a command for an event; ``words`` is the length of the command itself. None where
        the engine was closed before anything was done."""
        plugin = self._plugin
        plugin.astrbot_is_up()
        conversation_id = await plugin.turns.conversation_id(event)
        actor = await plugin.turns.actor(event)
        try:
            with suppress(EngineClosed, EngineOff, TimeoutError):  # the command itself will say so
                async with asyncio.timeout(_STATUS_SECONDS):
                    await plugin.service.conversations.hear(conversation_id, actor)
            plugin.spawn(announce_conversation(plugin, conversation_id, actor))
            reply = await command(conversation_id, actor, plugin.turns.command_rest(event, words))
            return reply + await self._beside(reply, actor)
        except EngineClosed:
            return None
        except ScopedMemoryError as error:
            return error_text(plugin.texts, error)
        except Exception as error:  # noqa: BLE001  (a command answers something; the log has more)
            logger.exception(self._say("log.command_failed"))
            return self._say("outcome.failed", detail=type(error).__name__)

    async def _beside(self, reply: str, actor: Actor) -> str:
        """What an admin has to know, and was not told in chat yet."""
        if not actor.admin:
            return ""
        try:
            warning = await strangers_warning(self._plugin, actor)
        except ScopedMemoryError:  # the command's own reply has said it
            return ""
        if not warning or warning in reply:
            return ""
        return "\n" + self._say("status.warning", text=warning)

    async def help(self, _: ConversationId, actor: Actor, rest: str) -> str:
        """What one can write behind ``/memory``; what comes closest to a word that is none of
        it."""
        if rest and (said := unknown_text(self._plugin.texts, rest)):
            return said
        lines = [self._say("help.text")]
        lines += [self._say("help.admin")] if actor.admin else []
        return "\n".join(lines)

    async def status(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """How the engine is doing; the warnings to admins only, for they name conversations."""
        status = await self._plugin.status()
        try:
            async with asyncio.timeout(_STATUS_SECONDS):
                report = await self._plugin.service.describe(conversation_id=conversation_id)
            visible = self._say("status.visible", count=report.visible)
        except TimeoutError:
            visible = self._say("status.opening")
        except EngineOff as error:
            visible = error_text(self._plugin.texts, error)
        lines = [
            self._say(
                "status.head",
                version=self._plugin.version,
                embedder=status.embedder or self._say("status.no_embedder"),
                index=self._say(f"index.{status.index}"),
            ),
            visible,
        ]
        lines += self._index_lines(status) if actor.admin else []  # of all scopes
        if self._plugin.advice and actor.admin:
            lines.append(self._plugin.advice)
        if status.notes and actor.admin:
            places = self._say("status.and").join(
                self._say("status.place", place=safe(place), count=count)
                for place, count in sorted(status.notes.items())
            )
            lines.append(self._say("status.notes", count=sum(status.notes.values()), places=places))
        since = self._plugin.service.conversations.paused_since(conversation_id)
        lines += [self._say("status.paused", since=moment(since))] if since else []
        lines += loop_lines(self._plugin.texts, status.loop) if actor.admin else []
        if actor.admin:  # of all conversations
            lines += [status_text(self._plugin.texts, one) for one in status.left]
        if actor.admin:
            lines += await self._new_rules(conversation_id, actor)
        warnings = self._plugin.warnings(status)
        if warnings and actor.admin:
            lines += [self._say("status.warning", text=text) for text in warnings]
        elif warnings:
            lines.append(self._say("status.warnings_hidden"))
        return "\n".join(lines)

    def _index_lines(self, status: EngineStatus) -> list[str]:
        """What the index lacks, and what of its answers the second check has dropped."""
        lines = []
        if status.backlog:
            total = max(status.total + sum(status.notes.values()), status.backlog)
            done = total - status.backlog
            lines.append(self._say("status.backlog", count=status.backlog, done=done, total=total))
        if drops := status.scope_check_drops:
            lines.append(self._say("status.scope_check_drops", count=drops))
        return lines

    async def _new_rules(self, conversation_id: ConversationId, actor: Actor) -> list[str]:
        """What has become a rule because an admin said so in talk, told once."""
        try:
            async with asyncio.timeout(_STATUS_SECONDS):
                rules = await self._plugin.service.new_rules(
                    conversation_id=conversation_id, actor=actor
                )
        except (TimeoutError, EngineOff):
            return []
        return [
            self._say("status.new_rule", text=safe(one.memory.judgment), id=one.memory.memory_id)
            for one in rules
        ]

    async def add(self, conversation_id: ConversationId, actor: Actor, text: str) -> str:
        """Remember the text as it stands."""
        if not text:
            return self._say("add.usage")
        if minutes := self._rate.wait(conversation_id, actor, text):
            return self._say("add.too_fast", minutes=minutes)
        draft = MemoryDraft(text, source=Source.COMMAND, actor=actor)
        outcome = await self._plugin.service.remember(draft, conversation_id=conversation_id)
        return added_text(self._plugin.texts, outcome)

    async def confirm(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """What is held, because most of its scope is gone from the files, was meant to be; and who
        was not paused again since the pauses were lost is on the record."""
        service = self._plugin.service
        count = await service.admin.confirm_deletions(actor=actor)
        if count is None:
            return self._say("outcome.admins_only")
        lines = [self._say("confirm.done", count=count)] if count else []
        try:
            if await service.conversations.confirm_pauses(actor):
                lines.append(self._say("confirm.pauses"))
            if (await service.describe(conversation_id=conversation_id)).damaged:
                lines.append(self._say("scope.damaged"))  # which is another thing to say yes to
        except EngineClosed:
            if not lines:  # else it is not to be done again: there would be nothing to confirm
                raise
        return "\n".join(lines) or self._say("confirm.nothing")
