"""One turn of a conversation: what it is told when it begins, and its way onto the queue when it is
finished."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ..errors import EngineClosed, EngineOff
from ..models.conversation import Actor, ConversationId
from ..models.recall import Hit, Recall, Trace
from ..models.turns import PAUSED_VIEW, ContextLine, NotObserved, ObserveOutcome, Turn
from ..primer.models import Primed, Primer
from ..primer.primer_service import PrimerService
from ..primer.rules.opening import AS_MARKDOWN, as_told, frame_tokens, opening
from ..recall.request import WEEK, RecallRequest
from ..reflection.turn_queue import TurnQueue
from ..remember.rules.off_the_record import is_off_the_record, without_forget_wishes
from ..scopes.access import ConversationView
from ..scopes.scope_book import FirstContact
from ..text.hit_line import fence, fence_tokens
from ..texts import Texts
from .conversations import Conversations
from .recalls import REFUSED, Recalls

_LATE = "deadline"


class TurnPart(StrEnum):
    """What the beginning of a turn is answered with."""

    VIEW = "view"
    RECALL = "recall"
    PRIMER = "primer"


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What is asked of the memory when a turn begins.

    Attributes:
        query: What the person says.
        seconds: After so long the turn goes on without what is not there yet.
        limit: At most so many memories; 0 for no recall.
        token_budget: For all that is told of the memories, the words around them too.
        context: See ``CognitiveService.recall``.
        history: The id of the chat history that the model is given, empty for none.
        empty_history: Nothing stands in that history yet.
        new_talk: This turn is the first of a talk, which opens with the constitution.
        primed: The turn wants a primer, within the setting's tokens.
    """

    query: str
    seconds: float
    limit: int
    token_budget: int
    context: Sequence[ContextLine] = ()
    history: str = ""
    empty_history: bool = False
    new_talk: bool = False
    primed: bool = False


@dataclass(frozen=True, slots=True)
class TurnStart:
    """What a turn begins with.

    Attributes:
        text: All that the model is told, between fences; empty where that is nothing.
        view: The mark for ``Turn.view``; empty where it could not be told.
        scope_name: The scope that the conversation reads beside public, for logs.
        contact: Goes on behind the turn: notes that the person's message came. None where no
            person spoke; its result is None where the engine is off, or was closed before.
        faults: Why a part is missing: TimeoutError for one that came too late.
    """

    text: str = ""
    view: str = ""
    recall: Recall = field(default_factory=Recall)
    primer: Primer = field(default_factory=Primer)
    scope_name: str = ""
    contact: asyncio.Task[FirstContact | None] | None = None
    faults: Mapping[TurnPart, Exception] = field(default_factory=dict)


