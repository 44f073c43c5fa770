"""A conversation off the record, and on it again; and what goes on behind, for admins: ``/memory
reflect``, ``sleep`` and ``migrate``."""

from __future__ import annotations

import re
from dataclasses import asdict

from ...llm_memory import SleepReport
from ...llm_memory.text.dates.lasting import end_of
from ...llm_memory.text.normalising import clean, one_line
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.vault.markdown.exclusion_list import Exclusion
from ..replies.status_text import fault_words, moment, resting_text, state_text
from .call import Call, Reply
from .command_words import folded_word

_SHOWN = 10
"""Errors, and old memories that could not be taken in."""
_STATUS = frozenset({"status", "状态"})
_AGAIN = frozenset({"取消", "去掉", "可以记", "off", "remove", "allow"})
_BETWEEN = re.compile(r"[、，,；;\n]|(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])")
_AROUND = " #<>-*+\"'“”‘’「」。.!！?？"
_SHORTEST, _LONGEST = 2, 40
"""Characters of words that are never learned."""
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


async def never(call: Call) -> Reply:
    """What is never learned here from talk: tell, add to it, or take off it."""
    first, more = call.split()
    again = folded_word(first) in _AGAIN
    words = _words(more if again else call.rest)
    if not words:
        listed = call.done(await call.service.never_learned(**call.by))
        lines = [_line(call, one) for one in listed]
        return [call.say("never.list"), *lines] if lines else call.say("never.none")
    if short := next((one for one in words if len(one) < _SHORTEST), ""):
        return call.say("never.too_short", words=cut(short))
    before = call.done(await call.service.never_learned(**call.by))
    listed = call.done(await call.service.never_learn(words, again=again, **call.by))
    told, mine = tuple(map(cut, words)), "" if call.actor.admin else "_mine"
    if again:
        return call.say("never.again" if listed != before else "never.not_there", words=told)
    known = [await call.service.newest(conversation_id=call.where, naming=one) for one in words]
    count = len({stored.memory.memory_id for found in known for stored in found})
    held = call.texts.counted("never", known=count)
    return [call.say(f"never.done{mine}", words=told, one=told[0]), *held]


def _words(text: str) -> list[str]:
    """What is named: divided by commas, and by blanks beside Chinese."""
    found = (one_line(clean(one)).strip(_AROUND) for one in _BETWEEN.split(text))
    return list(dict.fromkeys(one[:_LONGEST] for one in found if one))


def _line(call: Call, one: Exclusion) -> str:
    if not one.person:
        return f"- {cut(one.words)}"
    return call.say("never.of_one", words=cut(one.words), who=safe(one.who or one.person))


async def reflect(call: Call) -> Reply:
    """Read at once what waits of this conversation: that costs money. What was given up, wherever
    it was said, is read again, too."""
    await call.plugin.engine.life.ready()  # the loop itself does not wait for the engine
    reflection, texts = call.plugin.engine.reflection, call.texts
    again = await reflection.retry()
    report = await reflection.reflect(conversation=call.where.umo)
    error = fault_words(texts, report.error)
    lines = [
        texts.listed("reflect", read=report.read, stored=report.stored),
        *texts.counted("reflect", dropped=report.dropped),
        call.say("reflect.error", detail=error) if error else "",
        resting_text(texts, report.resting) if report.waiting else "",
        *texts.counted("reflect", waiting=report.waiting, again=again, dead=report.dead),
    ]
    return lines if any(lines) else call.say("reflect.nothing")


async def sleep(call: Call) -> Reply:
    """Begin one, or tell of the one that goes on. ``status``: tell of the last one."""
    schedule, say, word = call.plugin.schedule, call.say, folded_word(call.rest)
    report = call.plugin.engine.sleep.report  # of the run that goes on, else of the last one
    if word and folded_word(word) not in _STATUS:
        return say("outcome.unread_words", words=cut(call.rest))
    if schedule.waiting:
        return say("sleep.waiting", why=say(f"postponed.{schedule.waiting}"))
    if schedule.going:
        return say("sleep.going", numbers=_done_at_night(call, report))
    if not word:
        return say("sleep.started" if schedule.ask() else "sleep.unready")
    if report.ended is None:
        return say("sleep.never")
    return [
        say("sleep.last", time=moment(report.ended), numbers=_done_at_night(call, report)),
        say("sleep.backup", name=report.backup) if report.backup else "",
        *call.texts.counted("sleep", left=report.left),
        *(say("sleep.error", detail=safe(error)) for error in report.errors[:_SHOWN]),
    ]


def _done_at_night(call: Call, report: SleepReport) -> str:
    """What was done, and nothing that was not."""
    said = call.texts.listed(
        "sleep",
        archived=report.archived,
        merged=report.merged,
        pages=report.pages,
        purged=report.purged,
    )
    return said or call.say("counts.nothing")


async def migrate(call: Call) -> Reply:
    """``status`` (or nothing): how far it is, the batches, and what could not be brought, with its
    reasons; ``start``, ``undo``, ``take-back <batch>``. It tells of all scopes."""
    engine = call.plugin.engine
    await engine.life.ready()  # it tells why the engine is off
    (word, more), say, texts, migrations = call.split(), call.say, call.texts, engine.migrations
    match _MIGRATE.get(folded_word(word), word.lower()):
        case "status":
            status = (await engine.status()).migration
            now = say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
            dead = await migrations.dead_letters(_SHOWN)
            letters = ((cut(one.record_id), one.reason) for one in dead)
            batches = status.batches.items()
            return [
                say("migrate.head", state=state_text(texts, status)),
                say("migrate.mode", mode=status.mode, now=now) if status.remaining else "",
                texts.listed("migrate", **asdict(status.tally), remaining=status.remaining),
                *(say("migrate.batch", batch=one, source=cut(of)) for one, of in batches),
                *(say("migrate.letter", id=name, reason=why) for name, why in letters),
            ]
        case "start":
            await migrations.begin_again()
            return say("migrate.started")
        case "undo":
            restored, left = await migrations.reverse()
            done = texts.listed("migrate", restored=restored, gone=left)
            return say("migrate.reverted", done=done) if done else say("counts.nothing")
        case "take-back" if more:
            taken = await migrations.take_back(more)
            if taken is None:
                return say("migrate.no_batch", batch=cut(more))
            back = say("migrate.taken_back", count=taken[0])
            return [back, *texts.counted("undo", left=taken[1])]
    return say("migrate.usage")
