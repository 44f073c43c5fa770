"""``/memory status``: how the engine is doing."""

from __future__ import annotations

import asyncio

from ...llm_memory import EngineOff, EngineStatus
from ...llm_memory.text.safe_text import safe
from ..replies.loop_text import loop_lines
from ..replies.outcome_text import error_text
from .bring_command import left_text
from .call import ENGINE_SECONDS, Call, no_words


@no_words
async def status(call: Call) -> str:
    """Show the status; what concerns other conversations is for admins only."""
    plugin, say, is_admin = call.plugin, call.say, call.actor.admin
    found = await plugin.engine.status()
    embedder = found.embedder or say("status.no_embedder")
    index = say(f"index.{found.index}")
    lines = [
        say("status.head", version=plugin.version, embedder=embedder, index=index),
        await _visible(call),
    ]
    if is_admin:
        lines += [*_index_lines(call, found), *([plugin.advice] if plugin.advice else [])]
        lines += _note_lines(call, found)
    if pause := call.service.conversations.pause_of(call.where):
        lines.append(call.paused(pause))
    warnings = plugin.warnings(found)
    if is_admin:
        lines += loop_lines(call.texts, found.loop)
        lines += [left_text(call.texts, one, "status.left") for one in found.left]
        lines += await _new_rules(call)
        lines += [say("status.warning", text=text) for text in warnings]
    elif warnings:
        lines.append(say("status.warnings_hidden"))
    return "\n".join(lines)


async def _visible(call: Call) -> str:
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            report = await call.service.describe(conversation_id=call.where)
    except TimeoutError:
        return call.say("status.opening")
    except EngineOff as error:
        return error_text(call.texts, error)
    return call.say("status.visible", count=report.visible)


def _index_lines(call: Call, found: EngineStatus) -> list[str]:
    """What the index lacks, and what of its answers the second check has dropped."""
    lines = []
    if found.backlog:
        total = max(found.total + sum(found.notes.values()), found.backlog)
        done = total - found.backlog
        lines.append(call.say("status.backlog", count=found.backlog, done=done, total=total))
    return lines + call.texts.counted({"status.scope_check_drops": found.scope_check_drops})


def _note_lines(call: Call, found: EngineStatus) -> list[str]:
    if not found.notes:
        return []
    counted = (f"{safe(place)} {count}" for place, count in sorted(found.notes.items()))
    places = call.say("common.and").join(counted)
    return [call.say("status.notes", count=sum(found.notes.values()), places=places)]


async def _new_rules(call: Call) -> list[str]:
    """What has become a rule because an admin said so in talk, told once."""
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            rules = await call.service.new_rules(conversation_id=call.where, actor=call.actor)
    except (TimeoutError, EngineOff):
        return []
    return [
        call.say("status.new_rule", text=safe(one.memory.judgment), id=one.memory.memory_id)
        for one in rules
    ]
