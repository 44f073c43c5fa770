"""A conversation off the record, and on it again; and what goes on behind, for admins: ``/memory
reflect``, ``letters``, ``sleep`` and ``migrate``."""

from __future__ import annotations

from datetime import timedelta

from ...llm_memory import Postponed, SleepReport
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.safe_text import cut, safe
from ..replies.status_text import fault_words, moment, numbers_text, resting_text, state_text
from .call import Call, Reply

_LETTERS = 10
_ERRORS = 5
_JUST_NOW = timedelta(minutes=10)
"""Asked again so soon after one, the admin wants to know how it went."""
_NOW = frozenset({"now", "again", "再来", "再来一次", "立即", "一下", "马上", "现在"})
_LETTER = {"": "list", "retry": "retry", "重试": "retry", "drop": "drop", "丢弃": "drop"}
_STATUS = frozenset({"status", "状态"})
_MIGRATE = {
    **dict.fromkeys(("", "status", "状态"), "status"),
    **dict.fromkeys(("dry-run", "dryrun", "试算"), "dry-run"),
    **dict.fromkeys(("start", "开始", "继续", "重新开始"), "start"),
    **dict.fromkeys(("undo", "撤销", "reverse", "还原"), "undo"),
    **dict.fromkeys(("take-back", "takeback", "收回"), "take-back"),
    **dict.fromkeys(("broken", "坏的"), "broken"),
}


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
    action = _LETTER.get(word.lower(), "usage")
    if action == "retry" or (action == "drop" and named):
        count = await (reflection.retry(named) if action == "retry" else reflection.drop(named))
        return call.say(f"letters.{action if count else 'unknown'}", count=count)
    if action != "list":
        return call.say("letters.usage")
    found = await reflection.letters()
    lines = [call.say("letters.head" if found else "letters.none", count=len(found))]
    for letter in found[:_LETTERS]:
        about = {"id": letter.batch_id, "count": letter.count, "time": moment(letter.made_at)}
        about["error"] = fault_words(call.texts, letter.error)
        lines.append(call.say("letters.line", conversation=cut(letter.conversation), **about))
    more = max(0, len(found) - _LETTERS)
    return lines + call.texts.counted("letters", more=more, usage=bool(found))


async def sleep(call: Call) -> Reply:
    """Nothing: begin one, or tell of the one that goes on or was just made. ``status``: tell of it.
    ``now``: begin one all the same."""
    word, schedule, say = call.rest.lower(), call.plugin.schedule, call.say
    report = schedule.report
    if word and word not in _NOW | _STATUS:
        return say("outcome.unread_words", words=cut(word))
    if schedule.waiting is not Postponed.NO:
        return say("sleep.waiting", why=say(f"postponed.{schedule.waiting}"))
    if schedule.going:
        return say("sleep.going", numbers=_done_at_night(call, report))
    if word in _STATUS:
        return _last_night(call, report)
    if not word and report.ended and call.plugin.clock() - report.ended < _JUST_NOW:
        return [*_last_night(call, report), say("sleep.again")]
    return say("sleep.started" if schedule.ask() else "sleep.unready")


def _last_night(call: Call, report: SleepReport) -> list[str]:
    if report.ended is None:
        return [call.say("sleep.never")]
    counts = {"unmerged": report.unmerged, "weak": report.waiting, "left": report.left}
    numbers = _done_at_night(call, report)
    return [
        call.say("sleep.last", time=moment(report.ended), numbers=numbers),
        call.say("sleep.backup", name=report.backup) if report.backup else "",
        *call.texts.counted("sleep", **counts),
        *(call.say("sleep.error", detail=safe(error)) for error in report.errors[:_ERRORS]),
    ]


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


async def migrate(call: Call) -> Reply:
    """``status`` (or nothing), ``dry-run``, ``start``, ``undo``, ``take-back <batch>``,
    ``broken``. It tells of all scopes."""
    await call.plugin.engine.life.ready()  # it tells why the engine is off
    (word, more), say, texts = call.split(), call.say, call.texts
    migrations = call.plugin.engine.migrations
    match _MIGRATE.get(word.lower(), ""):
        case "status":
            return await _migrated(call)
        case "dry-run":
            tally = await migrations.dry_run()
            numbers = numbers_text(texts, tally, tally.scanned) or say("migrate.state_idle")
            return [say("migrate.dry_run"), numbers]
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
        case "broken":
            found = await migrations.dead_letters(_LETTERS)
            lines = [
                say("migrate.letter", id=cut(one.record_id), reason=one.reason) for one in found
            ]
            return lines or say("migrate.none_broken")
    return say("migrate.usage")


async def _migrated(call: Call) -> Reply:
    say, status = call.say, (await call.plugin.engine.status()).migration
    now = say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
    batches = ((batch, cut(source, 400)) for batch, source in status.batches.items())
    return [
        say("migrate.head", state=state_text(call.texts, status)),
        say("migrate.mode", mode=status.mode, now=now) if status.remaining else "",
        numbers_text(call.texts, status.tally, status.remaining),
        *(say("migrate.batch", batch=batch, source=source) for batch, source in batches),
    ]
