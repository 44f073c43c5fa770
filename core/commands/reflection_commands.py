"""``/memory reflect`` and ``/memory letters``: what waits to be read, and what could not be."""

from __future__ import annotations

from ...llm_memory import ReflectionReport, Resting
from ...llm_memory.text.safe_text import safe
from ..replies.loop_text import fault_words, moment
from .call import Call, admin, no_words
from .slow_command import slow

_LETTERS = 10
_ID = 60
_RETRY = frozenset({"retry", "重试"})
_DROP = frozenset({"drop", "丢弃"})


@admin
@no_words
@slow
async def reflect(call: Call) -> str:
    """Read at once what waits of this conversation: that costs money."""
    await call.service.admin.map_summary()  # the loop itself does not wait for the engine
    if pause := call.service.conversations.pause_of(call.where):
        return call.paused(pause)
    return _report(call, await call.engine.loop.reflection.reflect(conversation=call.where.umo))


@admin
async def letters(call: Call) -> str:
    """What was given up; ``retry [id]`` reads it again, ``drop <id>`` forgets it."""
    await call.service.admin.map_summary()
    word, named = call.split()
    if word.lower() in _RETRY:
        count = await call.engine.loop.reflection.retry(named)
        return call.say("letters.retried" if count else "letters.unknown", count=count)
    if word.lower() in _DROP and named:
        count = await call.engine.loop.reflection.drop(named)
        return call.say("letters.dropped" if count else "letters.unknown", count=count)
    if word:
        return call.say("letters.usage")
    found = await call.engine.loop.reflection.letters()
    if not found:
        return call.say("letters.none")
    lines = [
        call.say(
            "letters.line",
            id=letter.batch_id,
            count=letter.count,
            time=moment(letter.made_at),
            conversation=safe(letter.conversation)[:_ID],
            error=fault_words(call.texts, letter.error),
        )
        for letter in found[:_LETTERS]
    ]
    lines += call.texts.counted({"letters.more": max(0, len(found) - _LETTERS)})
    head = call.say("letters.head", count=len(found))
    return "\n".join([head, *lines, call.say("letters.usage")])


def _report(call: Call, report: ReflectionReport) -> str:
    say, waiting, lines = call.say, report.waiting, list[str]()
    if report.read:
        lines.append(say("reflect.read", count=report.read, stored=report.stored))
    lines += call.texts.counted({"reflect.dropped": report.dropped, "reflect.dead": report.dead})
    if report.error:
        lines.append(say("reflect.error", detail=fault_words(call.texts, report.error)))
    if waiting and report.resting is not Resting.NO:
        lines.append(say("loop.resting", why=say(f"resting.{report.resting}")))
    return "\n".join([*lines, *call.texts.counted({"reflect.waiting": waiting})]) or say(
        "reflect.nothing"
    )
