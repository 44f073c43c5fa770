"""``/memory``: every command as a text in, text out. Replies show what the conversation may see."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import (
    Actor,
    ConversationKind,
    EngineClosed,
    MemoryDraft,
    ScopedMemoryError,
    Source,
    is_stored,
)
from ...llm_memory.models.data_models import Topic
from ...llm_memory.models.vault_layout import topic_of
from ...llm_memory.text.safe_text import cut
from ...llm_memory.texts import Texts
from .. import ROOT
from ..latest import Latest
from ..plugin_context import PluginContext
from ..replies.outcome_text import ENDS, error_text, remembered_text
from ..turn.events import command_rest
from .call import Asked, Call, Handler, Person, Reply, no, yes
from .command_words import COMMANDS, CommandWords, Row, first_word, folded_word, known, nearest
from .correct_commands import edit, forget, move, undo
from .decide_commands import decide, soul
from .file_commands import backup, export, import_, restore
from .look_commands import list_, search, status, todo, why
from .loop_commands import migrate, never, pause, reflect, resume, sleep
from .scope_commands import join, scope

_LISTS = 500
"""Persons whose last list is kept, of all conversations together."""
_ASKED = 100
"""Persons whose yes is waited for."""
_PATIENCE_SECONDS = 15.0
"""A model takes its time, and most answers come within this."""

_MORE = {"管理": "manage", "维护": "upkeep", "搬家": "moving"}
_NO_MATTER = frozenset({"", "一下", "吧", "了", "now", "please", "现在", "马上", "立即", "立刻"})


async def help_(call: Call) -> Reply:
    """List the commands; for an unknown word, suggest the nearest ones."""
    page = _MORE.get(folded := folded_word(call.rest), folded)
    if call.actor.admin and page in _MORE.values():
        python, folder = shlex.quote(sys.executable), shlex.quote(str(ROOT))
        line = f"cd {folder} && {python} -m llm_memory restore"
        alone = page == "moving" and call.where.kind is ConversationKind.PRIVATE
        return [call.say(f"help.{page}"), call.say("help.moving_line", line=line) if alone else ""]
    if call.rest and (said := unknown_text(call.texts, call.rest, admin=call.actor.admin)):
        return said
    return [call.say("help.text"), call.say("help.admin") if call.actor.admin else ""]


def unknown_text(texts: Texts, rest: str, *, admin: bool) -> str:
    """That there is no such command, and which may be meant; empty for one that there is."""
    word, names = first_word(rest)[0], CommandWords.names()
    if known(word, names) is not None:
        return ""
    for_all = {row.name: row.called(texts.spoken) for row in COMMANDS if admin or not row.refusal}
    meant = nearest(word, {key: some for key, some in names.items() if key in for_all})
    code, near = "meant" if meant else "unknown", tuple(for_all[key] for key in meant)
    return texts.say(f"help.{code}", word=cut(word), names=near)


async def add(call: Call) -> Reply:
    """Remember the text as it stands."""
    if minutes := call.plugin.rate.wait(call.where, call.actor, call.rest):
        return call.say("add.too_fast", minutes=minutes)
    draft = MemoryDraft(call.rest, source=Source.COMMAND, actor=call.actor)
    outcome = await call.service.remember(draft, conversation_id=call.where)
    if is_stored(outcome, "stored"):
        stored = outcome.memory
        if topic_of(stored.path) is Topic.INSTRUCTIONS and stored.memory.provenance.trusted:
            call.list_of([stored.memory.memory_id])
            return call.say("add.rule")
    return remembered_text(call.texts, outcome, "add")


_ALL = (
    help_, status, scope, join, list_, todo, search, why, add, forget, edit, move, undo, pause,
    resume, never, reflect, yes, no, export, import_, backup, restore, decide, soul, sleep,
    migrate,
)  # fmt: skip
_HANDLERS: Mapping[str, Handler] = {one.__name__.removesuffix("_"): one for one in _ALL}
"""By the name in the table of commands; the underscore keeps clear of a name of Python's."""
_ROWS = {row.name: row for row in COMMANDS}


class Commands:
    """Answers the commands of one load of the plugin."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._lists = Latest[Person, Mapping[int, str]](_LISTS)
        self._asked = Latest[Person, Asked](_ASKED)

    async def answer(self, event: AstrMessageEvent, name: str) -> str | None:
        """Run a command of the table for an event. None where the engine was closed before anything
        was done. What takes longer than ``_PATIENCE_SECONDS``, or is not waited for any more, goes
        on behind, and its end is told in the conversation."""
        plugin, events = self._plugin, self._plugin.events
        where, actor = await events.where(event), await events.who(event)
        plugin.spawn(plugin.service.meet(where, actor))
        call = Call(plugin, where, actor, command_rest(event, 2), self._lists, self._asked)
        if name not in ("yes", "no"):  # a later yes would mean something else
            self._asked.pop(call.person, None)
        if (said := _misused(call, _ROWS[name])) is None:
            task, done = asyncio.ensure_future(_HANDLERS[name](call)), set[asyncio.Future[Reply]]()
            try:
                done, _ = await asyncio.wait([task], timeout=_PATIENCE_SECONDS)
            finally:
                if not done:
                    plugin.spawn(_tell_later(call, task))
            said = _said(call, task) if done else call.say("slow.goes_on")
        return None if said is None else said + await self._beside(said, actor)

    async def _beside(self, reply: str, actor: Actor) -> str:
        """Returns the warnings that an admin was not told in chat yet."""
        with suppress(ScopedMemoryError):  # the command's own reply has said it
            warning = await self._plugin.news(actor) if actor.admin else ""
            if warning and warning not in reply:
                return "\n" + self._plugin.texts.say("status.warning", text=warning)
        return ""


def _misused(call: Call, row: Row) -> str | None:
    if row.bare and folded_word(call.rest) not in _NO_MATTER:
        return call.say("outcome.unread_words", words=cut(call.rest))
    if row.usage and len(call.rest.split()) < row.words:
        return call.say(row.usage)
    if row.refusal and not call.actor.admin:
        return call.say(row.refusal)
    pause = call.service.pause_of(call.where) if row.keeps else None
    return call.paused(pause) if pause else None


def _said(call: Call, task: asyncio.Future[Reply]) -> str | None:
    """The reply, whatever has happened; None where the engine was closed. What is no expected end
    of a command is in the log."""
    try:
        reply = task.result()
        return reply if isinstance(reply, str) else "\n".join(filter(None, reply))
    except EngineClosed:
        return None
    except ENDS as error:
        return error_text(call.texts, error)
    except Exception as error:  # noqa: BLE001  (a command answers something; the log has more)
        logger.exception(call.say("log.command_failed"))
        return call.say("outcome.failed", detail=type(error).__name__)


async def _tell_later(call: Call, task: asyncio.Future[Reply]) -> None:
    await asyncio.gather(task, return_exceptions=True)
    said = _said(call, task)
    await call.plugin.tell(call.where.umo, call.say("outcome.reloaded") if said is None else said)
