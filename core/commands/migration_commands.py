"""``/memory migrate``: how far old memories are, and what admins do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from ...llm_memory import EngineClosed, ReverseReport
from ...llm_memory.text.safe_text import safe
from ..replies.migration_text import numbers_text, state_text
from .call import ENGINE_SECONDS, Call, Handler, admin
from .slow_command import slow

_LETTERS = 10
_ID = 60
_SOURCES = 400


@admin
@slow
async def migrate(call: Call) -> str:
    """``status`` (or nothing), ``dry-run``, ``start``, ``undo``, ``take-back <batch>``,
    ``broken``. It tells of all scopes."""
    word, more = call.split()
    handler = _WORDS.get(word.lower())
    if handler is _status:
        return await _status(call)
    # It tells why the engine is off; the migrations do not.
    await call.service.admin.map_summary()
    if handler is None or (handler is _take_back and not more):
        return call.say("migrate.usage")
    return await handler(call.behind())


async def _status(call: Call) -> str:
    found = await call.engine.status()
    if not found.ready:  # the stores were not looked at yet
        with suppress(TimeoutError, EngineClosed):
            async with asyncio.timeout(ENGINE_SECONDS):
                await call.service.admin.map_summary()
        return call.say("migrate.head", state=call.say("migrate.opening"))
    status = found.migration
    now = call.say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
    lines = [call.say("migrate.head", state=state_text(call.texts, status))]
    if status.tally.scanned or status.remaining:
        lines.append(call.say("migrate.mode", mode=status.mode, now=now))
        lines.append(numbers_text(call.texts, status.tally, status.remaining))
    lines += [
        call.say("migrate.batch", batch=batch, source=safe(source)[:_SOURCES])
        for batch, source in status.batches.items()
    ]
    return "\n".join(lines)


async def _dry_run(call: Call) -> str:
    tally = await call.engine.migrations.dry_run()
    if not tally.scanned:
        return call.say("migrate.head", state=call.say("migrate.state_idle"))
    numbers = numbers_text(call.texts, tally, tally.scanned)
    return "\n".join((call.say("migrate.dry_run"), numbers))


async def _start(call: Call) -> str:
    await call.engine.migrations.begin_again()
    return call.say("migrate.started")


async def _reverse(call: Call) -> str:
    report = await call.engine.migrations.reverse()
    if not report.restored and not report.left:
        return call.say("migrate.none_restored")
    return call.say("migrate.restored", count=report.restored, left=report.left)


async def _take_back(call: Call) -> str:
    report: ReverseReport | None = await call.engine.migrations.take_back(call.rest)
    if report is None:
        return call.say("migrate.no_batch", batch=safe(call.rest)[:_ID])
    said = call.say("migrate.taken_back", count=report.restored)
    return "\n".join([said, *call.texts.counted({"undo.left": report.left})])


async def _broken(call: Call) -> str:
    letters = await call.engine.migrations.dead_letters(_LETTERS)
    shown = ((safe(one.record_id)[:_ID], one.reason) for one in letters)
    lines = [call.say("migrate.letter", id=record, reason=reason) for record, reason in shown]
    return "\n".join(lines) or call.say("migrate.none_broken")


_WORDS: Mapping[str, Handler] = {
    **dict.fromkeys(("", "status", "状态"), _status),
    **dict.fromkeys(("dry-run", "dryrun", "试算"), _dry_run),
    **dict.fromkeys(("start", "开始", "继续", "重新开始"), _start),
    **dict.fromkeys(("undo", "撤销", "reverse", "还原"), _reverse),
    **dict.fromkeys(("take-back", "takeback", "收回"), _take_back),
    **dict.fromkeys(("broken", "坏的"), _broken),
}
