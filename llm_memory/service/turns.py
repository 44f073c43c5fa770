"""One turn: what it is told when it begins, and its way onto the queue when it is finished."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from ..catalogue.catalogue import key_of
from ..catalogue.rules.talk_anchor import anchor_of
from ..errors import EngineClosed, EngineOff
from ..models.conversation import Actor, ConversationId
from ..models.data_models import Refused, StoredMemory
from ..models.recall import Recall
from ..models.turns import PAUSED_VIEW, ContextLine, ObserveOutcome, Turn
from ..primer.models import Primed, Primer
from ..primer.rules.opening import opening
from ..recall.question import WEEK, RecallRequest
from ..remember.rules.gate import drops_the_last, is_off_the_record, without_forget_wishes
from ..scopes.access import View
from ..text.hit_line import fence, fence_tokens
from .bylines import Reader
from .corrections import Corrections
from .door import deed
from .recalls import Recalls
from .scope_admin import ScopeAdmin

_JUST_NOW: Final = timedelta(minutes=30)
_LAST: Final = 20
"""Memories among which those of the last message are looked for."""


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What a turn begins with.

    Attributes:
        text: All that the model is told, between fences; empty where that is nothing.
        view: The mark for ``Turn.view``; empty where it could not be told.
        scope_name: The scope that the conversation reads beside public, for logs.
        contact: Goes on behind the turn: notes that the person's message came. None where no
            person spoke.
        faults: Why parts of it are missing: TimeoutError for one that came too late.
    """

    text: str = ""
    view: str = ""
    recall: Recall = field(default_factory=Recall)
    primer: Primer = field(default_factory=Primer)
    scope_name: str = ""
    contact: asyncio.Task[None] | None = None
    faults: tuple[Exception, ...] = ()


