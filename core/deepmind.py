"""One turn: recall, inject; and, when it is finished, queue it for the reflection."""

from __future__ import annotations

import asyncio
from typing import Final

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import LLMResponse, ProviderRequest

from ..llm_memory import (
    Actor,
    ContextLine,
    ConversationId,
    EngineClosed,
    EngineOff,
    Turn,
    Voice,
)
from ..llm_memory.models.turns import PAUSED_VIEW
from ..llm_memory.remember.rules.off_the_record import is_off_the_record
from .commands.rebind_command import rebind_moved
from .plugin_context import PluginContext
from .services.injection_service import add_manner, inject
from .services.retrieval_service import RetrievalService
from .turn.first_message import announce_conversation, log_first_message, warn_admin
from .turn.histories import History, history_of
from .turn.recent_talk import Said
from .turn.spoken_words import quoted_words
from .turn.turn_notes import is_first, notes_of
from .turn.turn_reader import FollowUps

_QUEUE_SECONDS = 0.001
"""A person waits for the answer, and AstrBot alone takes fifty milliseconds. An append takes about
two on an idle machine: what takes longer goes on behind the answer."""

WRITING: Final[set[asyncio.Future[None]]] = set()
"""Turns on their way to the queue: they may outlive the load of the plugin that heard them."""

_UNKNOWN = "unknown"


