"""Reads turns of one conversation together: asks the model, keeps its answer durably, has it
applied. What was begun and not ended waits, and is read again.

Where a service refuses what it was asked, or gives an empty answer, the turns are halved until the
one that it refuses is alone. That one is put aside, and the others are learned: some two calls for
each halving. So that a service which refuses everything loses no turn, nothing is put aside before
the model has answered anything in this pass, if only a greeting.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from ..errors import ChatFailed, ScopedMemoryError
from ..log import logger
from ..models.data_models import Refused, StoredMemory, is_stored
from ..models.loop import Batch, ReflectionReport, group_of
from ..models.settings import LoopSettings
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..remember.deeds import Deeds
from ..remember.exclusions import Exclusions
from ..scopes.paused_conversations import PausedConversations
from ..text.normalising import derived_id
from .chat_port import Completion
from .feedback_applier import SCOPE_GONE, FeedbackApplier
from .model import Model, Purpose, Rests, Schema
from .rules.forgiving_json import MOST_CHARS, Unreadable
from .rules.grounding import grounded
from .rules.prompt import REPLY_TOKENS, Prompt, reflection_prompt
from .rules.reading import read_reply
from .rules.reply import parse_reply
from .turn_store import SqliteTurnStore

_OF_PROMPT: Final = ("content", "empty")
"""Codes of ``ChatFailed`` for which the words may be to blame, and not the service."""
_GREETING: Final = "你好"


class Apply(Protocol):
    """``CognitiveService.feedback``."""

    async def __call__(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from the ticket's turns."""
        ...


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, and what was learned from it."""

    text: str
    feedback: Feedback


class BatchReader:
    """A prompt has at most the tokens that a whole day allows."""

    def __init__(
        self,
        turns: SqliteTurnStore,
        model: Model,
        applier: FeedbackApplier,
        corrected: Deeds,
        exclusions: Exclusions,
        paused_conversations: PausedConversations,
        apply: Apply,
        settings: LoopSettings,
    ) -> None:
        self._turns = turns
        self._model = model
        self._applier = applier
        self._corrected = corrected
        self._exclusions = exclusions
        self._paused = paused_conversations
        self._apply = apply
        self._settings = settings
        self.report = ReflectionReport()
        """What came of this pass so far."""
        self._works = False
        """The model has answered in it."""

    def begin(self) -> None:
        """A pass begins."""
        self.report, self._works = ReflectionReport(), False

    def is_off_the_record(self, turns: Sequence[QueuedTurn]) -> bool:
        """True if the conversation is paused, by its own id, or the group's on platforms that split
        a group by member."""
        keys = {key for turn in turns for key in (turn.conversation, turn.map_key)}
        return any(map(self._paused.of, keys))

    async def read(
        self, said: Sequence[QueuedTurn], purpose: Purpose, *, doubtful: bool = False
    ) -> None:
        """Read waiting turns of one line. ``doubtful``: the service failed for them again and
        again; if it answers others now, that counts as a refusal. Raises ChatFailed where the
        service does not work, Rests where it is not asked now; then what is left waits."""
        parts, alone, refusals = deque([said]), list[tuple[Sequence[QueuedTurn], str]](), 0
        while parts or alone:
            if alone and self._works:
                await self._put_aside(*alone.pop())
                continue
            part = parts.popleft()
            try:
                await self._read(_batch(part), part, purpose)
            except ChatFailed as failed:
                if failed.code not in _OF_PROMPT and not (doubtful and self._works):
                    raise
                refusals += 1
                logger.debug("{} turns refused together: {}", len(part), failed)
                if half := len(part) // 2:
                    parts += part[:half], part[half:]
                elif len(said) == refusals == 1:
                    parts.append(part)  # one empty answer may be chance
                else:
                    alone.append((part, str(failed)))
                if not self._works and refusals > min(len(said), 2):
                    await self._greet(part[0], purpose)

    async def _greet(self, turn: QueuedTurn, purpose: Purpose) -> None:
        """Ask what nobody refuses. Raises ChatFailed where the service does."""
        harmless = replace(turn, user_text=_GREETING, reply_text="", recalled=(), who="")
        await self._ask(self._prompt([harmless], []), lambda _: True, turn, purpose)

    async def _ask[T](
        self, prompt: Prompt, schema: Schema[T], turn: QueuedTurn, purpose: Purpose
    ) -> T:
        found = await self._model.ask(
            prompt,
            schema,
            conversation=turn.conversation,
            purpose=purpose,
            group=group_of(turn.scope),
        )
        self._works = True
        return found

    async def finish(self, batch: Batch, turns: Sequence[QueuedTurn]) -> None:
        """Apply an answer that was kept. One that is of other turns by now goes."""
        if _batch(turns).batch_id == batch.batch_id:
            await self._read(batch, turns, "reading")
        else:
            await asyncio.to_thread(self._turns.keep_reply, replace(batch, reply=""))

    async def _read(self, batch: Batch, said: Sequence[QueuedTurn], purpose: Purpose) -> None:
        scope = await self._applier.scope_of(batch.scope)
        if scope is None:
            await self._put_aside(said, SCOPE_GONE)
            return
        turns = await asyncio.to_thread(self._cleared, said)
        if not any(one.user_text or (one.reply_text and one in said) for one in turns):
            await self._learn(said, Feedback())
            return
        known = await self._applier.known(turns, scope)
        prompt = await asyncio.to_thread(self._prompt, turns, known)
        understand = partial(self._understand, said=said, turns=turns, prompt=prompt)
        try:
            answer = await self._answer(batch, said, prompt, understand, purpose)
        except ChatFailed as failed:
            if failed.code != "unreadable":
                raise
            await self._put_aside(said, str(failed))
            return
        if answer is not None and not self.is_off_the_record(said):
            await self._learn(said, answer.feedback)

    async def _answer(
        self,
        batch: Batch,
        said: Sequence[QueuedTurn],
        prompt: Prompt,
        understand: Schema[_Answer],
        purpose: Purpose,
    ) -> _Answer | None:
        """Returns the answer that was kept, or the model's, kept now; None where the turns are no
        longer all there, in their scope and words. Raises ChatFailed."""
        if batch.reply:
            kept = await asyncio.to_thread(understand, Completion(batch.reply))
            if isinstance(kept, Unreadable):
                raise ChatFailed("unreadable", kept.reason)
            return kept
        if await asyncio.to_thread(self._turns.take, batch, _tickets(said)) != [*said]:
            return None
        answer = await self._ask(prompt, understand, said[0], purpose)
        if await asyncio.to_thread(self._turns.of_batch, batch.batch_id) != [*said]:
            return None
        reply = replace(batch, reply=answer.text)
        return answer if await asyncio.to_thread(self._turns.keep_reply, reply) else None

    def _cleared(self, said: Sequence[QueuedTurn]) -> tuple[QueuedTurn, ...]:
        """Returns the turns without what was corrected since, and what is never learned."""
        cleared, learned = self._corrected.texts.cleared, self._exclusions.cleared
        return tuple(cleared(learned(one)) for one in said)

    def _prompt(self, turns: Sequence[QueuedTurn], known: Sequence[StoredMemory]) -> Prompt:
        return reflection_prompt(
            turns,
            known,
            most_tokens=self._settings.daily_tokens - REPLY_TOKENS,
            proposes=self._settings.proposes,
            manner=self._settings.counts_manner,
            spoken="en" if self._settings.english else "zh",
        )

    def _understand(
        self,
        completion: Completion,
        *,
        said: Sequence[QueuedTurn],
        turns: Sequence[QueuedTurn],
        prompt: Prompt,
    ) -> _Answer | Unreadable:
        """``said``: with what was corrected since, which is not made up, and refused where it is
        stored. Raises Rests where the model would be asked again while nobody may."""
        reply = parse_reply(completion.text[: MOST_CHARS + 1])
        if not isinstance(reply, Unreadable):
            reply = grounded(reply, said, prompt)
            if isinstance(reply, Unreadable):  # what comes from elsewhere is not shown again
                reply = replace(reply, shown=False)
        if not isinstance(reply, Unreadable):
            feedback = read_reply(reply, turns, proposes=self._settings.proposes)
            return _Answer(completion.text[: MOST_CHARS + 1], feedback)
        if self.is_off_the_record(said):
            raise Rests("")
        return reply

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
        refused = [one.reason for one in applied.outcomes if isinstance(one, Refused)]
        if "not_written" in refused:
            self.report = replace(self.report, error="not_written")
        elif applied.known and "learning_paused" not in refused:
            stored = sum(is_stored(one, "stored", "replaced") for one in applied.outcomes)
            logger.debug("{} turns read, {} memories stored", len(said), stored)
            if applied.dropped:
                logger.info("commands_dropped", count=applied.dropped)
            self.report = replace(
                self.report,
                read=self.report.read + len(said),
                stored=self.report.stored + stored,
                dropped=self.report.dropped + applied.dropped,
                error="",
            )

    async def _put_aside(self, said: Sequence[QueuedTurn], error: str) -> None:
        """They are kept, can be recalled, and an admin may have them read again."""
        dead = replace(_batch(said), error=error)
        await asyncio.to_thread(self._turns.take, dead, _tickets(said))
        logger.warning("turns_set_aside", count=len(said), error=error)
        self.report = replace(self.report, dead=self.report.dead + 1, error=error)


def _tickets(turns: Sequence[QueuedTurn]) -> list[str]:
    return [turn.ticket_id for turn in turns]


def _batch(turns: Sequence[QueuedTurn]) -> Batch:
    first = turns[0]
    return Batch(derived_id("b", *_tickets(turns)), first.scope, first.conversation)
