"""``/memory migrate``: how far old memories are, and what admins do with them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...llm_memory import (
    Actor,
    ConversationId,
    EngineClosed,
    MigrationState,
    MigrationStatus,
    ReverseReport,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.migration_text import cause_text, numbers_text
from .slow_command import answer_or_continue

_STATUS_SECONDS = 1.0
_LETTERS = 10
_ID = 60
_SOURCES = 400
_WORDS = {
    "status": "status",
    "状态": "status",
    "": "status",
    "dry-run": "dry_run",
    "dryrun": "dry_run",
    "试算": "dry_run",
    "start": "start",
    "继续": "start",
    "重新开始": "start",
    "reverse": "reverse",
    "还原": "reverse",
    "take-back": "take_back",
    "takeback": "take_back",
    "收回": "take_back",
    "broken": "broken",
    "坏的": "broken",
}


class MigrationCommands:
    """One command with a word behind it, for admins: it tells of all scopes."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    async def migrate(self, _: ConversationId, actor: Actor, rest: str) -> str:
        """``status`` (or nothing), ``dry-run``, ``start``, ``reverse``, ``take-back <batch>``,
        ``broken``."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        word, more = (*rest.split(None, 1), "", "")[:2]
        what = _WORDS.get(word.lower())
        if what == "status":
            return await self._status()
        # It tells why the engine is off; the migrations do not.
        await self._plugin.service.admin.map_summary()
        match what:
            case "dry_run":
                return await self._patiently(self._dry_run)
            case "start":
                return await self._patiently(self._start)
            case "reverse":
                return await self._patiently(self._reverse)
            case "take_back" if more.strip():
                return await self._patiently(lambda: self._take_back(more.strip()))
            case "broken":
                return await self._broken()
            case _:
                return self._say("migrate.usage")

    async def _status(self) -> str:
        engine = await self._plugin.status()
        if not engine.ready:  # the stores were not looked at yet
            with suppress(TimeoutError, EngineClosed):
                async with asyncio.timeout(_STATUS_SECONDS):
                    await self._plugin.service.admin.map_summary()
            return self._say("migrate.head", state=self._say("migrate.opening"))
        status = engine.migration
        lines = [self._state(status), self._mode(status)]
        if status.tally.scanned or status.remaining:
            lines.append(numbers_text(self._plugin.texts, status.tally, status.remaining))
        lines += [
            self._say("migrate.batch", batch=batch, source=safe(source)[:_SOURCES])
            for batch, source in status.batches.items()
        ]
        return "\n".join(lines)

    def _mode(self, status: MigrationStatus) -> str:
        now = self._say("migrate.mode_on" if status.mode_on else "migrate.mode_off")
        return self._say("migrate.mode", mode=status.mode, now=now)

    def _state(self, status: MigrationStatus) -> str:
        state = self._say(f"migrate.state_{status.state}")  # one of each, see tests
        if status.reversed and status.state is MigrationState.IDLE:
            state = self._say("migrate.reversed")
        if status.waiting and status.state is MigrationState.RUNNING:
            state = self._say(
                "migrate.waiting", cause=cause_text(self._plugin.texts, status.waiting)
            )
        if status.state is MigrationState.FAILED:
            state = self._say("migrate.failed", detail=safe(status.detail)[:200])
        return self._say("migrate.head", state=state)

    async def _dry_run(self) -> str:
        tally = await self._plugin.migrations.dry_run()
        if not tally.scanned:
            return self._say("migrate.nothing")
        return "\n".join(
            (
                self._say("migrate.dry_run"),
                numbers_text(self._plugin.texts, tally, tally.scanned),
            )
        )

    async def _start(self) -> str:
        await self._plugin.migrations.begin_again()
        return self._say("migrate.started")

    async def _reverse(self) -> str:
        report = await self._plugin.migrations.reverse()
        if not report.restored and not report.left:
            return self._say("migrate.none_restored")
        return self._say("migrate.restored", count=report.restored, left=report.left)

    async def _take_back(self, batch: str) -> str:
        report: ReverseReport | None = await self._plugin.migrations.take_back(batch)
        if report is None:
            return self._say("migrate.no_batch", batch=safe(batch)[:_ID])
        return self._say("migrate.taken_back", count=report.restored, left=report.left)

    async def _broken(self) -> str:
        letters = await self._plugin.migrations.dead_letters(_LETTERS)
        if not letters:
            return self._say("migrate.none_broken")
        return "\n".join(
            self._say("migrate.letter", id=safe(one.record_id)[:_ID], reason=one.reason)
            for one in letters
        )

    async def _patiently(self, work: Callable[[], Awaitable[str]]) -> str:
        return await answer_or_continue(self._plugin, work, "migrate.goes_on")
