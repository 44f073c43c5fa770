"""Reads finished turns in passes: the turns of one conversation together, those that are due in the
order of who used the least.

The model's answer is on disk before it is applied, and the turns stay there until all of it is in
the vault: after a crash the next pass continues where it was. Where a service fails for a line, or
refuses what it is asked, half as many turns are tried next, until the one that it refuses is alone:
that one is put aside, and the others are learned. A service that refuses everything loses nothing:
no turn is put aside before the model has answered in that pass, if only a greeting.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, partial
from typing import Final

from ..errors import ChatFailed, EngineClosed, ScopedMemoryError, StateUnavailable
from ..log import logger
from ..models.data_models import Refused, StoredMemory, is_stored
from ..models.loop import Batch, LineName, ReflectionReport, Resting, WaitingLine, group_of
from ..models.settings import LoopSettings
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..remember.deeds import Deeds
from ..remember.exclusions import Exclusions
from ..runtime.identifiers import Clock
from ..scopes.paused_conversations import PausedConversations
from ..storage.loop_facts import SqliteLoopFacts
from ..text.normalising import derived_id
from .feedback_applier import SCOPE_GONE, FeedbackApplier
from .model import OF_PROMPT, Completion, Model, Purpose, Rests, Schema
from .rules.due import LEAST_CALL, Allowance, is_due, worth_of
from .rules.grounding import grounded
from .rules.prompt import MOST_TURNS, REPLY_TOKENS, Prompt, how_many_fit, reflection_prompt
from .rules.reading import read_reply
from .rules.reply import MOST_CHARS, Doubtful, ReflectionReply, Unreadable, parse_reply
from .turn_store import SqliteTurnStore
from .unread_follower import UnreadFollower

_MINUTE: Final = 60.0
_OFTEN: Final = 600.0
"""Seconds between two passes: at least, and at most."""
_REMEMBERED: Final = 1_000
"""Lines whose worth is remembered until something is said in them."""
_ERROR: Final = "reader_error"
_GREETING: Final = "你好"
type Apply = Callable[..., Awaitable[FeedbackReport]]
"""``CognitiveService.feedback``."""


@dataclass(eq=False)
class ReflectionService:
    """Runs one pass at a time, for all callers."""

    _turns: SqliteTurnStore
    _model: Model
    _applier: FeedbackApplier
    _apply: Apply
    _unread_follower: UnreadFollower
    _corrected: Deeds
    _exclusions: Exclusions
    _paused_conversations: PausedConversations
    _loop_book: SqliteLoopFacts
    _clock: Clock
    _settings: LoopSettings
    _learns: bool
    """False while the scope filter is switched off: nothing is read or stored."""
    last: ReflectionReport = field(init=False, default=ReflectionReport())
    """The report of the last pass, or so far of this one."""
    error: str | None = field(init=False, default=None)
    """The last error, empty after a success, None before it was read from the file."""
    _reading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _woken: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _works: bool = field(init=False, default=False)
    """The model has answered in this pass."""
    _passed: set[str | LineName] = field(init=False, default_factory=set)
    """Answered batches, and lines, that came to nothing in this pass."""
    _suspects: Counter[LineName] = field(init=False, default_factory=Counter)
    """How many of a line's first turns the service failed for or refused together."""

    def __post_init__(self) -> None:
        self._worth = lru_cache(_REMEMBERED)(self._worth_of)

    @property
    def resting(self) -> Resting:
        """Returns why turns wait although they are due: a reason that concerns all turns as of now,
        others as of the last pass."""
        return self._unavailable() or self.last.resting

    def _unavailable(self) -> Resting:
        return self._model.unavailable_reason() if self._learns else "learning_paused"

    def wake(self) -> None:
        """Have the next pass begin now."""
        self._woken.set()

    async def run(self) -> None:
        """Read what is due, until cancelled or closed."""
        while True:
            seconds = _OFTEN
            try:
                await self.read_due()
                seconds = await self.seconds_until_due()
            except EngineClosed:
                return
            except StateUnavailable as error:
                logger.warning("queue_unread", error=error)
            except Exception as error:  # noqa: BLE001  (an error in one pass must not end the loop)
                logger.error("reading_failed", error=repr(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), seconds)
            self._woken.clear()

    async def read_due(self) -> ReflectionReport:
        """Read all turns that are due now, once. Raises EngineClosed, StateUnavailable."""
        return await self._pass(None, "reading")

    async def reflect(self, *, conversation: str | None = None) -> ReflectionReport:
        """Read at once all waiting turns of a conversation; without one, what is due. Backoff is
        skipped, but not the budget. Raises EngineClosed, StateUnavailable."""
        return await self._pass(conversation, "asked")

    async def follow(self) -> None:
        """Have exactly what waits be recallable. Raises StateUnavailable."""
        await self._unread_follower.follow()

    async def retry(self) -> int:
        """Queue again what was put aside. Returns how many batches. Raises StateUnavailable."""
        return await asyncio.to_thread(self._turns.retry)

    async def seconds_until_due(self) -> float:
        """Returns how long to wait for the next pass. Raises StateUnavailable."""
        backoff = await self._model.seconds_to_wait()
        return min(max(backoff, _MINUTE), _OFTEN) if backoff else _OFTEN

    def _is_due(self, line: WaitingLine) -> bool:
        idle, after = timedelta(minutes=self._settings.idle_minutes), self._settings.after_turns
        return is_due(line, self._worth, self._clock(), after_turns=after, idle=idle)

    def _worth_of(self, line: WaitingLine) -> float:
        return sum(map(worth_of, self._turns.waiting(line, MOST_TURNS)))

    def _is_paused(self, *keys: str) -> bool:
        """Returns whether a conversation is off the record, by its own id, or the group's on
        platforms that split a group by member."""
        return any(map(self._paused_conversations.of, keys))

    async def _pass(self, conversation: str | None, purpose: Purpose) -> ReflectionReport:
        await self.follow()
        async with self._reading:
            if self.error is None:
                self.error = await asyncio.to_thread(self._loop_book.fact, _ERROR)
            resting, self.last = self._unavailable(), ReflectionReport()
            self._works, self._passed = False, set()
            if resting not in ("off", "learning_paused"):
                resting = await self._read_all(conversation, purpose)
                if not (resting or conversation):
                    left = await asyncio.to_thread(self._next, None, None)
                    resting = "budget" if left else ""
            if (self.last.error or self.last.read) and self.last.error != self.error:
                self.error = self.last.error
                await asyncio.to_thread(self._loop_book.put_fact, _ERROR, self.error)
            size = await asyncio.to_thread(self._turns.size, conversation)
            self.last = replace(self.last, resting=resting, waiting=size.waiting)
            return self.last

    async def _read_all(self, conversation: str | None, purpose: Purpose) -> Resting:
        """Read one batch after the other. Returns why some that is due was not read."""
        resting: Resting = ""
        while resting != "backoff":
            # A request for a conversation means all its turns.
            allowance = None if conversation else await self._model.allowance()
            found = await asyncio.to_thread(self._next, conversation, allowance)
            if found is None:
                break
            before, (batch, said) = self.last, found
            line = (batch.scope, batch.conversation, said[0].persona)
            place = batch.batch_id if batch.reply else line
            self._passed.add(place)
            try:
                await self._read(batch, said, purpose)
            except Rests as rests:
                resting = rests.why
            except ChatFailed as failed:
                self._passed.discard(place)
                if not await self._is_refused(line, said, failed, purpose):
                    logger.warning("model_silent", error=failed)
                    self.last = replace(self.last, error=str(failed))
                    resting = "backoff"
            if (self.last.read, self.last.dead) != (before.read, before.dead):
                self._passed.discard(place)
                self._suspects[line] -= len(said)
                self._suspects = +self._suspects
        return resting

    async def _is_refused(
        self, line: LineName, said: Sequence[QueuedTurn], failed: ChatFailed, purpose: Purpose
    ) -> bool:
        """Returns whether it is the words of a line that fail, and not the service. Fewer of its
        turns are read together next; one that fails alone, and again, is put aside."""
        again, of_prompt = self._suspects[line] > 0, failed.code in OF_PROMPT
        self._suspects[line] = len(said)
        if again and of_prompt and not self._works:
            harmless = replace(said[0], user_text=_GREETING, reply_text="", recalled=(), who="")
            with suppress(ChatFailed):
                prompt = await self._prompt([harmless], [])
                await self._ask(prompt, lambda _: True, said[0], purpose)
        if again and self._works and len(said) == 1:
            await self._put_aside(said, str(failed))
            return True
        return of_prompt and (self._works or not again)

    def _next(
        self, conversation: str | None, allowance: Allowance | None
    ) -> tuple[Batch, list[QueuedTurn]] | None:
        """Returns what to read next, with its answer if there is one already: of a conversation
        whatever waits; else what is due, of who used the least today, as far as the allowance
        goes. Lines that failed come last."""
        for batch in self._turns.batches():
            if batch.reply and conversation in (None, batch.conversation):
                said = self._turns.of_batch(batch.batch_id)
                if batch.batch_id not in self._passed and not self._is_off_the_record(said):
                    return batch, said
        # What was overheard is read until half of the tokens are spent.
        addressed = allowance is not None and allowance.spent * 2 >= allowance.daily
        lines = [
            line
            for line in self._turns.lines(addressed=addressed)
            if line.name not in self._passed
            and not self._is_paused(line.conversation, line.map_key)
            and (line.conversation == conversation if conversation else self._is_due(line))
            and (allowance is None or allowance.left(line.group) >= LEAST_CALL)
        ]
        used = {} if allowance is None else allowance.used
        urgency = {one: (self._suspects[one.name] > 0, used.get(one.group, 0)) for one in lines}
        line = min(lines, key=urgency.__getitem__, default=None)
        if line is None:
            return None
        left = self._settings.daily_tokens
        if allowance is not None:
            left = min(left, allowance.left(line.group))
        suspected = self._suspects[line.name]
        most = max(suspected // 2, 1) if suspected else MOST_TURNS
        first = self._turns.waiting(line, most, addressed=addressed)
        fitting = first[: how_many_fit(first, left - REPLY_TOKENS)]
        said = self._turns.turns([turn.ticket_id for turn in fitting])
        return (_batch(said), said) if said else None

    def _is_off_the_record(self, said: Sequence[QueuedTurn]) -> bool:
        return self._is_paused(*{key for turn in said for key in (turn.conversation, turn.map_key)})

    async def _read(self, batch: Batch, said: Sequence[QueuedTurn], purpose: Purpose) -> None:
        """Have the model read these turns, and apply what it answers, or has answered. Raises
        ChatFailed, Rests; then they wait."""
        scope = await self._applier.scope_of(batch.scope)
        if scope is None:
            await self._put_aside(said, SCOPE_GONE)
            return
        cleared, learned = self._corrected.texts.cleared, self._exclusions.cleared
        turns = await asyncio.to_thread(lambda: tuple(cleared(learned(one)) for one in said))
        if not any(one.user_text or (one.reply_text and one in said) for one in turns):
            await self._learn(said, Feedback())
            return
        known = await self._applier.known(turns, scope)
        prompt = await self._prompt(turns, known)
        try:
            reply = await self._reply(batch, said, prompt, purpose)
        except ChatFailed as failed:
            if failed.code != "unreadable":
                raise
            await self._put_aside(said, str(failed))
            return
        if reply is not None and not self._is_off_the_record(said):
            read = partial(read_reply, reply, turns, proposes=self._settings.proposes)
            await self._learn(said, await asyncio.to_thread(read))

    async def _prompt(self, turns: Sequence[QueuedTurn], known: Sequence[StoredMemory]) -> Prompt:
        settings = self._settings
        return await asyncio.to_thread(
            reflection_prompt,
            turns,
            known,
            most_tokens=settings.daily_tokens - REPLY_TOKENS,
            proposes=settings.proposes,
            manner=settings.counts_manner,
            spoken="en" if settings.english else "zh",
        )

    async def _reply(
        self, batch: Batch, said: Sequence[QueuedTurn], prompt: Prompt, purpose: Purpose
    ) -> ReflectionReply | None:
        """Returns the answer that was kept, or the model's, kept now; None where the turns are no
        longer all there, in their scope and words. Raises ChatFailed, Rests."""

        texts = list[str]()

        def understand(
            completion: Completion,
        ) -> ReflectionReply | Doubtful[ReflectionReply] | Unreadable:
            texts.append(completion.text[: MOST_CHARS + 1])
            read = parse_reply(texts[-1])
            if isinstance(read, ReflectionReply) and read.dropped:
                logger.info("items_dropped", items=", ".join(read.dropped))
            # With what was corrected since: that is not made up, and refused where it is stored.
            reply = read if isinstance(read, Unreadable) else grounded(read, said, prompt)
            if not isinstance(reply, ReflectionReply) and self._is_off_the_record(said):
                raise Rests("")  # nobody may be asked again now
            return reply

        if batch.reply:
            kept = await asyncio.to_thread(understand, Completion(batch.reply))
            if isinstance(kept, Unreadable):
                raise ChatFailed("unreadable", kept.reason)
            return kept.value if isinstance(kept, Doubtful) else kept
        if await asyncio.to_thread(self._turns.take, batch, _tickets(said)) != [*said]:
            return None
        reply = await self._ask(prompt, understand, said[0], purpose)
        if await asyncio.to_thread(self._turns.of_batch, batch.batch_id) != [*said]:
            return None
        told = texts[0] if len(texts) == 1 else _as_text(reply)
        answered = replace(batch, reply=told)
        return reply if await asyncio.to_thread(self._turns.keep_reply, answered) else None

    async def _ask[T](
        self, prompt: Prompt, schema: Schema[T], turn: QueuedTurn, purpose: Purpose
    ) -> T:
        payer = {"conversation": turn.conversation, "group": group_of(turn.scope)}
        found = await self._model.ask(prompt, schema, purpose=purpose, **payer)
        self._works = True
        return found

    async def _learn(self, said: Sequence[QueuedTurn], feedback: Feedback) -> None:
        first, *also = _tickets(said)
        try:
            applied = await self._apply(feedback, ticket=Ticket(first, tuple(also)))
        except ScopedMemoryError:
            raise  # closed, or a disk error: it is tried again
        except Exception as error:  # noqa: BLE001  (one answer must not stop the others)
            logger.error("reading_not_applied", error=repr(error))
            await self._put_aside(said, f"internal: {type(error).__name__}")
            return
        refused = {one.reason for one in applied.outcomes if isinstance(one, Refused)}
        if "not_written" in refused:
            self.last = replace(self.last, error="not_written")
        elif applied.known and "learning_paused" not in refused:
            stored = sum(is_stored(one, "stored", "replaced") for one in applied.outcomes)
            if applied.dropped:
                logger.info("commands_dropped", count=applied.dropped)
            self.last = replace(
                self.last,
                read=self.last.read + len(said),
                stored=self.last.stored + stored,
                dropped=self.last.dropped + applied.dropped,
                error="",
            )

    async def _put_aside(self, said: Sequence[QueuedTurn], error: str) -> None:
        """They are kept, can be recalled, and an admin may have them read again."""
        dead = replace(_batch(said), error=error)
        await asyncio.to_thread(self._turns.take, dead, _tickets(said))
        logger.warning("turns_set_aside", count=len(said), error=error)
        self.last = replace(self.last, dead=self.last.dead + 1, error=error)


def _as_text(reply: ReflectionReply) -> str:
    """Returns an answer that two were joined to, as a model would have given it."""
    told = {**asdict(reply), "style": [[part for part in one if part] for one in reply.manner]}
    return json.dumps(told, ensure_ascii=False)


def _tickets(turns: Sequence[QueuedTurn]) -> list[str]:
    return [turn.ticket_id for turn in turns]


def _batch(turns: Sequence[QueuedTurn]) -> Batch:
    first = turns[0]
    return Batch(derived_id("b", *_tickets(turns)), first.scope, first.conversation)
