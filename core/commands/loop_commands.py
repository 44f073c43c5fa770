"""A conversation off the record, and on it again; and what goes on behind, for admins: ``/memory
reflect``, ``letters``, ``sleep`` and ``migrate``."""

from __future__ import annotations

from datetime import timedelta

from ...llm_memory import Postponed, SleepReport
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.safe_text import cut, safe
from ..replies.status_text import fault_words, moment, numbers_text, resting_text, state_text
from .call import Call, Reply
from .command_words import folded_word

_SHOWN = 10
"""Letters and errors."""
_JUST_NOW = timedelta(minutes=10)
"""Asked again so soon after one, the admin wants to know how it went."""
_SLEEP = {"": "", "status": "status", "状态": "status", "now": "now", "再来": "now"}
_LETTER = {"": "list", "retry": "retry", "重试": "retry", "drop": "drop", "丢弃": "drop"}
_MIGRATE = {
    "": "status", "状态": "status", "开始": "start", "撤销": "undo", "reverse": "undo",
    "收回": "take-back",
}  # fmt: skip


async def pause(call: Call) -> str:
    """Nothing of this conversation is kept or recalled from now on, or for the time that is said
    behind the word."""
    until = end_of(call.rest, call.plugin.clock()) if call.rest else None
    if call.rest and until is None:
        return call.say("pause.no_time", words=cut(call.rest))
    done = call.done(await call.service.pause(**call.by, until=until), "pause.not_allowed")
    return call.paused(done, "status.paused" if done.before else "pause.done")


async def resume(call: Call) -> str:
    """As before the pause."""
    done = call.done(await call.service.resume(**call.by), "pause.not_allowed")
    return call.say("pause.resumed" if done else "pause.not_paused")


async def reflect(call: Call) -> Reply:
    """Read at once what waits of this conversation: that costs money."""
    await call.plugin.engine.life.ready()  # the loop itself does not wait for the engine
    if pause := call.service.pause_of(call.where):
        return call.paused(pause)
    report = await call.plugin.engine.reflection.reflect(conversation=call.where.umo)
    texts, error = call.texts, fault_words(call.texts, report.error)
    lines = [
        texts.listed("reflect", read=report.read, stored=report.stored),
        *texts.counted("reflect", dropped=report.dropped, dead=report.dead),
        call.say("reflect.error", detail=error) if error else "",
        resting_text(texts, report.resting) if report.waiting else "",
        *texts.counted("reflect", waiting=report.waiting),
    ]
    return lines if any(lines) else call.say("reflect.nothing")


async def letters(call: Call) -> Reply:
    """What was given up; ``retry [id]`` reads it again, ``drop <id>`` forgets it."""
    await call.plugin.engine.life.ready()
    reflection, (word, named) = call.plugin.engine.reflection, call.split()
    action = _LETTER.get(folded_word(word))
    if action == "retry" or (action == "drop" and named):
        count = await (reflection.retry(named) if action == "retry" else reflection.drop(named))
        return call.say(f"letters.{action if count else 'unknown'}", count=count)
    if action != "list":
        return call.say("letters.usage")
    found = await reflection.letters()
    lines = [call.say("letters.head" if found else "letters.none", count=len(found))]
    for letter in found[:_SHOWN]:
        about = {"id": letter.batch_id, "count": letter.count, "time": moment(letter.made_at)}
        about["error"] = fault_words(call.texts, letter.error)
        lines.append(call.say("letters.line", conversation=cut(letter.conversation), **about))
    more = max(0, len(found) - _SHOWN)
    return lines + call.texts.counted("letters", more=more, usage=bool(found))


async def sleep(call: Call) -> Reply:
    """Nothing: begin one, or tell of the one that goes on or was just made. ``status``: tell of it.
    ``now``: begin one all the same."""
    schedule, say = call.plugin.schedule, call.say
    report, word = schedule.report, _SLEEP.get(folded_word(call.rest))
    if word is None:
        return say("outcome.unread_words", words=cut(call.rest))
    if schedule.waiting is not Postponed.NO:
        return say("sleep.waiting", why=say(f"postponed.{schedule.waiting}"))
    if schedule.going:
        return say("sleep.going", numbers=_done_at_night(call, report))
    if word == "status":
        return _last_night(call, report)
    if not word and report.ended and call.plugin.clock() - report.ended < _JUST_NOW:
        return [*_last_night(call, report), say("sleep.again")]
    return say("sleep.started" if schedule.ask() else "sleep.unready")


def _last_night(call: Call, report: SleepReport) -> list[str]:
    if report.ended is None:
        return [call.say("sleep.never")]
    numbers = _done_at_night(call, report)
    return [
        call.say("sleep.last", time=moment(report.ended), numbers=numbers),
        call.say("sleep.backup", name=report.backup) if report.backup else "",
        *call.texts.counted("sleep", unmerged=report.unmerged, left=report.left),
        *(call.say("sleep.error", detail=safe(error)) for error in report.errors[:_SHOWN]),
    ]


def _done_at_night(call: Call, report: SleepReport) -> str:
    """What was done, and nothing that was not."""
    said = call.texts.listed(
        "sleep",
        archived=report.archived,
        merged=report.merged,
        journals=report.journals,
        pages=report.pages,
        purged=report.purged,
    )
    return said or call.say("counts.nothing")


async def migrate(call: Call) -> Reply:
    """``status`` (or nothing), ``start``, ``undo``, ``take-back <batch>``. It tells of all
    scopes."""
    await call.plugin.engine.life.ready()  # it tells why the engine is off
    (word, more), say, texts = call.split(), call.say, call.texts
    migrations = call.plugin.engine.migrations
    match _MIGRATE.get(folded_word(word), word.lower()):
        case "status":
            return await _migrated(call)
        case "start":
            await migrations.begin_again()
            return say("migrate.started")
        case "undo":
            report = await migrations.reverse()
            done = texts.listed("migrate", restored=report.restored, gone=report.left)
            return say("migrate.reverted", done=done) if done else say("counts.nothing")
        case "take-back" if more:
            taken = await migrations.take_back(more)
            if taken is None:
                return say("migrate.no_batch", batch=cut(more))
            back = say("migrate.taken_back", count=taken.restored)
            return [back, *texts.counted("undo", left=taken.left)]
    return say("migrate.usage")


async def _migrated(call: Call) -> Reply:
    """How far it is, the batches, and what could not be brought, with its reasons."""
    say, engine = call.say, call.plugin.engine
    status = (await engine.status()).migration
    now = say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
    letters = await engine.migrations.dead_letters(_SHOWN)
    return [
        say("migrate.head", state=state_text(call.texts, status)),
        say("migrate.mode", mode=status.mode, now=now) if status.remaining else "",
        numbers_text(call.texts, status.tally, status.remaining),
        *(say("migrate.batch", batch=one, source=cut(of)) for one, of in status.batches.items()),
        *(say("migrate.letter", id=cut(one.record_id), reason=one.reason) for one in letters),
    ]
