"""Reads one batch of turns: calls the model, stores the answer, has it applied, or gives the batch
up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from ..errors import ChatFailed, ScopedMemoryError
from ..log import logger
from ..models.data_models import Refused, is_stored
from ..models.loop import ReflectionReport
from ..models.settings import LoopSettings
from ..models.turns import Feedback, FeedbackReport, QueuedTurn, Ticket
from ..remember.deeds import Deeds
from ..remember.exclusions import Exclusions
from ..texts import Spoken
from .batches import Batches, Reading
from .feedback_applier import SCOPE_GONE, FeedbackApplier, dead
from .model_calls import ModelCalls
from .rules.forgiving_json import MOST_CHARS, Unreadable
from .rules.grounding import grounded
from .rules.prompt import LEAST_TOKENS, REPLY_TOKENS, Prompt, reflection_prompt
from .rules.reading import read_reply
from .rules.reply import ReflectionReply, parse_reply

_MOST_FAILURES = 3
"""A batch that failed so often while others succeeded is given up."""
_REPAIRED = "repaired: "
"""The prefix of the error of a batch whose first answer could not be used."""
_NOT_ITS_FAULT = ("gone", "busy", "key", "quota")


class Apply(Protocol):
    """``CognitiveService.feedback``."""

    async def __call__(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from the ticket's turns."""
        ...