@dataclass(eq=False)
class Turns(Recalls):
    """Resolves a turn's scope once, and gives everything that the turn asks the same view."""

    _primers: PrimerService
    conversations: Conversations
    """What is known of conversations and of who speaks in them."""
    _queue: TurnQueue

    async def begin_turn(
        self, request: TurnRequest, *, conversation_id: ConversationId, actor: Actor
    ) -> TurnStart:
        """Everything that a turn is told when it begins, its scope resolved once: the view's mark,
        the recall, the primer. To be asked once a turn, for it notes when the turn came.

        A part that is not there after ``request.seconds``, or failed, is empty, and ``faults`` says
        why; only a cancelled caller is raised.
        """
        deadline = asyncio.get_running_loop().time() + request.seconds
        view: ConversationView | None = None
        mark: str | Exception
        recall: Recall | Exception
        primer: Primer | Exception
        try:
            async with asyncio.timeout_at(deadline):
                await self._life.begun()
            view = self._access.view(conversation_id)
        except Exception as error:  # noqa: BLE001  (whatever it is, the turn goes on without)
            mark, recall, primer = error, error, error
        # Before the rest: a turn that is given up has come all the same.
        contact = None
        if actor.spoke:
            contact = self._life.start(self._meet(conversation_id, actor, view))
        if view is not None:
            mark, recall, primer = await asyncio.gather(
                _until(deadline, self._mark(view, request.history, empty=request.empty_history)),
                _until(deadline, self._recall(request, view, actor)),
                _until(deadline, self._primer(request, view, actor)),
            )
        parts = {TurnPart.VIEW: mark, TurnPart.RECALL: recall, TurnPart.PRIMER: primer}
        recalled = recall if isinstance(recall, Recall) else _not_recalled(recall)
        primed = primer if isinstance(primer, Primer) else Primer()
        return TurnStart(
            self._told(primed, recalled),
            mark if isinstance(mark, str) else "",
            recalled,
            primed,
            view.scope_name if view else "",
            contact,
            {part: found for part, found in parts.items() if isinstance(found, Exception)},
        )

    def _told(self, primer: Primer, recall: Recall) -> str:
        if primer.sections:
            return opening(primer, recall.hits, self._texts, recall.left_out)
        return fence(recall.hits, self._texts, recall.left_out) if recall.hits else ""

    @property
    def _texts(self) -> Texts:
        return Texts.of("en" if self._settings.loop.english else "zh")

    async def _meet(
        self, conversation_id: ConversationId, actor: Actor, view: ConversationView | None
    ) -> FirstContact | None:
        try:
            return await self.conversations.meet(conversation_id, actor, view)
        except (EngineClosed, EngineOff):  # a turn that was given up awaits it no more
            return None

    async def _recall(self, request: TurnRequest, view: ConversationView, actor: Actor) -> Recall:
        if request.limit == 0 or not request.query:
            return Recall()
        await self._life.begun(wait_seconds=self._settings.load_seconds)
        if view.readable is None:
            return Recall(trace=REFUSED)
        asked = RecallRequest(
            request.query,
            view.readable,
            limit=request.limit,
            token_budget=request.token_budget - fence_tokens(self._texts),
            asker=actor,
            texts=self._texts,
            days=WEEK,
            context=request.context,
            in_talk=True,
        )
        return await self._recall_in(asked, view)

    async def _primer(self, request: TurnRequest, view: ConversationView, actor: Actor) -> Primer:
        if not request.primed:
            return Primer()
        await self._life.ready()
        return await self._prime(view, actor, new_talk=request.new_talk)

    async def prime(
        self,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        token_budget: int | None = None,
    ) -> Primer:
        """A turn begins: what the conversation is told if it is the first one after a pause, else
        nothing. To be asked once a turn, for it notes when it came. ``token_budget``: for all that
        is told, the words around it too; None for the setting's.

        Raises StateUnavailable if the time of the last turn is unknown.
        """
        view = await self._view(conversation_id)
        return await self._prime(view, actor, token_budget)

    async def _prime(
        self,
        view: ConversationView,
        actor: Actor,
        token_budget: int | None = None,
        *,
        new_talk: bool = False,
    ) -> Primer:
        """The primer of a conversation that comes back after a pause, else the rules that it was
        not told of, with the constitution where a talk begins; notes that it came. Raises
        StateUnavailable."""
        scope_filter, umo = view.readable, view.conversation_id.umo
        if scope_filter is None or self._paused_conversations.of(view.conversation_id):
            return Primer()
        complete = self._bylines.reader(scope_filter, umo, actor).complete
        budget = self._settings.loop.prime_tokens if token_budget is None else token_budget
        primer = await self._primers.prime(
            view.conversation_id,
            scope_filter,
            actor,
            as_told(self._texts, complete),
            budget - frame_tokens(self._texts),
            new_talk=new_talk,
        )
        return self._as_shown(primer, actor, complete)

    async def _at_once(self, view: ConversationView, actor: Actor, token_budget: int) -> Primer:
        """Where things stand in the conversation, whenever its last turn was; empty where it sees
        nothing."""
        scope_filter, umo = view.readable, view.conversation_id.umo
        if scope_filter is None or self._paused_conversations.of(view.conversation_id):
            return Primer()
        primer = await self._primers.at_once(
            view.conversation_id, scope_filter, actor, AS_MARKDOWN, token_budget
        )
        complete = self._bylines.reader(scope_filter, umo, actor).complete
        return self._as_shown(primer, actor, complete)

    def _as_shown(self, primer: Primer, actor: Actor, complete: Callable[[Hit], Hit]) -> Primer:
        sections = (
            replace(
                section, hits=tuple(map(complete, self._access.as_seen_by(actor, section.hits)))
            )
            for section in primer.sections
        )
        return replace(primer, sections=tuple(sections))

    async def last_primer(self, *, conversation_id: ConversationId) -> Primed | None:
        """That this conversation got one, as far as it may see what it was made of."""
        view = await self._view(conversation_id)
        if view.readable is None:
            return None
        return self._primers.primed(conversation_id.umo, view.readable)

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably. Its scope is fixed now, whatever the map says later, and
        an answer that may carry words of another scope stays out."""
        await self._life.ready()
        # Also where a pause has come to an end meanwhile: it was said off the record.
        paused = self._paused_conversations.of(conversation_id) or turn.view == PAUSED_VIEW
        if paused or is_off_the_record(turn.user_text):
            await self._keep_off(conversation_id, turn.history)
            return NotObserved(note="paused" if paused else "not_to_be_kept")
        if turn.forgot:  # a wish that was done would tell what is forgotten
            turn = replace(turn, user_text=without_forget_wishes(turn.user_text), reply_text="")
        await self._life.begun()
        view = self._access.view(conversation_id)
        switched = bool(turn.view) and turn.view != view.mark
        if switched:
            # The map has changed since the bot was shown something: its answer may tell of that.
            turn = replace(turn, recalled=())
        if await self._is_mixed(view, turn.history, switched=switched) or switched:
            turn = replace(turn, reply_text="")
        return await self._life.finish(
            lambda: self._queue.put(turn, view.writable, conversation_id)
        )

    async def view(
        self, *, conversation_id: ConversationId, history: str = "", empty: bool = False
    ) -> str:
        """A mark of what the conversation sees now, for ``Turn.view``. It names nothing.

        Args:
            history: The chat history that the model is about to be given, noted durably with the
                scope that the conversation has now; empty for none.
            empty: Nothing stands in that history yet.
        """
        await self._life.begun()
        return await self._mark(self._access.view(conversation_id), history, empty=empty)

    async def _mark(self, view: ConversationView, history: str, *, empty: bool) -> str:
        conversation_id = view.conversation_id
        if self._paused_conversations.of(conversation_id):
            await self._keep_off(conversation_id, history)
            return PAUSED_VIEW
        await self._is_mixed(view, history, empty=empty)
        return view.mark

    async def _keep_off(self, conversation_id: ConversationId, history: str) -> None:
        """The history holds what was said off the record, or may."""
        umo = conversation_id.umo
        if history:
            await self._life.finish(lambda: self._histories.off_the_record(umo, history))

    async def _is_mixed(
        self, view: ConversationView, history: str, *, empty: bool = False, switched: bool = False
    ) -> bool:
        if not history or not view.scope_in_use:
            return False
        umo, scope = view.conversation_id.umo, view.scope_in_use
        return await self._life.finish(
            lambda: self._histories.is_mixed(umo, history, scope, empty=empty, switched=switched)
        )


async def _until[T](deadline: float, work: Awaitable[T]) -> T | Exception:
    try:
        async with asyncio.timeout_at(deadline):
            return await work
    except Exception as error:  # noqa: BLE001  (whatever it is, the turn goes on without)
        return error


def _not_recalled(fault: Exception) -> Recall:
    """The explanation of the turn says why nothing was recalled."""
    why = _LATE if isinstance(fault, TimeoutError) else type(fault).__name__
    return Recall(trace=Trace(notes=(why,)))
