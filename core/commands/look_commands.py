"""``/memory status``, ``list``, ``todo``, ``search`` and ``why``: what a conversation may see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...llm_memory import OFF_THE_RECORD, EngineOff, EngineStatus, Refused, StoredMemory
from ...llm_memory.catalogue.rules.closing import is_over
from ...llm_memory.catalogue.rules.tasks import is_done, is_task
from ...llm_memory.text.safe_text import cut, safe
from ..replies.memory_line import attached, fate_texts, primed_text, why_text
from ..replies.outcome_text import error_text, found_text, note_text
from ..replies.status_text import loop_lines
from .call import Call, Reply
from .command_words import PUBLIC, scope_named
from .correct_commands import ME, bare, named_one, numbered, numbered_hits, shown_lines
from .scope_moves import left_text

_PAGE = 10
_SEARCH_BUDGET = 4000
_DETAIL = frozenset({"详细", "detail", "details", "full"})
_BACK = frozenset({"前", "往前", "back"})
_BACK_GLUED = re.compile(r"(前|往前|back)(?=\d)")
_TOLD = 5
"""As many recalls of a conversation as are told of."""
_TASKS = 30
_WHOLE = 10_000


async def status(call: Call) -> Reply:
    """Show the status; what concerns other conversations is for admins only."""
    plugin, say, rules = call.plugin, call.say, list[StoredMemory]()
    try:
        report = await call.service.describe(conversation_id=call.where)
        here = call.texts.counted("status", visible=report.visible)
        rules = await call.service.new_rules(**call.by)
    except EngineOff as error:
        here = [error_text(call.texts, error)]
    found = await plugin.engine.status()
    embedder, index = found.embedder or say("status.no_embedder"), say(f"index.{found.index}")
    pause, warnings = call.service.pause_of(call.where), plugin.warnings(found)
    head = say("status.head", version=plugin.version, embedder=embedder, index=index)
    lines = [head, *here, call.paused(pause) if pause else ""]
    if not call.actor.admin:
        return [*lines, say("status.warnings_hidden") if warnings else ""]
    learned = [(safe(one.memory.judgment), one.memory.memory_id) for one in rules]
    return [
        *lines,
        *_for_admins(call, found),
        *(say("status.new_rule", text=words, id=name) for words, name in learned),
        *(say("status.warning", text=text) for text in warnings),
    ]


def _for_admins(call: Call, found: EngineStatus) -> list[str]:
    """What the index lacks, and what of its answers the second check has dropped; what would make
    recall better; the notes; the loop; what lies in former scopes."""
    say, notes = call.say, sum(found.notes.values())
    total = max(found.total + notes, found.backlog)
    places = tuple(f"{safe(place)} {count}" for place, count in sorted(found.notes.items()))
    return [
        say("status.backlog", done=total - found.backlog, total=total) if found.backlog else "",
        *call.texts.counted("status", scope_check_drops=found.scope_check_drops),
        call.plugin.advice,
        say("status.notes", count=notes, places=places) if notes else "",
        *loop_lines(call.texts, found.loop),
        *(left_text(call.texts, one, "status.left") for one in found.left),
    ]


async def list_(call: Call) -> Reply:
    """A page of what this conversation may see: what lies in its own scope, the newest first, and
    how much is public beside; with a name, all that the person said or is named in."""
    words, details = _words(call.rest)
    page = int(words.pop()) if words and re.fullmatch(r"\d{1,4}", words[-1]) else 1
    name = bare(" ".join(words))
    public, mine = scope_named(name) == PUBLIC, name.lower() in ME
    every = await call.service.newest(
        conversation_id=call.where,
        said_by=call.actor if mine else None,
        naming="" if public or mine else name,
    )
    here = PUBLIC if public else await call.here()
    found, others = _split(every, here)
    beside = 0 if name else len(others)
    found += others if name and not public else []
    start = min(max(page - 1, 0), max(len(found) - 1, 0) // _PAGE) * _PAGE
    code = "head" if found else "nobody" if name and not public else "empty"
    next_page = " ".join(filter(None, [safe(name), str(start // _PAGE + 2)]))
    return [
        call.say(f"list.{code}", count=len(found), name=cut(name)),
        *await numbered(call, found[start : start + _PAGE], start + 1, details=details),
        call.say("list.next", words=next_page) if start + _PAGE < len(found) else "",
        *call.texts.counted("list", public=beside),
    ]


def _split(found: list[StoredMemory], scope: str) -> tuple[list[StoredMemory], list[StoredMemory]]:
    """What lies in the scope, and the others."""
    own = [one for one in found if one.scope.name == scope]
    return own, [one for one in found if one.scope.name != scope]


async def todo(call: Call) -> Reply:
    """What is still to do, of the own scope first; with a name, what the person said or is named
    in."""
    name = bare(call.rest)
    found = await call.service.newest(
        conversation_id=call.where, naming=call.actor.name if name.lower() in ME else name
    )
    tasks = [one for one in found if is_task(one) and not is_done(one) and not is_over(one.memory)]
    own, others = _split(tasks, await call.here())
    return [
        call.say("todo.head" if tasks else "todo.nothing", count=len(tasks)),
        *await numbered(call, (own + others)[:_TASKS]),
        *call.texts.counted("todo", more=max(0, len(tasks) - _TASKS)),
    ]


async def search(call: Call) -> Reply:
    """What recall finds for the words."""
    words, details = _words(call.rest)
    recall = await call.service.recall(
        " ".join(words), **call.by, limit=_PAGE, token_budget=_SEARCH_BUDGET
    )
    if OFF_THE_RECORD in recall.trace.notes:
        return [call.say("pause.recalled_nothing"), call.how_to_resume]
    lines = await numbered_hits(call, recall.hits, details=details)
    return [found_text(call.texts, recall), *lines]


async def why(call: Call) -> Reply:
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
        lines_of = await shown_lines(call, hits)
        shown = {hit.memory_id: line for hit, line in zip(hits, lines_of, strict=True)}
        lines.append(why_text(call.texts, one, shown, back=back, admin=call.actor.admin))
        call.list_of([hit.memory_id for hit in attached(one)])
    return lines or call.say("explain.nothing")


async def _of_one(call: Call, words: Sequence[str]) -> Reply:
    named = named_one(call, words[0], words)
    if named is None:
        return call.say("explain.usage")
    whole = await call.service.expand(named, conversation_id=call.where)
    if isinstance(whole, Refused):
        raise call.refusal(whole)
    if isinstance(whole, StoredMemory):
        hits = await call.service.told([whole], **call.by, chars=_WHOLE)
        lines = await shown_lines(call, hits)
    else:
        lines = [note_text(call.texts, whole)]
    explained = await call.service.explain(conversation_id=call.where)
    return lines + (fate_texts(call.texts, explained, named) or [call.say("explain.never")])


def _words(rest: str) -> tuple[list[str], bool]:
    """The words without the one that asks for details, and whether it was among them."""
    found = [one for word in rest.split() if (one := bare(word))]
    left = [word for word in found if word.lower() not in _DETAIL]
    return left, len(left) < len(found)
