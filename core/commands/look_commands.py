"""``/memory status``, ``list``, ``todo``, ``search`` and ``why``: what a conversation may see."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence

from ...llm_memory import OFF_THE_RECORD, EngineOff, EngineStatus, Expanded, Refused
from ...llm_memory.catalogue.rules.closing import is_over
from ...llm_memory.catalogue.rules.tasks import is_done, is_task
from ...llm_memory.text.safe_text import cut, safe
from ..replies.explanation import attached, fate_text, primed_text, why_text
from ..replies.outcome_text import entry_text, error_text, note_text
from ..replies.status_text import loop_lines
from ..services.injection_service import found_text
from .call import ENGINE_SECONDS, Call
from .command_words import PUBLIC, scope_named
from .correct_commands import ME
from .memory_reference import bare, named_one, numbered, numbered_hits, shown_lines
from .scope_commands import left_text


async def status(call: Call) -> str:
    """Show the status; what concerns other conversations is for admins only."""
    plugin, say, is_admin = call.plugin, call.say, call.actor.admin
    found = await plugin.engine.status()
    embedder = found.embedder or say("status.no_embedder")
    index = say(f"index.{found.index}")
    lines = [
        say("status.head", version=plugin.version, embedder=embedder, index=index),
        *await _visible(call),
    ]
    if is_admin:
        lines += [*_index_lines(call, found), *([plugin.advice] if plugin.advice else [])]
        lines += _note_lines(call, found)
    if pause := call.service.conversations.pause_of(call.where):
        lines.append(call.paused(pause))
    warnings = plugin.warnings(found)
    if is_admin:
        lines += loop_lines(call.texts, found.loop)
        lines += [left_text(call.texts, one, here=False) for one in found.left]
        lines += await _new_rules(call)
        lines += [say("status.warning", text=text) for text in warnings]
    elif warnings:
        lines.append(say("status.warnings_hidden"))
    return "\n".join(lines)


async def _visible(call: Call) -> list[str]:
    try:
        async with asyncio.timeout(ENGINE_SECONDS):
            report = await call.service.describe(conversation_id=call.where)
    except TimeoutError:
        return [call.say("status.opening")]
    except EngineOff as error:
        return [error_text(call.texts, error)]
    return call.texts.counted("status", visible=report.visible)


def _index_lines(call: Call, found: EngineStatus) -> list[str]:
    """What the index lacks, and what of its answers the second check has dropped."""
    lines = []
    if found.backlog:
        total = max(found.total + sum(found.notes.values()), found.backlog)
        done = total - found.backlog
        lines.append(call.say("status.backlog", count=found.backlog, done=done, total=total))
    return lines + call.texts.counted("status", scope_check_drops=found.scope_check_drops)


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


_PAGE = 10
_SEARCH_BUDGET = 4000
_DETAIL = frozenset({"详细", "detail", "details", "full"})
_BACK = frozenset({"前", "往前", "back"})
_BACK_GLUED = re.compile(r"(前|往前|back)(?=\d)")
_TOLD = 5
"""As many recalls of a conversation as are told of."""
_TASKS = 30
_WHOLE = 10_000


async def list_(call: Call) -> str:
    """A page of what this conversation may see: what lies in its own scope, the newest first, and
    how much is public beside; with a name, all that the person said or is named in."""
    say = call.say
    words, details = _without(_DETAIL, call.rest)
    last = words[-1] if words else ""
    page = int(last) if last.isdecimal() and len(last) <= len("9999") else 0
    name = bare(" ".join(words[:-1] if page else words))
    public, mine = scope_named(name) == PUBLIC, name.lower() in ME
    found = await call.service.newest(
        conversation_id=call.where,
        said_by=call.actor if mine else None,
        naming="" if public or mine else name,
    )
    here, beside = await call.here(), 0
    if public:
        found = [one for one in found if one.scope.is_public]
    else:
        found.sort(key=lambda one: one.scope.name != here)  # the own ones first
        if not name:
            beside = sum(one.scope.name != here for one in found)
            found = found[: len(found) - beside]
    more = call.texts.counted("list", public=beside)
    if not found:
        return "\n".join([_empty(call, name, public=public, mine=mine), *more])
    page = max(page, 1)
    start = (page - 1) * _PAGE
    shown = found[start : start + _PAGE]
    if not shown:
        return say("list.no_page", page=page, pages=-(-len(found) // _PAGE))
    lines = await numbered(call, shown, start + 1, details=details)
    head = "list.head_all" if len(found) <= _PAGE else "list.head"
    lines.insert(0, say(head, count=len(found), first=start + 1, last=start + len(shown)))
    if start + _PAGE < len(found):
        lines.append(say("list.next", words=f"{safe(name)} {page + 1}".strip()))
    return "\n".join([*lines, *more])


def _empty(call: Call, name: str, *, public: bool, mine: bool) -> str:
    if public or mine:
        return call.say("list.no_public" if public else "list.none_of_yours")
    return call.say("list.nobody", name=cut(name)) if name else call.say("list.empty")


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
    words, details = _without(_DETAIL, call.rest)
    if not words:
        return call.say("search.usage")
    recall = await call.service.recall(
        " ".join(words),
        conversation_id=call.where,
        limit=_PAGE,
        token_budget=_SEARCH_BUDGET,
        actor=call.actor,
    )
    if OFF_THE_RECORD in recall.trace.notes:
        return f"{call.say('pause.recalled_nothing')}\n{call.how_to_resume}"
    if not recall.hits:
        return call.say("search.nothing")
    lines = await numbered_hits(call, recall.hits, details=details)
    return "\n".join([found_text(call.texts, recall), *lines])


async def why(call: Call) -> str:
    """How the last recall of this conversation went; ``前 2`` the last but one, ``详细`` with ids.
    With a number or an id, what became of that memory."""
    words, details = _without(_DETAIL, _BACK_GLUED.sub(r"\1 ", call.rest.lower()))
    if words and words[0] not in _BACK:
        return await _of_one(call, words, details=details)
    back = int(words[1]) if words[1:] and words[1].isdecimal() else 1
    if not 1 <= back <= _TOLD:
        return call.say("explain.too_far", most=_TOLD)
    explained = await call.service.explain(conversation_id=call.where, actor=call.actor)
    primed = await call.service.last_primer(conversation_id=call.where) if back == 1 else None
    lines = [primed_text(call.texts, primed)] if primed is not None else []
    for one in explained[back - 1 : back]:
        hits = [hit for _, hit in one.candidates if hit is not None]
        told = zip(hits, await shown_lines(call, hits, details=details), strict=True)
        shown = {hit.memory_id: line for hit, line in told}
        lines.append(why_text(call.texts, one, shown, back=back, admin=call.actor.admin))
        call.list_of([hit.memory_id for hit in attached(one)])
    return "\n".join(lines) or call.say("explain.nothing")


async def _of_one(call: Call, words: Sequence[str], *, details: bool) -> str:
    texts, service = call.texts, call.service
    named = named_one(call, words[0], words)
    if named is None:
        return call.say("explain.usage")
    whole = await service.expand(named, conversation_id=call.where)
    if isinstance(whole, Refused):
        return call.refused(whole)
    if isinstance(whole, Expanded):
        hits = await service.told(
            [whole.memory], conversation_id=call.where, actor=call.actor, chars=_WHOLE
        )
        (entry,) = await shown_lines(call, hits)
        if details:
            entry = entry_text(texts, whole.memory, hits[0])
    else:
        entry = note_text(texts, whole.section)
    explained = await service.explain(conversation_id=call.where)
    fates = [text for one in explained if (text := fate_text(texts, one, named))]
    return "\n".join([entry, *(fates or [call.say("explain.never")])])


def _without(some: Collection[str], words: str) -> tuple[list[str], bool]:
    """The words without those of a set, and whether one of these was among them."""
    found = [one for word in words.split() if (one := bare(word))]
    left = [word for word in found if word.lower() not in some]
    return left, len(left) < len(found)