class BatchReader:
    """Processes a batch as far as possible now, and adds the result to a report.

    A prompt has at most the tokens that a whole day allows.
    """

    def __init__(
        self,
        batches: Batches,
        model_calls: ModelCalls,
        applier: FeedbackApplier,
        corrected: Deeds,
        exclusions: Exclusions,
        apply: Apply,
        settings: LoopSettings,
    ) -> None:
        self._batches = batches
        self._model_calls = model_calls
        self._applier = applier
        self._corrected = corrected
        self._exclusions = exclusions
        self._apply = apply
        self._most = settings.daily_tokens - REPLY_TOKENS
        self._proposes = settings.proposes
        self._manner = settings.counts_manner
        self._spoken: Spoken = "en" if settings.english else "zh"

    async def read(
        self, reading: Reading, report: ReflectionReport, *, urgent: bool
    ) -> ReflectionReport:
        """Process one batch as far as possible now. Returns the report with its result."""
        said = reading.turns
        cleared, learned = self._corrected.texts.cleared, self._exclusions.cleared
        turns = await asyncio.to_thread(lambda: tuple(cleared(learned(one)) for one in said))
        was_corrected = turns != said
        reading = replace(reading, turns=turns)
        batch = reading.batch
        scope = await self._applier.scope_of(batch.scope)
        if scope is None:
            return await self._give_up(reading, SCOPE_GONE, report)
        if batch.state == "open" and not _have_text(turns, replies=not was_corrected):
            return await self._learn(reading, Feedback(), report)
        known = await self._applier.known(turns, scope)
        most = self._most
        build = partial(
            reflection_prompt,
            most_tokens=most,
            proposes=self._proposes,
            manner=self._manner,
            spoken=self._spoken,
        )
        prompt = await asyncio.to_thread(build, turns, known)
        if reading.made and prompt.tokens > most > LEAST_TOKENS:
            # It was made under a larger budget.
            return await self._give_up(reading, "too_large", report)
        if batch.state == "open":
            resting = await self._model_calls.resting(prompt, turns, urgent=urgent)
            if resting:
                return replace(report, resting=resting)
            await asyncio.to_thread(self._batches.make, reading)
            answered = await self._ask(replace(reading, made=True), prompt, report)
            if isinstance(answered, ReflectionReport):
                return answered
            reading = answered
        return await self._answered(reading, prompt, report, said, urgent=urgent)

    async def _ask(
        self, reading: Reading, prompt: Prompt, report: ReflectionReport, *, error: str = ""
    ) -> Reading | ReflectionReport:
        """Returns the batch with its answer, stored on disk; without an answer, the report."""
        batch = reading.batch
        try:
            reply = await self._model_calls.ask(prompt, reading.turns)
        except ChatFailed as failed:
            logger.warning("model_silent", error=failed)
            if failed.code in _NOT_ITS_FAULT:
                return replace(report, error=str(failed), resting="backoff")
            tried = replace(batch, attempts=batch.attempts + 1)
            if tried.attempts >= _MOST_FAILURES and await self._model_calls.succeeded_since(
                batch.made_at
            ):
                return await self._give_up(replace(reading, batch=tried), str(failed), report)
            await asyncio.to_thread(self._batches.put, tried)
            return replace(report, error=str(failed), resting="backoff")
        answered = replace(
            batch,
            state="answered",
            reply=reply[: MOST_CHARS + 1],
            attempts=0,
            error=error,
        )
        await asyncio.to_thread(self._batches.put, answered)
        return replace(reading, batch=answered)

    async def _answered(
        self,
        reading: Reading,
        prompt: Prompt,
        report: ReflectionReport,
        said: Sequence[QueuedTurn],
        *,
        urgent: bool,
    ) -> ReflectionReport:
        """Apply the answer. If it cannot be used, the model is asked once more. ``said``: the turns
        with what was corrected since, which is not made up, and refused where it is stored."""
        if await asyncio.to_thread(self._batches.is_off_the_record, reading.batch):
            return report
        parsed = await asyncio.to_thread(parse_reply, reading.batch.reply)
        # What comes from elsewhere than the turns is not shown again.
        shown = reading.batch.reply if isinstance(parsed, Unreadable) else ""
        if isinstance(parsed, ReflectionReply):
            parsed = await asyncio.to_thread(grounded, parsed, said, prompt)
        if isinstance(parsed, Unreadable):
            if reading.batch.error.startswith(_REPAIRED):
                return await self._give_up(reading, parsed.reason, report)
            again = prompt.again(shown, parsed.reason)
            resting = await self._model_calls.resting(again, reading.turns, urgent=urgent)
            if resting:
                return replace(report, resting=resting)
            error = _REPAIRED + parsed.reason
            answered = await self._ask(reading, again, report, error=error)
            if isinstance(answered, ReflectionReport):
                return answered
            return await self._answered(answered, prompt, report, said, urgent=urgent)
        learned = read_reply(parsed, reading.turns, proposes=self._proposes)
        return await self._learn(reading, learned, report)

    async def _learn(
        self, reading: Reading, feedback: Feedback, report: ReflectionReport
    ) -> ReflectionReport:
        first, *also = (turn.ticket_id for turn in reading.turns)
        try:
            applied = await self._apply(feedback, ticket=Ticket(first, tuple(also)))
        except ScopedMemoryError:
            raise  # closed, or a disk error: it is tried again
        except Exception as error:  # noqa: BLE001  (one answer must not stop the others)
            logger.error("reading_not_applied", error=repr(error))
            return await self._give_up(reading, f"internal: {type(error).__name__}", report)
        refused = [one.reason for one in applied.outcomes if isinstance(one, Refused)]
        if "not_written" in refused:
            return replace(report, error="not_written")
        if not applied.known or "learning_paused" in refused:
            return replace(report)
        stored = sum(is_stored(one, "stored", "replaced") for one in applied.outcomes)
        logger.debug("{} turns read, {} memories stored", len(reading.turns), stored)
        if applied.dropped:
            logger.info("commands_dropped", count=applied.dropped)
        return replace(
            report,
            read=report.read + len(reading.turns),
            stored=report.stored + stored,
            dropped=report.dropped + applied.dropped,
            error="",
        )

    async def _give_up(
        self, reading: Reading, error: str, report: ReflectionReport
    ) -> ReflectionReport:
        """Make the batch a dead letter: it is kept with its turns, and an admin may retry it."""
        await asyncio.to_thread(self._batches.make, reading)
        await asyncio.to_thread(self._batches.put, dead(reading.batch, error))
        logger.warning("turns_set_aside", count=len(reading.turns), error=error)
        return replace(report, dead=report.dead + 1, error=error)


def _have_text(turns: Sequence[QueuedTurn], *, replies: bool) -> bool:
    return any(turn.user_text or (replies and turn.reply_text) for turn in turns)
