"""``/memory``: every command as a text in, text out. Replies show what the conversation may see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import (
    Actor,
    ConversationId,
    EngineClosed,
    MemoryDraft,
    Rejected,
    RejectReason,
    ScopedMemoryError,
    Source,
    Stored,
    StoredMemory,
)
from ...llm_memory.models.data_models import Topic
from ...llm_memory.models.vault_layout import topic_of
from ..host.panel_map import NotSaved
from ..latest import Latest
from ..plugin_context import PluginContext
from ..replies.outcome_text import Enough, added_text, error_text
from ..turn.first_message import announce_conversation, strangers_warning
from .call import Asked, Call, Handler, Person, no, yes
from .command_words import unknown_text
from .correct_commands import edit, forget, move, undo
from .decide_commands import decide
from .file_commands import backup, export, import_, moving, restore
from .look_commands import list_, search, status, todo, why
from .loop_commands import letters, migrate, pause, reflect, resume, sleep
from .scope_commands import join, scope
from .soul_commands import soul

Command = Callable[[ConversationId, Actor, str], Awaitable[str]]
_LISTS = 500
"""Persons whose last list is kept, of all conversations together."""
_ASKED = 100
"""Persons whose yes is waited for."""

_MORE = {"管理": "manage", "manage": "manage", "维护": "upkeep", "upkeep": "upkeep"}
_MOVING = frozenset({"搬家", "moving", "move"})


async def help_(call: Call) -> str:
    """List the commands; for an unknown word, suggest the nearest ones."""
    word = call.rest.strip().lower()
    if call.actor.admin and word in _MOVING:
        return moving(call)
    if call.actor.admin and word in _MORE:
        return call.say(f"help.{_MORE[word]}")
    if call.rest and (said := unknown_text(call.texts, call.rest, admin=call.actor.admin)):
        return said
    for_admins = [call.say("help.admin")] if call.actor.admin else []
    return "\n".join([call.say("help.text"), *for_admins])


async def add(call: Call) -> str:
    """Remember the text as it stands."""
    if not call.rest:
        return call.say("add.usage")
    if minutes := call.plugin.rate.wait(call.where, call.actor, call.rest):
        return call.say("add.too_fast", minutes=minutes)
    draft = MemoryDraft(call.rest, source=Source.COMMAND, actor=call.actor)
    outcome = await call.service.remember(draft, conversation_id=call.where)
    said = added_text(call.texts, outcome)
    if isinstance(outcome, Rejected) and outcome.reason is RejectReason.OFF_THE_RECORD:
        said += f"\n{call.how_to_resume}"
    if isinstance(outcome, Stored) and _is_rule(outcome.memory):
        call.list_of([outcome.memory.memory.memory_id])
        said = call.say("add.rule")
    return said


def _is_rule(stored: StoredMemory) -> bool:
    return topic_of(stored.path) is Topic.INSTRUCTIONS and stored.memory.provenance.trusted


_ALL = (
    help_, status, scope, join, list_, todo, search, why, add, forget, edit, move, undo, pause,
    resume, reflect, letters, yes, no, export, import_, backup, restore, decide, soul, sleep,
    migrate,
)  # fmt: skip
_HANDLERS: Mapping[str, Handler] = {one.__name__.removesuffix("_"): one for one in _ALL}
"""By the name in the table of commands; the underscore keeps clear of a name of Python's."""


class Commands:
    """Each command is an attribute: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        lists = Latest[Person, Mapping[int, str]](_LISTS)
        asked = Latest[Person, Asked](_ASKED)
        self._call = partial(Call, plugin, lists=lists, asked=asked)

    def __getattr__(self, name: str) -> Command:
        handler = _HANDLERS.get(name.removesuffix("_"))
        if handler is None:
            raise AttributeError(name)

        async def command(where: ConversationId, actor: Actor, rest: str) -> str:
            call = self._call(where, actor, rest)
            if handler not in (yes, no):  # a later yes would mean something else
                call.asked.pop(call.person, None)
            try:
                return await handler(call)
            except (Enough, NotSaved) as end:
                return error_text(self._plugin.texts, end)

        return command

    async def answer(self, event: AstrMessageEvent, command: Command) -> str | None:
        """Run a command for an event. None where the engine was closed before anything was done."""
        plugin = self._plugin
        plugin.astrbot_is_up()
        conversation_id = await plugin.turns.conversation_id(event)
        actor = await plugin.turns.actor(event)
        try:
            plugin.spawn(announce_conversation(plugin, conversation_id, actor))
            reply = await command(conversation_id, actor, plugin.turns.command_rest(event, 2))
            return reply + await self._beside(reply, actor)
        except EngineClosed:
            return None
        except ScopedMemoryError as error:
            return error_text(plugin.texts, error)
        except Exception as error:  # noqa: BLE001  (a command answers something; the log has more)
            logger.exception(plugin.texts.say("log.command_failed"))
            return plugin.texts.say("outcome.failed", detail=type(error).__name__)

    async def _beside(self, reply: str, actor: Actor) -> str:
        """Returns the warnings that an admin was not told in chat yet."""
        with suppress(ScopedMemoryError):  # the command's own reply has said it
            warning = await strangers_warning(self._plugin, actor) if actor.admin else ""
            if warning and warning not in reply:
                return "\n" + self._plugin.texts.say("status.warning", text=warning)
        return ""
