"""One turn: recall, inject; and, when it is finished, queue it for the reflection."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.provider import LLMResponse, ProviderRequest
from astrbot.core.agent.message import TextPart

from ..llm_memory import ContextLine, ConversationKind, EngineClosed, EngineOff, Turn, Voice
from ..llm_memory.models.turns import PAUSED_VIEW
from ..llm_memory.remember.rules.gate import is_off_the_record
from ..llm_memory.service.turns import TurnStart
from .commands.scope_moves import rebind_moved
from .host.bot import answers_itself
from .plugin_context import PluginContext
from .turn import events as read
from .turn.events import Said, notes_of, quoted_words, said_words


class DeepMind:
    """What happens around one request to the model."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._events = plugin.events

    def announced(self, event: AstrMessageEvent) -> None:
        """AstrBot will ask the model about a message, and gets the request ready first."""
        words, place = said_words(event), self._events.place(event)
        wanted = self._plugin.config.auto_inject_topk and self._events.is_a_persons(event)
        if wanted and words and not read.is_command(event):
            self._plugin.service.announce(words, conversation_id=place)

    async def before_request(self, event: AstrMessageEvent, request: ProviderRequest) -> bool:
        """Add the persona's learned manner to every request; recall for the person's words and
        put the result behind them, once a turn. False where the engine was closed before."""
        if read.is_command(event):
            return True
        service, said = self._plugin.service, await self._events.read(event, request.conversation)
        if "began" not in notes_of(event):
            start = await self.begin(event, said)
            if not start.text and any(isinstance(fault, EngineClosed) for fault in start.faults):
                del notes_of(event)["began"]
                return False
            self._put(event, request, said, start)
        # Last, for a recall waits a moment where the store is still being opened. It stays the
        # same while it is in force, and what stands before it is cached all the time.
        manner = service.souls.injected(said.where.persona)
        if manner not in (prompt := request.system_prompt or ""):
            request.system_prompt = prompt + manner
        return True

    def begin(self, event: AstrMessageEvent, said: Said) -> Awaitable[TurnStart]:
        """For a runner that reads nothing but the prompt, into which the owner wants nothing,
        nothing is looked for."""
        plugin, config, notes = self._plugin, self._plugin.config, notes_of(event)
        persons = self._events.is_a_persons(event)
        if said.who.spoke:
            self._events.begins(event)
        notes["began"] = plugin.clock()
        notes.setdefault("history", said.history)
        alone = not answers_itself(plugin.astrbot, said.where.umo)
        unread = alone and not config.inject_into_prompt
        # A third-party runner keeps its history by itself: AstrBot's own is empty all the time.
        new_talk = said.empty and not alone
        if new_talk and persons:
            plugin.talk.clear(said.where)
        # What was said just before, and what the person replies to.
        context = plugin.talk.before(said.where, said.who.person, said.history)
        if quoted := quoted_words(event):
            context += (ContextLine(Voice.QUOTED, quoted, plugin.clock()),)
        return plugin.service.begin_turn(
            said.words,
            conversation_id=said.where,
            actor=said.who,
            seconds=config.recall_deadline_ms / 1000,
            limit=0 if unread else config.auto_inject_topk,
            token_budget=config.inject_token_budget,
            context=context if persons else (),
            history=said.history,
            empty_history=said.empty,
            new_talk=new_talk,
            # A timer of AstrBot's that goes off is no person who comes back.
            primed=persons and config.engine.loop.prime_after_hours > 0 and not unread,
        )

    def _put(
        self, event: AstrMessageEvent, request: ProviderRequest, said: Said, start: TurnStart
    ) -> None:
        """Put what the memory tells into the request, and say in the log what that was."""
        plugin, notes, hits = self._plugin, notes_of(event), start.recall.hits
        notes["view"] = notes.get("view") or start.view
        notes["recalled"] = (*notes.get("recalled", ()), *(hit.memory_id for hit in hits))
        say, count = plugin.texts.say, len(hits) + len(start.primer.shown)
        if start.text:
            scope = start.scope_name or "-"
            logger.info(say("log.injected", count=count, id=said.where, scope=scope))
            if answers_itself(plugin.astrbot, said.where.umo):
                # Temporary: never saved to the history. And the system prompt stays as it is, so
                # that the provider's prefix cache holds.
                request.extra_user_content_parts.append(TextPart(text=start.text).mark_as_temp())
            else:
                request.prompt = f"{request.prompt or ''}\n\n{start.text}"
        for fault in dict.fromkeys(start.faults):
            if isinstance(fault, TimeoutError):
                logger.warning(say("log.deadline", ms=plugin.config.recall_deadline_ms))
            elif not isinstance(fault, (EngineClosed, EngineOff)):  # a reload, or a notice says it
                logger.error(say("log.recall_failed"), exc_info=fault)

    def listens_to(self, event: AstrMessageEvent) -> bool:
        """Whether a message that does not address the bot is to be heard. Every message comes by
        here."""
        plugin, config = self._plugin, self._plugin.config
        # A pause may be over before the event's turn has begun.
        if plugin.service.pause_of(self._events.place(event)) is not None:
            notes_of(event).setdefault("view", PAUSED_VIEW)
        self._events.comes(event)
        in_group = bool(event.get_group_id()) and not event.is_private_chat()
        heard = config.observe_groups and config.engine.loop.reads_turns and in_group
        unaddressed = heard and not event.is_at_or_wake_command
        return unaddressed and self._events.is_a_persons(event) and bool(said_words(event))

    def chat_moved(self, old: str, new: str) -> None:
        """The platform says that a group goes on under another id."""
        self._plugin.service.chat_moved(old, new)
        self._plugin.spawn(rebind_moved(self._plugin, old, new))

    async def finished(self, event: AstrMessageEvent, response: LLMResponse | None) -> bool:
        """Queue a turn that the bot has answered, once: whatever the answer was, but not where
        AstrBot has none. ``response`` is None where a tool has answered in the model's place, and
        where nobody has addressed the bot. False where the engine was closed before."""
        turn, plugin = await self._turn(event, response), self._plugin
        if turn is None:
            return True
        where, service = await self._events.where(event), plugin.service
        off_the_record = service.pause_of(where) is not None or is_off_the_record(turn.user_text)
        if not off_the_record and not turn.forgot:  # for the recall of the next turn
            plugin.talk.note(where, turn, plugin.clock())
        with suppress(EngineOff):  # the notice has said it
            try:
                await service.observe(turn, conversation_id=where)
            except EngineClosed:
                notes_of(event)["kept"] = False
                return False
        return True

    async def _turn(self, event: AstrMessageEvent, response: LLMResponse | None) -> Turn | None:
        """What is to be queued; None for nothing."""
        reply, notes = read.reply_text(event, response), notes_of(event)
        if reply is None or read.is_command(event) or not self._events.is_a_persons(event):
            return None
        recalled = tuple(dict.fromkeys(notes.get("recalled", ())))
        # Something was shown under an unknown map: that counts as another one than now.
        view = notes.get("view") or ("unknown" if recalled else "")
        # What was said while paused is not kept, though that may be over by now.
        if view == PAUSED_VIEW or notes.get("kept"):
            return None
        notes["kept"] = True
        return Turn(
            await self._events.who(event),
            read.all_words(event),
            reply,
            recalled,
            notes.get("began"),
            view,
            notes.get("history", ""),
            tuple(dict.fromkeys(notes.get("stored", ()))),
            bool(notes.get("forgot")),
        )

    async def sent(self, event: AstrMessageEvent) -> bool:
        """The bot has answered: an admin hears now what he was not told in chat yet."""
        events = self._events
        if event.is_admin() and events.is_a_persons(event) and not read.is_command(event):
            where, actor = await events.where(event), await events.who(event)
            with suppress(EngineClosed, EngineOff):
                if where.kind is ConversationKind.PRIVATE:
                    await self._plugin.news(actor, where.umo)
        return True
