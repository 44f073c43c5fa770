"""``/memory``: every command as a text in, text out. Replies show what the conversation may see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ..llm_memory import (
    OFF_THE_RECORD,
    Actor,
    BroughtBack,
    ConversationId,
    Edited,
    EngineOff,
    Forgotten,
    Memory,
    MemoryDraft,
    Moved,
    NotAllowed,
    NotVisible,
    Purged,
    Rejected,
    Restored,
    ScopedMemoryError,
    Source,
    Undone,
    Usable,
)
from ..llm_memory.policies.text import preview
from .bring_command import BRING, BringCommand, brought_back_text, left_text, status_text
from .explanation import primed_text, why_text
from .loop_texts import loop_lines, moment
from .migration_commands import MigrationCommands
from .outcomes import error_text, redacted_text, rejected_text, remembered_text
from .patiently import patiently
from .pause_commands import PauseCommands
from .plugin_context import PluginContext
from .reflection_commands import ReflectionCommands
from .services.injection_service import hit_line, safe
from .sleep_command import SleepCommand
from .transfer_commands import TransferCommands
from .welcome import greet, scope_line, strangers_warning

_LISTED = 10
_SEARCH_BUDGET = 4000
_PREVIEW = 80
_STATUS_SECONDS = 1.0
_FOR_GOOD = ("purge", "彻底")
_BACK = ("1", "2", "3", "4", "5")
"""As many recalls of a conversation as are told of."""

Command = Callable[[ConversationId, Actor, str], Awaitable[str]]


class Commands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        transfers = TransferCommands(plugin)
        self.export: Command = transfers.export
        self.import_: Command = transfers.import_
        pauses = PauseCommands(plugin)
        reader = ReflectionCommands(plugin)
        self.reflect: Command = reader.reflect
        self.letters: Command = reader.letters
        self.pause: Command = pauses.pause
        self.resume: Command = pauses.resume
        self.sleep: Command = SleepCommand(plugin).sleep
        self.migrate: Command = MigrationCommands(plugin).migrate
        self._bring: Command = BringCommand(plugin).bring

    async def answer(self, event: AstrMessageEvent, command: Command, *, words: int = 2) -> str:
        """Run a command for an event; ``words`` is the length of the command itself."""
        plugin = self._plugin
        plugin.astrbot_is_up()
        conversation_id = await plugin.turns.conversation_id(event)
        actor = await plugin.turns.actor(event)
        try:
            plugin.spawn(greet(plugin, conversation_id, actor))
            reply = await command(conversation_id, actor, plugin.turns.command_rest(event, words))
            return reply + await self._beside(reply, actor)
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

    async def help(self, _: ConversationId, __: Actor, ___: str) -> str:
        """What one can write behind ``/memory``."""
        return self._say("help.text")

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
        if status.backlog and actor.admin:  # of all scopes
            total = max(status.total + sum(status.notes.values()), status.backlog)
            done = total - status.backlog
            lines.append(self._say("status.backlog", count=status.backlog, done=done, total=total))
        if self._plugin.advice and actor.admin:
            lines.append(self._plugin.advice)
        if status.notes and actor.admin:
            places = self._say("status.and").join(
                self._say("status.place", place=safe(place), count=count)
                for place, count in sorted(status.notes.items())
            )
            lines.append(self._say("status.notes", count=sum(status.notes.values()), places=places))
        since = self._plugin.service.paused_since(conversation_id)
        lines += [self._say("status.paused", since=moment(since))] if since else []
        lines += loop_lines(self._plugin.texts, status.loop) if actor.admin else []
        if actor.admin:  # of all conversations
            lines += [status_text(self._plugin.texts, one) for one in status.left]
        warnings = self._plugin.warnings(status)
        if warnings and actor.admin:
            lines += [self._say("status.warning", text=text) for text in warnings]
        elif warnings:
            lines.append(self._say("status.warnings_hidden"))
        return "\n".join(lines)

    async def scope(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """This conversation's id, its scope and why, and what to paste into the map."""
        word, more = _split(rest)
        if word in {"confirm", "确认"}:
            return await self._confirm(actor)
        if word in BRING:
            return await self._bring(conversation_id, actor, more)
        report = await self._plugin.service.describe(conversation_id=conversation_id)
        lines = [
            self._say("scope.id", id=conversation_id.umo),
            scope_line(self._plugin, report.resolution),
            self._say("scope.visible", count=report.visible),
            self._say("scope.paste", id=conversation_id.map_key),
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
        released = await self._plugin.service.confirm_map(actor=actor)
        if released is None:
            return self._say("outcome.admins_only")
        return self._say("scope.confirmed", count=released)

    def _words(self, memory: Memory) -> str:
        words = safe(preview(memory.judgment, _PREVIEW))
        return self._say("inject.quoted", text=words) if memory.quoted else words

    async def list(self, conversation_id: ConversationId, _: Actor, __: str) -> str:
        """The newest memories that this conversation may see."""
        newest = await self._plugin.service.newest(conversation_id=conversation_id, limit=_LISTED)
        if not newest:
            return self._say("list.empty")
        lines = [self._say("list.head", count=len(newest))]
        for stored in newest:
            memory = stored.memory
            lines.append(
                self._say(
                    "list.line",
                    date=memory.created_at.strftime("%Y-%m-%d"),
                    who=safe(memory.who) or self._say("inject.nobody"),
                    scope=stored.scope.name,
                    text=self._words(memory),
                    id=memory.memory_id,
                )
            )
        return "\n".join(lines)

    async def search(self, conversation_id: ConversationId, actor: Actor, words: str) -> str:
        """What recall finds for the words."""
        if not words:
            return self._say("search.usage")
        recall = await self._plugin.service.recall(
            words,
            conversation_id=conversation_id,
            limit=_LISTED,
            token_budget=_SEARCH_BUDGET,
            actor=actor,
        )
        if OFF_THE_RECORD in recall.trace.notes:
            return self._say("pause.recalled_nothing")
        if not recall.hits:
            return self._say("search.nothing")
        return "\n".join(hit_line(hit, self._plugin.texts) for hit in recall.hits)

    async def why(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """How the last recall of this conversation went; with a number behind, an earlier one."""
        texts, service = self._plugin.texts, self._plugin.service
        back = int(rest) if rest in _BACK else 1
        explained = await service.explain(conversation_id=conversation_id)
        primed = await service.last_primer(conversation_id=conversation_id) if back == 1 else None
        lines = [primed_text(texts, primed)] if primed is not None else []
        lines += [
            why_text(texts, one, back=back, admin=actor.admin) for one in explained[back - 1 : back]
        ]
        return "\n".join(lines) or self._say("explain.nothing")

    async def add(self, conversation_id: ConversationId, actor: Actor, text: str) -> str:
        """Remember the text as it stands."""
        if not text:
            return self._say("add.usage")
        draft = MemoryDraft(text, source=Source.COMMAND, actor=actor)
        outcome = await self._plugin.service.remember(draft, conversation_id=conversation_id)
        return remembered_text(self._plugin.texts, outcome)

    async def forget(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Move an entry to the archive, or purge it: by its speaker or an admin."""
        if not rest:
            return self._say("forget.usage")
        first, how = _split(rest)
        for_good = how.lower() in _FOR_GOOD
        memory_id = first if for_good else rest
        self._plugin.talk.clear(conversation_id)
        outcome = await self._plugin.service.forget(
            memory_id, conversation_id=conversation_id, actor=actor, for_good=for_good
        )
        match outcome:
            case Purged(purged):
                return self._say("forget.purged", id=purged)
            case Forgotten(stored, archived_to):
                return self._say("forget.done", id=stored.memory.memory_id, path=archived_to)
            case NotAllowed():
                return self._say("forget.not_allowed")
            case NotVisible():
                return self._say("forget.not_visible", id=safe(memory_id)[:60])
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    async def edit(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Give an entry other words: by an admin."""
        memory_id, text = _split(rest)
        if not text:
            return self._say("edit.usage")
        outcome = await self._plugin.service.edit(
            memory_id, text, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Edited(stored, before):
                was = safe(preview(before, _PREVIEW))
                said = self._say("edit.done", pointer=stored.pointer, before=was)
                return said + redacted_text(self._plugin.texts, outcome.redacted)
            case NotAllowed():
                return self._say("edit.not_allowed")
            case NotVisible():
                return self._say("forget.not_visible", id=safe(memory_id)[:60])
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    async def move(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Move an entry to another scope: by an admin."""
        memory_id, scope = _split(rest)
        if not scope:
            return self._say("move.usage")
        outcome = await self._plugin.service.move(
            memory_id, scope, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Moved(stored, source):
                memory_id = stored.memory.memory_id
                return self._say("move.done", id=memory_id, source=source, scope=stored.scope.name)
            case NotAllowed():
                return self._say("edit.not_allowed")
            case NotVisible():
                return self._say("forget.not_visible", id=safe(memory_id)[:60])
            case Rejected():
                detail = safe(preview(outcome.detail, _PREVIEW))
                return rejected_text(self._plugin.texts, replace(outcome, detail=detail))

    async def confirm(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """What is held, because most of its scope is gone from the files, was meant to be; and who
        was not paused again since the pauses were lost is on the record."""
        service = self._plugin.service
        count = await service.confirm_deletions(actor=actor)
        if count is None:
            return self._say("outcome.admins_only")
        lines = [self._say("confirm.done", count=count)] if count else []
        if await service.confirm_pauses(actor=actor):
            lines.append(self._say("confirm.pauses"))
        if (await service.describe(conversation_id=conversation_id)).damaged:
            lines.append(self._say("scope.damaged"))  # which is another thing to say yes to
        return "\n".join(lines) or self._say("confirm.nothing")

    async def undo(self, conversation_id: ConversationId, actor: Actor, memory_id: str) -> str:
        """Take back the last forget, edit or move: of an entry, or of this person here; or the last
        bringing along, as a whole."""

        async def work() -> str:
            return await self._undo(conversation_id, actor, memory_id)

        return await patiently(self._plugin, work, "undo.goes_on")

    async def _undo(self, conversation_id: ConversationId, actor: Actor, memory_id: str) -> str:
        outcome = await self._plugin.service.restore(
            memory_id, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Restored(stored):
                return self._say("undo.done", pointer=stored.pointer)
            case Undone(stored, moved):
                words = safe(preview(stored.memory.judgment, _PREVIEW))
                said = "undo.moved" if moved else "undo.edited"
                return self._say(said, pointer=stored.pointer, text=words)
            case BroughtBack():
                return brought_back_text(self._plugin.texts, outcome)
            case NotAllowed():
                return self._say("forget.not_allowed")
            case NotVisible() if memory_id:
                return self._say("undo.not_found", id=safe(memory_id)[:60])
            case NotVisible():
                return self._say("undo.nothing")
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)


def _split(rest: str) -> tuple[str, str]:
    """The first word, and what follows it."""
    first, more = (*rest.split(None, 1), "", "")[:2]
    return first, more.strip()
