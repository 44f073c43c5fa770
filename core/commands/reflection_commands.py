"""``/memory reflect`` and ``/memory letters``: what waits to be read, and what could not be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from astrbot.api import logger

from ...llm_memory import (
    Actor,
    ConversationId,
    ReflectionReport,
    ReflectionService,
    Resting,
    ScopedMemoryError,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.outcome_text import error_text
from ..texts import Texts

_PATIENCE_SECONDS = 20.0
"""A model takes its time. What takes longer goes on behind, and the status tells of it."""
_LETTERS = 10
_ID, _ERROR = 60, 200
_RETRY = frozenset({"retry", "重试"})
_DROP = frozenset({"drop", "丢弃"})


class ReflectionCommands:
    """For admins: reading costs money, and letters name conversations."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    @property
    def _reader(self) -> ReflectionService:
        return self._plugin.reflection

    async def reflect(self, conversation_id: ConversationId, actor: Actor, _: str) -> str:
        """Read at once what waits of this conversation."""
        await self._open()
        if not actor.admin:
            return self._say("outcome.admins_only")
        if since := self._plugin.service.conversations.paused_since(conversation_id):
            return self._say("status.paused", since=f"{since:%Y-%m-%d %H:%M}")
        reading = asyncio.ensure_future(self._read(conversation_id.umo))
        done, _pending = await asyncio.wait([reading], timeout=_PATIENCE_SECONDS)
        if done:
            return await reading
        self._plugin.spawn(self._finish(reading))
        return self._say("reflect.goes_on")

    async def _open(self) -> None:
        """The loop's own methods answer from an engine that is open."""
        await self._plugin.service.admin.map_summary()

    async def _read(self, conversation: str) -> str:
        return report_text(
            self._plugin.texts, await self._reader.reflect(conversation=conversation)
        )

    async def _finish(self, reading: Awaitable[str]) -> None:
        try:
            logger.info(await reading)
        except ScopedMemoryError as error:
            logger.error(error_text(self._plugin.texts, error))

    async def letters(self, _: ConversationId, actor: Actor, rest: str) -> str:
        """What was given up; ``retry [id]`` reads it again, ``drop <id>`` forgets it."""
        await self._open()
        if not actor.admin:
            return self._say("outcome.admins_only")
        word, named = (*rest.split(None, 1), "", "")[:2]
        named = named.strip()
        if word.lower() in _RETRY:
            count = await self._reader.retry(named)
            return self._say("letters.retried" if count else "letters.unknown", count=count)
        if word.lower() in _DROP and named:
            count = await self._reader.drop(named)
            return self._say("letters.dropped" if count else "letters.unknown", count=count)
        if word:
            return self._say("letters.usage")
        return await self._list()

    async def _list(self) -> str:
        letters = await self._reader.letters()
        if not letters:
            return self._say("letters.none")
        lines = [self._say("letters.head", count=len(letters))]
        lines += [
            self._say(
                "letters.line",
                id=letter.batch_id,
                count=letter.count,
                time=f"{letter.made_at:%Y-%m-%d %H:%M}",
                conversation=safe(letter.conversation)[:_ID],
                error=safe(letter.error)[:_ERROR],
            )
            for letter in letters[:_LETTERS]
        ]
        if len(letters) > _LETTERS:
            lines.append(self._say("letters.more", count=len(letters) - _LETTERS))
        return "\n".join([*lines, self._say("letters.usage")])


def report_text(texts: Texts, report: ReflectionReport) -> str:
    """What came of reading."""
    say = texts.say
    lines = []
    if report.read:
        lines.append(say("reflect.read", count=report.read, stored=report.stored))
    if report.dropped:
        lines.append(say("reflect.dropped", count=report.dropped))
    if report.dead:
        lines.append(say("reflect.dead", count=report.dead))
    if report.error:
        lines.append(say("reflect.error", detail=safe(report.error)[:_ERROR]))
    if report.waiting and report.resting is not Resting.NO:
        lines.append(say("loop.resting", why=say(f"resting.{report.resting}")))
    if report.waiting:
        lines.append(say("reflect.waiting", count=report.waiting))
    return "\n".join(lines) or say("reflect.nothing")
