"""Reads finished turns in passes, those of one conversation together. The model's answer is on disk
before it is applied, and the turns until all of it is in the vault: a crash loses nothing.

Where a service fails for a line, or refuses it, half as many turns are tried next, until the one
that it refuses is alone: that is put aside, if the model answers anything else in the pass.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Final

from ..errors import ChatFailed, EngineClosed, ScopedMemoryError
from ..log import logger
from ..models.data_models import Refused, is_stored
from ..models.loop import LineName, ReflectionReport, Resting, WaitingLine, group_of
from ..models.settings import LoopSettings
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import shielded
from ..scopes.paused_conversations import PausedConversations
from .feedback_applier import FeedbackApplier, Lesson
from .model import OF_PROMPT, Completion, Model, Purpose, Rests
from .rules.due import LEAST_CALL, Allowance, is_due, worth_of
from .rules.grounding import grounded
from .rules.prompt import (
    MOST_TURNS,
    REPLY_TOKENS,
    Prompt,
    how_many_fit,
    instructions,
    reflection_prompt,
)
from .rules.reading import read_reply
from .rules.reply import Doubtful, ReflectionReply, Unreadable, parse_reply
from .turn_queue import UnreadFollower
from .turn_store import SqliteTurnStore

_PAUSE: Final = 60.0  # seconds between two passes
_MOST_WORTH: Final = 2_000
"""Lines whose worth is kept in memory."""
_UNFIT: Final = ("unreadable", "scope_gone", "internal")
"""Why turns are put aside at once, whatever the service does with others."""


@dataclass(eq=False)
class ReflectionService:
    """Runs one pass at a time, for all callers."""

    _turns: SqliteTurnStore
    _model: Model
    _applier: FeedbackApplier
    _apply: Callable[..., Coroutine[object, object, FeedbackReport]]
    _unread_follower: UnreadFollower
    _paused_conversations: PausedConversations
    _clock: Clock
    _settings: LoopSettings
    _learns: bool
    """False while the scope filter is switched off: nothing is read or stored."""
    last: ReflectionReport = field(init=False, default_factory=ReflectionReport)
    """The report of the last pass, or so far of this one."""
    error: str = field(init=False, default="")
    """The last error, empty after a success."""
    _reading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _works: bool = field(init=False, default=False)
    """The model has answered in this pass."""
    _passed: set[LineName] = field(init=False, default_factory=set)
    """Lines that came to nothing in this pass."""
    _worth: dict[WaitingLine, float] = field(init=False, default_factory=dict)
    _suspects: Counter[LineName] = field(init=False, default_factory=Counter)
    """How many of a line's first turns the service failed for or refused together."""

    @property
    def resting(self) -> Resting:
        """Returns why turns wait although they are due, of all turns now, or of the last pass."""
        unavailable = self._model.unavailable_reason() if self._learns else "learning_paused"
        return unavailable or self.last.resting

    async def run(self) -> None:
        """Read what is due, until cancelled or closed."""
        while True:
            try:
                await self.read_due()
            except EngineClosed:
                return
            except Exception as error:  # noqa: BLE001  (an error in one pass must not end the loop)
                logger.error("reading_failed", error=repr(error))
            await asyncio.sleep(_PAUSE)

    async def follow(self) -> None:
        """Have exactly what waits be recallable. Raises StateUnavailable."""
        await self._unread_follower.follow()

    async def retry(self) -> int:
        """Queue again what was put aside. Returns how many batches. Raises StateUnavailable."""
        return await asyncio.to_thread(self._turns.release, dead=True)

    async def read_due(self) -> ReflectionReport:
        """Read all turns that are due now, once. Raises EngineClosed, StateUnavailable."""
        return await self.reflect(conversation=None)

    async def reflect(self, *, conversation: str | None) -> ReflectionReport:
        """Read at once all waiting turns of a conversation, without backoff but within the budget;
        of None, what is due. Raises EngineClosed, StateUnavailable."""
        await self.follow()
        async with self._reading:
            report = self.last = ReflectionReport()
            self._works, self._passed = False, set()
            if self.resting in ("", "no_provider"):
                report.resting = await self._read_all(conversation)
            self.error = report.error if report.read else report.error or self.error
            report.waiting = (await asyncio.to_thread(self._turns.size, conversation)).waiting
            report.resting = self.resting
            return report

    async def _read_all(self, conversation: str | None) -> Resting:
        """Read one batch after the other. Returns why some that is due was not read."""
        purpose: Purpose = "asked" if conversation else "reading"
        whole = Allowance(max(self._settings.daily_tokens, 2 * LEAST_CALL), spent=0, used={})
        resting: Resting = ""
        while resting != "backoff":
            # A request for a conversation means all its turns.
            allowance = whole if conversation else await self._model.allowance()
            said, reply = await asyncio.to_thread(self._next, conversation, allowance)
            if not said:
                left, _ = await asyncio.to_thread(self._next, conversation, whole)
                return "budget" if left and not resting else resting
            try:
                await self._read(said, reply, purpose)
            except Rests as rests:
                resting = rests.why or resting
                self._passed.add(_line(said))
            except ChatFailed as failed:
                if not await self._is_refused(said, failed, purpose):
                    logger.warning("model_silent", error=failed)
                    self.last.error, resting = str(failed), "backoff"
        return resting

    async def _is_refused(
        self, said: Sequence[QueuedTurn], failed: ChatFailed, purpose: Purpose
    ) -> bool:
        """Returns whether it is the words of a line that fail, and not the service. Fewer of its
        turns are read next; one that fails alone, and again, is put aside."""
        line, of_prompt = _line(said), failed.code in OF_PROMPT
        again, self._suspects[line] = self._suspects[line] > 0, len(said)
        if again and of_prompt and not self._works:
            with suppress(ChatFailed):
                self._works = await self._model.ask(
                    Prompt(instructions(), "你好"), bool, purpose=purpose, **_payer(said)
                )
        if failed.code not in _UNFIT and not (again and self._works and len(said) == 1):
            return of_prompt and (self._works or not again)
        if await asyncio.to_thread(self._turns.keep, said, error=str(failed)):
            logger.warning("turns_set_aside", count=len(said), error=failed)
            self.last.dead += 1
            self.last.error = str(failed)
            self._suspects[line] -= len(said)
        return True

    def _next(self, conversation: str | None, allowance: Allowance) -> tuple[list[QueuedTurn], str]:
        """Returns what to read next, with its answer if there is one already: of who used the least
        today, as far as the allowance goes. Lines that failed come last, paused ones wait."""
        for batch in self._turns.batches():
            said = self._turns.of_batch(batch.batch_id) if batch.reply else []
            if said and self._may_read(_line(said), said[0].map_key, conversation):
                return said, batch.reply
        # What was overheard is read until half of the tokens are spent.
        addressed = allowance.spent * 2 >= allowance.daily
        lines = [
            line
            for line in self._turns.lines(addressed=addressed)
            if self._may_read(line.name, line.map_key, conversation)
            and allowance.left(line.group) >= LEAST_CALL
            and (conversation or self._is_due(line))
        ]
        if not lines:
            return [], ""
        used, suspects = allowance.used, self._suspects
        line = min(lines, key=lambda one: (suspects[one.name] > 0, used.get(one.group, 0)))
        most = max(suspects[line.name] // 2, 1) if suspects[line.name] > 0 else MOST_TURNS
        first = self._turns.waiting(line, most, addressed=addressed)
        fitting = first[: how_many_fit(first, allowance.left(line.group) - REPLY_TOKENS)]
        return self._turns.turns([turn.ticket_id for turn in fitting]), ""

    def _may_read(self, line: LineName, map_key: str, conversation: str | None = None) -> bool:
        """Returns whether a line is still to be read in this pass, and not off the record."""
        wanted = conversation in (None, line[1]) and line not in self._passed
        return wanted and not any(map(self._paused_conversations.of, (line[1], map_key)))

    def _worth_of(self, line: WaitingLine) -> float:
        # Each pass asks of each line; another turn makes it another line.
        if line not in self._worth:
            if len(self._worth) >= _MOST_WORTH:
                self._worth.clear()
            said = cooperative(self._turns.waiting(line, MOST_TURNS))
            self._worth[line] = sum(map(worth_of, said))
        return self._worth[line]

    def _is_due(self, line: WaitingLine) -> bool:
        return is_due(
            line,
            self._worth_of,
            self._clock(),
            after_turns=self._settings.after_turns,
            idle=timedelta(minutes=self._settings.idle_minutes),
        )

    async def _read(self, said: Sequence[QueuedTurn], reply: str, purpose: Purpose) -> None:
        """Apply what the model answers about these turns, or has answered already. Raises
        ChatFailed; Rests, too, where they wait on."""
        lesson = await self._applier.lesson(said)
        if lesson is None:
            raise ChatFailed("scope_gone")
        feedback, proposes = Feedback(), self._settings.proposes
        if any(one.user_text or (one.reply_text and one in said) for one in lesson.turns):
            answer = await asyncio.to_thread(parse_reply, reply)
            if isinstance(answer, Unreadable):
                answer = await self._answer(said, lesson, purpose)
                if not await asyncio.to_thread(self._turns.keep, said, reply=_as_text(answer)):
                    raise Rests("")  # moved, dropped or reworded meanwhile
            feedback = await asyncio.to_thread(read_reply, answer, lesson.turns, proposes=proposes)
        await self._learn(said, feedback)

    async def _answer(
        self, said: Sequence[QueuedTurn], lesson: Lesson, purpose: Purpose
    ) -> ReflectionReply:
        """Returns what the model answers, as far as it may stand. Raises ChatFailed, Rests."""
        settings, known = self._settings, await self._applier.known(lesson)
        prompt = await asyncio.to_thread(
            reflection_prompt,
            lesson.turns,
            known,
            most_tokens=settings.daily_tokens - REPLY_TOKENS,
            proposes=settings.proposes,
            manner=settings.counts_manner,
            spoken="en" if settings.english else "zh",
        )

        def understand(
            completion: Completion,
        ) -> ReflectionReply | Doubtful[ReflectionReply] | Unreadable:
            self._works = True
            if not self._may_read(_line(said), said[0].map_key):
                raise Rests("")  # off the record since it was asked: nothing is kept of it
            read = parse_reply(completion.text)
            if isinstance(read, Unreadable):
                return read
            if read.dropped:
                logger.info("items_dropped", items=", ".join(read.dropped))
            # With what was corrected since: that is not made up, and refused where it is stored.
            return grounded(read, said, prompt, cooperative)

        self._turns.read_now = said
        return await self._model.ask(prompt, understand, purpose=purpose, **_payer(said))

    async def _learn(self, said: Sequence[QueuedTurn], feedback: Feedback) -> None:
        first, *also = (turn.ticket_id for turn in said)
        try:
            # Also for a caller who goes away: the next pass would apply the same beside it.
            applied = await shielded(self._apply(feedback, ticket=Ticket(first, tuple(also))))
        except ScopedMemoryError:
            raise  # closed, or a disk error: it is tried again
        except Exception as error:  # one answer must not stop the others
            logger.error("reading_not_applied", error=repr(error))
            raise ChatFailed("internal", type(error).__name__) from error
        refused = {one.reason for one in applied.outcomes if isinstance(one, Refused)}
        self.last.error = "not_written" if "not_written" in refused else ""
        if self.last.error or not applied.known:
            raise Rests("")
        self.last.read += len(said)
        self.last.stored += sum(is_stored(one, "stored", "replaced") for one in applied.outcomes)
        self.last.dropped += applied.dropped
        self._suspects[_line(said)] -= len(said)


def _as_text(reply: ReflectionReply) -> str:
    """Returns an answer as a model would have given it."""
    told = {**asdict(reply), "style": reply.manner, "manner": (), "dropped": ()}
    return json.dumps(told, ensure_ascii=False)


def _payer(turns: Sequence[QueuedTurn]) -> dict[str, str]:
    return {"conversation": turns[0].conversation, "group": group_of(turns[0].scope)}


def _line(turns: Sequence[QueuedTurn]) -> LineName:
    return (turns[0].scope, turns[0].conversation, turns[0].persona)
