"""``/memory status``, ``list``, ``todo``, ``search`` and ``why``: what a conversation may see."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from ...llm_memory import OFF_THE_RECORD, EngineOff, EngineStatus, Refused, StoredMemory
from ...llm_memory.catalogue.rules.closing import is_over
from ...llm_memory.catalogue.rules.tasks import is_done, is_task
from ...llm_memory.text.safe_text import cut, safe
from ..replies.memory_line import attached, fate_text, primed_text, why_text
from ..replies.outcome_text import error_text, found_text, note_text
from ..replies.status_text import loop_lines
from .call import ENGINE_SECONDS, Call
from .command_words import PUBLIC, scope_named
from .correct_commands import ME
from .memory_reference import bare, named_one, numbered, numbered_hits, shown_lines
from .scope_commands import left_text

_PAGE = 10
_SEARCH_BUDGET = 4000
_DETAIL = frozenset({"详细", "detail", "details", "full"})
_BACK = frozenset({"前", "往前", "back"})
_BACK_GLUED = re.compile(r"(前|往前|back)(?=\d)")
_TOLD = 5
"""As many recalls of a conversation as are told of."""
_TASKS = 30
_WHOLE = 10_000


async def status(call: Call) -> str:
    """Show the status; what concerns other conversations is for admins only."""
    plugin, say = call.plugin, call.say
    found = await plugin.engine.status()
    warnings, is_admin = plugin.warnings(found), call.actor.admin
    embedder = found.embedder or say("status.no_embedder")
    index = say(f"index.{found.index}")
    lines = [say("status.head", version=plugin.version, embedder=embedder, index=index)]
    rules = list[str]()
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            report = await call.service.describe(conversation_id=call.where)
            lines += call.texts.counted("status", visible=report.visible)
            rules += await _new_rules(call) if is_admin else []
    except TimeoutError:
        lines.append(say("status.opening"))
    except EngineOff as error:
        lines.append(error_text(call.texts, error))
    if is_admin:
        lines += _index_lines(call, found)
    if pause := call.service.conversations.pause_of(call.where):
        lines.append(call.paused(pause))
    if is_admin:
        lines += loop_lines(call.texts, found.loop)
        lines += [left_text(call.texts, one, here=False) for one in found.left]
        lines += [*rules, *(say("status.warning", text=text) for text in warnings)]
    elif warnings:
        lines.append(say("status.warnings_hidden"))
    return "\n".join(lines)


def _index_lines(call: Call, found: EngineStatus) -> list[str]:
    """What the index lacks, and what of its answers the second check has dropped; what would make
    recall better; the notes."""
    lines, notes = list[str](), sum(found.notes.values())
    if found.backlog:
        total = max(found.total + notes, found.backlog)
        lines.append(call.say("status.backlog", done=total - found.backlog, total=total))
    lines += call.texts.counted("status", scope_check_drops=found.scope_check_drops)
    lines += [call.plugin.advice] if call.plugin.advice else []
    if notes:
        places = tuple(f"{safe(place)} {count}" for place, count in sorted(found.notes.items()))
        lines.append(call.say("status.notes", count=notes, places=places))
    return lines


async def _new_rules(call: Call) -> list[str]:
    """What has become a rule because an admin said so in talk, told once."""
    rules = await call.service.new_rules(**call.by)
    return [
        call.say("status.new_rule", text=safe(one.memory.judgment), id=one.memory.memory_id)
        for one in rules
    ]


async def list_(call: Call) -> str:
    """A page of what this conversation may see: what lies in its own scope, the newest first, and
    how much is public beside; with a name, all that the person said or is named in."""
    say = call.say
    words, details = _words(call.rest)
    page = int(words.pop()) if words and re.fullmatch(r"\d{1,4}", words[-1]) else 1
    name = bare(" ".join(words))
    public, mine = scope_named(name) == PUBLIC, name.lower() in ME
    found = await call.service.newest(
        conversation_id=call.where,
        said_by=call.actor if mine else None,
        naming="" if public or mine else name,
    )
    here, beside = await call.here(), 0
    if public:
        found = [one for one in found if one.scope.is_public]
    elif name:
        found.sort(key=lambda one: one.scope.name != here)  # the own ones first
    else:
        own = [one for one in found if one.scope.name == here]
        found, beside = own, len(found) - len(own)
    more = call.texts.counted("list", public=beside)
    if not found:
        empty = (
            "no_public" if public else "none_of_yours" if mine else "nobody" if name else "empty"
        )
        return "\n".join([say(f"list.{empty}", name=cut(name)), *more])
    start = (max(page, 1) - 1) * _PAGE
    shown = found[start : start + _PAGE]
    if not shown:
        return say("list.no_page", page=page, pages=-(-len(found) // _PAGE))
    lines = await numbered(call, shown, start + 1, details=details)
    head = "list.head_all" if len(found) <= _PAGE else "list.head"
    lines.insert(0, say(head, count=len(found), first=start + 1, last=start + len(shown)))
    if start + _PAGE < len(found):
        lines.append(say("list.next", words=f"{safe(name)} {start // _PAGE + 2}".strip()))
    return "\n".join([*lines, *more])


async def todo(call: Call) -> str:
    """What is still to do, of the own scope first; with a name, what the person said or is named
    in."""
    name = bare(call.rest)
    found = await call.service.newest(
        conversation_id=call.where, naming=call.actor.name if name.lower() in ME else name
    )
    here = await call.here()
    tasks = [one for one in found if is_task(one) and not is_done(one) and not is_over(one.memory)]
    tasks.sort(key=lambda one: one.scope.name != here)
    if not tasks:
        return call.say("todo.nothing")
    lines = await numbered(call, tasks[:_TASKS])
    more = call.texts.counted("todo", more=max(0, len(tasks) - _TASKS))
    return "\n".join([call.say("todo.head", count=len(tasks)), *lines, *more])


async def search(call: Call) -> str:
    """What recall finds for the words."""
    words, details = _words(call.rest)
    if not words:
        return call.say("search.usage")
    recall = await call.service.recall(
        " ".join(words), **call.by, limit=_PAGE, token_budget=_SEARCH_BUDGET
    )
    if OFF_THE_RECORD in recall.trace.notes:
        return f"{call.say('pause.recalled_nothing')}\n{call.how_to_resume}"
    if not recall.hits:
        return found_text(call.texts, recall)
    lines = await numbered_hits(call, recall.hits, details=details)
    return "\n".join([found_text(call.texts, recall), *lines])


async def why(call: Call) -> str:
    """How the last recall of this conversation went; ``前 2`` the last but one. With a number or an
    id, what became of that memory."""
    words, _ = _words(_BACK_GLUED.sub(r"\1 ", call.rest.lower()))
    if words and words[0] not in _BACK:
        return await _of_one(call, words)
    back = int(words[1]) if words[1:] and words[1].isdecimal() else 1
    if not 1 <= back <= _TOLD:
        return call.say("explain.too_far", most=_TOLD)
    explained = await call.service.explain(**call.by)
    primed = await call.service.last_primer(conversation_id=call.where) if back == 1 else None
    lines = [primed_text(call.texts, primed)] if primed is not None else []
    for one in explained[back - 1 : back]:
        hits = [hit for _, hit in one.candidates if hit is not None]
        told = zip(hits, await shown_lines(call, hits), strict=True)
        shown = {hit.memory_id: line for hit, line in told}
        lines.append(why_text(call.texts, one, shown, back=back, admin=call.actor.admin))
        call.list_of([hit.memory_id for hit in attached(one)])
    return "\n".join(lines) or call.say("explain.nothing")


async def _of_one(call: Call, words: Sequence[str]) -> str:
    named = named_one(call, words[0], words)
    if named is None:
        return call.say("explain.usage")
    whole = await call.service.expand(named, conversation_id=call.where)
    if isinstance(whole, Refused):
        return call.refused(whole)
    if isinstance(whole, StoredMemory):
        hits = await call.service.told([whole], **call.by, chars=_WHOLE)
        (entry,) = await shown_lines(call, hits)
    else:
        entry = note_text(call.texts, whole)
    explained = await call.service.explain(conversation_id=call.where)
    fates = [text for one in explained if (text := fate_text(call.texts, one, named))]
    return "\n".join([entry, *(fates or [call.say("explain.never")])])


def _words(rest: str) -> tuple[list[str], bool]:
    """The words without the one that asks for details, and whether it was among them."""
    found = [one for word in rest.split() if (one := bare(word))]
    left = [word for word in found if word.lower() not in _DETAIL]
    return left, len(left) < len(found)