class DeepMind:
    """What happens around one request to the model."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._retrieval = RetrievalService(plugin)
        self._follow_ups = FollowUps()

    async def announced(self, event: AstrMessageEvent) -> None:
        """AstrBot will ask the model about a message, and gets the request ready first: what the
        recall needs is begun meanwhile, behind it."""
        turns = self._plugin.turns
        if turns.is_command(event) or not turns.is_a_persons(event):
            return
        words, place = turns.user_text(event), turns.place(event)
        self._plugin.spawn(self._retrieval.announce(words, place))
        await asyncio.sleep(0)  # AstrBot may not let go of the loop before the request is ready

    async def before_request(self, event: AstrMessageEvent, request: ProviderRequest) -> None:
        """Add the persona's learned manner to every request; recall for the person's words and
        put the result behind them, once a turn."""
        plugin = self._plugin
        plugin.astrbot_is_up()
        conversation_id = await plugin.turns.conversation_id(event, request.conversation)
        actor = await plugin.turns.actor(event)
        is_command = plugin.turns.is_command(event)
        if is_command or not is_first(event, "injected"):
            plugin.spawn(announce_conversation(plugin, conversation_id, actor))
        else:
            await self._remind(event, request, conversation_id, actor)
        if not is_command:
            # Last, for a recall waits a moment where the store is still being opened.
            add_manner(request, plugin.service.souls.injected(conversation_id.persona))

    async def _remind(
        self,
        event: AstrMessageEvent,
        request: ProviderRequest,
        conversation_id: ConversationId,
        actor: Actor,
    ) -> None:
        plugin = self._plugin
        if actor.spoke:
            self._follow_ups.begins(event)
        notes = notes_of(event)
        notes.setdefault("began", plugin.clock())
        query = plugin.turns.user_text(event)
        umo = event.unified_msg_origin
        history = await history_of(plugin.astrbot, umo, request.conversation)
        notes.setdefault("history", history.cid)
        context = self._context(event, conversation_id, actor, history)
        start = await self._retrieval.begin_turn(
            query,
            conversation_id,
            actor,
            history,
            context,
            # A timer of AstrBot's that goes off is no person who comes back.
            primed=plugin.turns.is_a_persons(event),
        )
        if start.contact is not None:
            plugin.spawn(log_first_message(plugin, conversation_id, start.contact))
        notes["view"] = notes.get("view") or start.view
        recall, primer = start.recall, start.primer
        say, scope = plugin.texts.say, start.scope_name or "-"  # for the log alone
        as_prompt = plugin.reads_prompt_only(conversation_id)
        if start.text:
            inject(request, start.text, as_prompt=as_prompt)
        if primer.sections:
            hours = f"{primer.away.total_seconds() / 3600:.1f}" if primer.away else "-"
            count = len(primer.shown)
            logger.info(
                say("log.primed", id=conversation_id, hours=hours, count=count, scope=scope)
            )
        if recall.hits:
            found = tuple(hit.memory_id for hit in recall.hits)
            notes["recalled"] = (*notes.get("recalled", ()), *found)
            logger.info(say("log.injected", count=len(found), id=conversation_id, scope=scope))

    def _context(
        self,
        event: AstrMessageEvent,
        conversation_id: ConversationId,
        actor: Actor,
        history: History,
    ) -> tuple[ContextLine, ...]:
        """What was said just before: the person's last turns, and what they reply to."""
        plugin = self._plugin
        if not plugin.turns.is_a_persons(event):
            return ()
        # A third-party runner keeps its history by itself: AstrBot's own is empty all the time.
        if history.empty and not plugin.reads_prompt_only(conversation_id):
            plugin.talk.clear(conversation_id)
        quoted = quoted_words(event)
        lines = plugin.talk.before(conversation_id, actor.person, history.cid)
        return (*lines, *([ContextLine(Voice.QUOTED, quoted, plugin.clock())] if quoted else []))

    def listens_to(self, event: AstrMessageEvent) -> bool:
        """Whether a message that does not address the bot is to be heard. Every message comes by
        here, so this is where it is seen to come while a turn goes on."""
        plugin, config = self._plugin, self._plugin.config
        # A pause may be over before the event's turn has begun.
        if plugin.service.conversations.pause_of(plugin.turns.place(event)) is not None:
            notes_of(event).setdefault("view", PAUSED_VIEW)
        if not config.engine.loop.reads_turns:
            return False
        self._follow_ups.comes(event)
        if not config.observe_groups:
            return False
        if not plugin.turns.is_overheard(event):
            return False
        return plugin.turns.is_a_persons(event) and bool(plugin.turns.user_text(event))

    def chat_moved(self, old: str, new: str) -> None:
        """The platform says that a group goes on under another id: from now on it is the
        same."""
        self._plugin.service.admin.chat_moved(old, new)
        self._plugin.spawn(rebind_moved(self._plugin, old, new))

    async def overheard(self, event: AstrMessageEvent) -> None:
        """Queue what was said without addressing the bot, unless the bot has answered it."""
        words = self._plugin.turns.take_words(event)
        if words and not self._plugin.turns.is_command(event):
            await self._queue(event, words, "")

    async def finished(self, event: AstrMessageEvent, response: LLMResponse | None) -> None:
        """Queue a turn that the bot has answered, once: whatever the answer was, but not where
        AstrBot has none. ``response`` is None where a tool has answered in the model's place."""
        turns = self._plugin.turns
        reply = turns.reply_text(event, response)
        if reply is None or turns.is_command(event) or not turns.is_a_persons(event):
            return
        if is_first(event, "answered"):
            words = [turns.take_words(event), *turns.take_follow_ups(event)]
            await self._queue(event, "\n".join(filter(None, words)), reply)

    async def sent(self, event: AstrMessageEvent) -> None:
        """The bot has answered: an admin hears now what he was not told in chat yet."""
        plugin = self._plugin
        if plugin.turns.is_command(event) or not plugin.turns.is_a_persons(event):
            return
        actor = await plugin.turns.actor(event)
        if actor.admin:
            conversation_id = await plugin.turns.conversation_id(event)
            plugin.spawn(warn_admin(plugin, conversation_id, actor))

    async def _queue(self, event: AstrMessageEvent, words: str, reply: str) -> None:
        """Never raises, and holds up the turn no longer than ``_QUEUE_SECONDS``: what takes longer
        goes on behind it."""
        turns, notes = self._plugin.turns, notes_of(event)
        recalled = tuple(dict.fromkeys(notes.get("recalled", ())))
        # Something was shown under an unknown map: that counts as another one than now.
        view = notes.get("view") or (_UNKNOWN if recalled else "")
        if view == PAUSED_VIEW:  # though that may be over by now
            return
        turn = Turn(
            await turns.actor(event),
            words,
            reply,
            recalled,
            notes.get("began"),
            view,
            notes.get("history", ""),
            tuple(dict.fromkeys(notes.get("stored", ()))),
            bool(notes.get("forgot")),
        )
        await self._note_talk(event, turn)
        writing = asyncio.ensure_future(self._write(event, turn))  # a close cancels what is spawned
        WRITING.add(writing)
        writing.add_done_callback(WRITING.discard)
        await asyncio.wait({writing}, timeout=_QUEUE_SECONDS)

    async def _note_talk(self, event: AstrMessageEvent, turn: Turn) -> None:
        """For the recall of the next turn: nothing of what is off the record."""
        plugin = self._plugin
        conversation_id = await plugin.turns.conversation_id(event)
        paused = plugin.service.conversations.pause_of(conversation_id)
        if paused is None and not turn.forgot and not is_off_the_record(turn.user_text):
            said = Said(turn.user_text, turn.reply_text, plugin.clock(), turn.view, turn.history)
            plugin.talk.note(conversation_id, turn.actor.person, said)

    async def _write(self, event: AstrMessageEvent, turn: Turn) -> None:
        """Into the queue of the engine that is open when this one is closed."""
        plugin: PluginContext | None = self._plugin
        closed: PluginContext | None = None
        try:
            while plugin is not None and plugin is not closed:
                try:
                    conversation_id = await plugin.turns.conversation_id(event)
                    await plugin.feedback.queue(turn, conversation_id)
                except EngineClosed:
                    closed, plugin = plugin, await plugin.newest()
                else:
                    return
        except EngineOff:
            return  # the notice has said it
        except Exception:  # noqa: BLE001  (whatever it is, the person gets the answer)
            logger.exception(self._plugin.texts.say("log.observe_failed"))
        else:
            logger.warning(self._plugin.texts.say("log.observe_failed"))
