"""A conversation off the record, and on it again; and what goes on behind, for admins: ``/memory
reflect``, ``letters``, ``sleep`` and ``migrate``."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

from ...llm_memory import (
    EngineClosed,
    Paused,
    Postponed,
    ReflectionReport,
    Resting,
    Resumed,
    ReverseReport,
    SleepReport,
    StateUnavailable,
)
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.safe_text import cut, safe
from ..replies.outcome_text import Enough
from ..replies.status_text import fault_words, moment, numbers_text, state_text
from .call import Call, Handler


async def pause(call: Call) -> str:
    """Nothing of this conversation is kept or recalled from now on, or for the time that is said
    behind the word."""
    until = end_of(call.rest, call.plugin.clock()) if call.rest else None
    if call.rest and until is None:
        return call.say("pause.no_time", words=cut(call.rest))
    async with _written(call):
        outcome = await call.service.pause(
            conversation_id=call.where, actor=call.actor, until=until
        )
    if isinstance(outcome, Paused):
        return call.paused(outcome, "status.paused" if outcome.before else "pause.done")
    return call.refused(outcome, "pause.not_allowed")


async def resume(call: Call) -> str:
    """As before the pause."""
    async with _written(call):
        outcome = await call.service.resume(conversation_id=call.where, actor=call.actor)
    if isinstance(outcome, Resumed):
        return call.say("pause.not_paused" if outcome.before else "pause.resumed")
    return call.refused(outcome, "pause.not_allowed")


@asynccontextmanager
async def _written(call: Call) -> AsyncGenerator[None]:
    try:
        yield
    except StateUnavailable as error:
        raise Enough(call.say("pause.not_written", detail=error.cause)) from error


_LETTERS = 10
_RETRY = frozenset({"retry", "重试"})
_DROP = frozenset({"drop", "丢弃"})


async def reflect(call: Call) -> str:
    """Read at once what waits of this conversation: that costs money."""
    await call.service.admin.map_summary()  # the loop itself does not wait for the engine
    if pause := call.service.conversations.pause_of(call.where):
        return call.paused(pause)
    return _report(call, await call.engine.reflection.reflect(conversation=call.where.umo))


async def letters(call: Call) -> str:
    """What was given up; ``retry [id]`` reads it again, ``drop <id>`` forgets it."""
    await call.service.admin.map_summary()
    word, named = call.split()
    if word.lower() in _RETRY:
        count = await call.engine.reflection.retry(named)
        return call.say("letters.retried" if count else "letters.unknown", count=count)
    if word.lower() in _DROP and named:
        count = await call.engine.reflection.drop(named)
        return call.say("letters.dropped" if count else "letters.unknown", count=count)
    if word:
        return call.say("letters.usage")
    found = await call.engine.reflection.letters()
    if not found:
        return call.say("letters.none")
    lines = [
        call.say(
            "letters.line",
            id=letter.batch_id,
            count=letter.count,
            time=moment(letter.made_at),
            conversation=cut(letter.conversation),
            error=fault_words(call.texts, letter.error),
        )
        for letter in found[:_LETTERS]
    ]
    lines += call.texts.counted("letters", more=max(0, len(found) - _LETTERS))
    head = call.say("letters.head", count=len(found))
    return "\n".join([head, *lines, call.say("letters.usage")])


def _report(call: Call, report: ReflectionReport) -> str:
    say, waiting, lines = call.say, report.waiting, list[str]()
    if report.read:
        lines.append(call.texts.listed("reflect", read=report.read, stored=report.stored))
    lines += call.texts.counted("reflect", dropped=report.dropped, dead=report.dead)
    if report.error:
        lines.append(say("reflect.error", detail=fault_words(call.texts, report.error)))
    if waiting and report.resting is not Resting.NO:
        lines.append(say("loop.resting", why=say(f"resting.{report.resting}")))
    return "\n".join([*lines, *call.texts.counted("reflect", waiting=waiting)]) or say(
        "reflect.nothing"
    )


_JUST_NOW = timedelta(minutes=10)
"""Asked again so soon after one, the admin wants to know how it went."""
_NOW = frozenset({"now", "again", "再来", "再来一次", "立即", "一下", "马上", "现在"})
_STATUS = frozenset({"status", "状态"})
_ERRORS = 5


async def sleep(call: Call) -> str:
    """Nothing: begin one, or tell of the one that goes on or was just made. ``status``: tell of it.
    ``now``: begin one all the same."""
    word, schedule = call.rest.strip().lower(), call.plugin.schedule
    if word and word not in _NOW | _STATUS:
        return call.unread_words(word)
    if schedule.going:
        if schedule.waiting is not Postponed.NO:
            return call.say("sleep.waiting", why=call.say(f"postponed.{schedule.waiting}"))
        return call.say("sleep.going", numbers=_done_at_night(call, schedule.report))
    if word in _STATUS:
        return _last_night(call)
    ended = schedule.report.ended
    if word not in _NOW and ended is not None and call.plugin.clock() - ended < _JUST_NOW:
        return _last_night(call) + "\n" + call.say("sleep.again")
    return call.say("sleep.started" if schedule.ask() else "sleep.unready")


def _last_night(call: Call) -> str:
    say, schedule = call.say, call.plugin.schedule
    report = schedule.report
    if report.ended is None:
        lines = [say("sleep.never")]
    else:
        numbers = _done_at_night(call, report)
        lines = [say("sleep.last", time=moment(report.ended), numbers=numbers)]
        lines += [say("sleep.backup", name=report.backup)] if report.backup else []
        lines += call.texts.counted(
            "sleep", unmerged=report.unmerged, weak=report.waiting, left=report.left
        )
        lines += [say("sleep.error", detail=safe(error)) for error in report.errors[:_ERRORS]]
    if schedule.no_timer:
        lines.append(say("sleep.no_timer"))
    return "\n".join(lines)


def _done_at_night(call: Call, report: SleepReport) -> str:
    """What was done, and nothing that was not."""
    said = call.texts.listed(
        "sleep",
        faded=report.faded,
        raised=report.raised,
        archived=report.archived,
        merged=report.merged,
        journals=report.journals,
        later=report.postponed_days,
        pages=report.pages,
        purged=report.purged,
    )
    return said or call.say("counts.nothing")


async def migrate(call: Call) -> str:
    """``status`` (or nothing), ``dry-run``, ``start``, ``undo``, ``take-back <batch>``,
    ``broken``. It tells of all scopes."""
    word, more = call.split()
    handler = _MIGRATE.get(word.lower())
    if handler is _migrated:
        return await _migrated(call)
    # It tells why the engine is off; the migrations do not.
    await call.service.admin.map_summary()
    if handler is None or (handler is _take_back and not more):
        return call.say("migrate.usage")
    return await handler(call.behind())


async def _migrated(call: Call) -> str:
    found = await call.engine.status()
    if not found.ready:  # the stores were not looked at yet
        with suppress(EngineClosed):
            await call.opened()
        return call.say("migrate.head", state=call.say("migrate.opening"))
    status = found.migration
    now = call.say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
    lines = [call.say("migrate.head", state=state_text(call.texts, status))]
    if status.remaining:
        lines.append(call.say("migrate.mode", mode=status.mode, now=now))
    if numbers := numbers_text(call.texts, status.tally, status.remaining):
        lines.append(numbers)
    lines += [
        call.say("migrate.batch", batch=batch, source=cut(source, 400))
        for batch, source in status.batches.items()
    ]
    return "\n".join(lines)


async def _dry_run(call: Call) -> str:
    tally = await call.engine.migrations.dry_run()
    if not tally.scanned:
        return call.say("migrate.head", state=call.say("migrate.state_idle"))
    numbers = numbers_text(call.texts, tally, tally.scanned)
    return "\n".join((call.say("migrate.dry_run"), numbers))


async def _begin(call: Call) -> str:
    await call.engine.migrations.begin_again()
    return call.say("migrate.started")


async def _reverse(call: Call) -> str:
    report = await call.engine.migrations.reverse()
    done = call.texts.listed("migrate", restored=report.restored, gone=report.left)
    return call.say("migrate.reverted", done=done) if done else call.say("counts.nothing")


async def _take_back(call: Call) -> str:
    report: ReverseReport | None = await call.engine.migrations.take_back(call.rest)
    if report is None:
        return call.say("migrate.no_batch", batch=cut(call.rest))
    said = call.say("migrate.taken_back", count=report.restored)
    return "\n".join([said, *call.texts.counted("undo", left=report.left)])


async def _broken(call: Call) -> str:
    letters = await call.engine.migrations.dead_letters(_LETTERS)
    shown = ((cut(one.record_id), one.reason) for one in letters)
    lines = [call.say("migrate.letter", id=record, reason=reason) for record, reason in shown]
    return "\n".join(lines) or call.say("migrate.none_broken")


_MIGRATE: Mapping[str, Handler] = {
    **dict.fromkeys(("", "status", "状态"), _migrated),
    **dict.fromkeys(("dry-run", "dryrun", "试算"), _dry_run),
    **dict.fromkeys(("start", "开始", "继续", "重新开始"), _begin),
    **dict.fromkeys(("undo", "撤销", "reverse", "还原"), _reverse),
    **dict.fromkeys(("take-back", "takeback", "收回"), _take_back),
    **dict.fromkeys(("broken", "坏的"), _broken),
}