class Turns(Recalls, Corrections, ScopeAdmin):
    """Resolves a turn's scope once, and gives everything that the turn asks the same view."""

    async def begin_turn(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        seconds: float,
        limit: int,
        token_budget: int,
        context: Sequence[ContextLine] = (),
        history: str = "",
        empty_history: bool = False,
        new_talk: bool = False,
        primed: bool = False,
    ) -> TurnStart:
        """Everything that a turn is told when it begins. To be asked once a turn, for it notes when
        the turn came. A part that is not there after ``seconds``, or failed, is empty; only a
        cancelled caller is raised.

        Args:
            limit: At most so many memories; 0 for no recall.
            token_budget: For all that is told of the memories, the words around them too.
            history: The id of the chat history that the model is given, empty for none.
            empty_history: Nothing stands in that history yet.
            new_talk: This turn is the first of a talk, which opens with the constitution.
            primed: The turn wants a primer, within the setting's tokens.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        # Before the rest: a turn that is given up has come all the same.
        contact = self.parts.life.start(self._meet(conversation_id, actor)) if actor.spoke else None
        try:
            wait = min(self.parts.settings.load_seconds, seconds / 2)
            async with asyncio.timeout_at(deadline):
                await self.parts.life.begun(wait_seconds=wait)
            view, texts = self.parts.gate.look(conversation_id, actor), self.parts.texts
            budget = token_budget - fence_tokens(texts)
            asked = RecallRequest(
                query, view.seen, limit, budget, view.who, WEEK, context, in_talk=True
            )
            question = self._question(asked, view)
        except Exception as error:  # noqa: BLE001  (whatever it is, the turn goes on without)
            return TurnStart(contact=contact, faults=(error,))
        left = deadline - clock()
        # What is noted of the history is noted, also where the turn does not wait for it.
        marking = partial(self._mark, view, history, empty=empty_history)
        parts = await asyncio.gather(
            asyncio.wait_for(self.parts.life.finish(marking), left),
            asyncio.wait_for(self.parts.manager.comprehensive_recall(question), left),
            asyncio.wait_for(self._primer(view, primed=primed, new_talk=new_talk), left),
            return_exceptions=True,
        )
        faults = tuple(one for one in parts if isinstance(one, Exception))
        mark, primer = _else(parts[0], ""), _else(parts[2], Primer())
        recall, text = _else(parts[1], Recall()), ""
        if primer.sections:
            text = opening(primer, recall.hits, texts, recall.left_out)
        elif recall.hits:
            text = fence(recall.hits, texts, recall.left_out)
        return TurnStart(text, mark, recall, primer, view.scope_in_use, contact, faults)

    async def _meet(self, conversation_id: ConversationId, actor: Actor) -> None:
        with suppress(EngineClosed, EngineOff):  # a turn that was given up awaits it no more
            await self.meet(conversation_id, actor)

    async def _primer(self, view: View, *, primed: bool, new_talk: bool) -> Primer:
        """For a conversation that comes back after a pause, else the rules that it was not told of,
        with the constitution where a talk begins. Raises StateUnavailable."""
        if not primed or view.silence:
            return Primer()
        await self.parts.life.ready()
        return await self.parts.primer.prime(
            view, Reader(self.parts, view).complete, new_talk=new_talk
        )

    async def last_primer(self, *, conversation_id: ConversationId) -> Primed | None:
        """That this conversation got one, as far as it may see what it was made of."""
        view = await self.parts.gate.open(conversation_id)
        return self.parts.primer.primed(view.where.umo, view.seen)

    @deed
    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably. Its scope is fixed now, whatever the map says later, and
        an answer that may carry words of another scope stays out. What a turn takes back of what
        its speaker said just before is forgotten, as that person's deed."""
        view = await self.parts.gate.open(conversation_id, turn.actor)
        # Also where a pause has come to an end meanwhile: it was said off the record.
        if view.pause or turn.view == PAUSED_VIEW:
            return Refused("off_the_record")
        if is_off_the_record(turn.user_text):
            if drops_the_last(turn.user_text):
                said = filter(view.may_forget, await self._last_said(turn, view))
                await self._forget(said, view)
            return Refused("not_to_be_kept")
        if turn.forgot:  # a wish that was done would tell what is forgotten
            turn = replace(turn, user_text=without_forget_wishes(turn.user_text), reply_text="")
        # The map has changed since the bot was shown something: its answer may tell of that.
        switched = bool(turn.view) and turn.view != view.mark
        mixed = await self._is_mixed(view, turn.history, switched=switched)
        if switched or mixed:
            turn = replace(turn, reply_text="", recalled=() if switched else turn.recalled)
        return await self.parts.queue.put(turn, view.writes, conversation_id)

    async def _last_said(self, turn: Turn, view: View) -> list[StoredMemory]:
        """What is known of the last message before this one, if that was just now."""
        since = (turn.said_at or self.parts.clock()) - _JUST_NOW

        def just_now(one: StoredMemory) -> bool:
            here = one.memory.provenance.conversation == view.where.umo
            return here and one.memory.created_at >= since

        memories, turns = await self._said_by(turn.actor.person, view, _LAST)
        memories, turns = list(filter(just_now, memories)), list(filter(just_now, turns))
        last = max(turns, key=_said_at, default=None)
        copies = self.parts.unread.copied(key_of(last)) if last else frozenset[str]()
        others = [one for one in memories if one.memory.memory_id not in copies]
        if others and (last is None or _said_at(others[0]) > _said_at(last)):
            at, anchor = _said_at(others[0]), anchor_of(others[0].memory)
            return [
                one
                for one in others
                if _said_at(one) == at or (anchor and anchor_of(one.memory) == anchor)
            ]
        return [one for one in (*memories, *turns) if one.memory.memory_id in copies]

    @deed
    async def view(
        self, *, conversation_id: ConversationId, history: str = "", empty: bool = False
    ) -> str:
        """A mark of what the conversation sees now, for ``Turn.view``. It names nothing.
        ``history``: the one that the model is about to be given, noted durably with the scope that
        the conversation has now; ``empty``: nothing stands in it yet."""
        await self.parts.life.begun()
        return await self._mark(self.parts.gate.look(conversation_id), history, empty=empty)

    async def _mark(self, view: View, history: str, *, empty: bool) -> str:
        if view.pause:
            return PAUSED_VIEW
        await self._is_mixed(view, history, empty=empty)
        return view.mark

    async def _is_mixed(self, view: View, history: str, **how: bool) -> bool:
        umo, scope = view.where.umo, view.scope_in_use
        noted = self.parts.histories.is_mixed
        return bool(history and scope) and await noted(umo, history, scope, **how)


def _said_at(stored: StoredMemory) -> datetime:
    return stored.memory.created_at


def _else[T](found: T | BaseException, instead: T) -> T:
    return instead if isinstance(found, BaseException) else found
