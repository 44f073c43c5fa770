"""``/memory status``, ``list``, ``todo``, ``search`` and ``why``: what a conversation may see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...llm_memory import GIVEN_UP, EngineOff, Refused, StoredMemory, Told
from ...llm_memory.catalogue.rules.closing import is_over
from ...llm_memory.catalogue.rules.tasks import is_done, is_task
from ...llm_memory.text.safe_text import cut, safe, safe_line
from ...llm_memory.texts import Texts
from ..replies.outcome_text import WHOLE, error_text, found_text, place_text
from ..replies.status_text import loop_lines
from .call import Call, Reply
from .command_words import PUBLIC, scope_named
from .correct_commands import ME, bare, named_one, numbered, numbered_hits, shown_lines
from .scope_moves import left_text

_PAGE = 10
_SEARCH_BUDGET = 4000
_BACK = re.compile(r"(?:往?前|back)\s*(\d*)(?:\s.*)?|", re.IGNORECASE | re.DOTALL)
_TOLD = 5
"""As many recalls of a conversation as are told of."""
_TASKS = 30
_NEAR = 3


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
    counts = {"backlog": found.backlog, "scope_check_drops": found.scope_check_drops}
    return [
        *lines,
        *call.texts.counted("status", **counts, notes=sum(found.notes.values())),
        *loop_lines(call.texts, found.loop),
        *(left_text(call.texts, one, "status.left") for one in found.left),
        *(say("status.new_rule", text=words, id=name) for words, name in learned),
        *(say("status.warning", text=text) for text in warnings),
    ]


async def list_(call: Call) -> Reply:
    """A page of what this conversation may see: what lies in its own scope, the newest first, and
    how much is public beside; with a name, all that the person said or is named in."""
    words = [one for word in call.rest.split() if (one := bare(word))]
    page = int(words.pop()) if words and re.fullmatch(r"\d{1,4}", words[-1]) else 1
    name = " ".join(words)
    public = scope_named(name) == PUBLIC
    found, own = await _found(call, "" if public else name)
    beside = 0 if name else len(found) - own
    if public:
        found = [one for one in found if one.scope.is_public]
    found = found if name else found[:own]
    start = min(max(page - 1, 0), max(len(found) - 1, 0) // _PAGE) * _PAGE
    nobody = "unsaid" if name.lower() in ME else "nobody"
    code = "head" if found else nobody if name and not public else "empty"
    next_page = f"{safe(name)} {start // _PAGE + 2}".lstrip()
    return [
        call.say(f"list.{code}", count=len(found), name=cut(name)),
        *await numbered(call, found[start : start + _PAGE], start + 1),
        call.say("list.next", words=next_page) if start + _PAGE < len(found) else "",
        *call.texts.counted("list", public=beside),
    ]


async def _found(call: Call, name: str) -> tuple[list[StoredMemory], int]:
    """What the person of that name said or is named in, all without a name, of the own scope first;
    and how much of it is of the own scope."""
    name = (call.actor.name if name.lower() in ME else "") or name
    found = await call.service.newest(conversation_id=call.where, naming=name)
    here = await call.here()
    own = sum(one.scope.name == here for one in found)
    return sorted(found, key=lambda one: one.scope.name != here), own


async def todo(call: Call) -> Reply:
    """What is still to do, of the own scope first; with a name, what the person said or is named
    in."""
    found, _ = await _found(call, bare(call.rest))
    tasks = [one for one in found if is_task(one) and not (is_done(one) or is_over(one.memory))]
    return [
        call.say("todo.head" if tasks else "todo.nothing", count=len(tasks)),
        *await numbered(call, tasks[:_TASKS]),
        *call.texts.counted("todo", more=max(0, len(tasks) - _TASKS)),
    ]


async def search(call: Call) -> Reply:
    """What recall finds for the words."""
    recall = await call.service.recall(
        bare(call.rest), **call.by, limit=_PAGE, token_budget=_SEARCH_BUDGET
    )
    return [found_text(call.texts, recall), *await numbered_hits(call, recall.hits)]


async def why(call: Call) -> Reply:
    """How the last recall of this conversation went; ``前 2`` the last but one. With a number or an
    id, that memory whole."""
    words = bare(call.rest)
    if (asked := _BACK.fullmatch(words)) is None:
        return await _of_one(call, words)
    back = int(asked[1] or 1)
    if not 1 <= back <= _TOLD:
        return call.say("explain.too_far", most=_TOLD)
    lines = list[str]()
    if back == 1 and (primed := await call.service.last_primer(conversation_id=call.where)):
        time, hours = f"{primed.at:%m-%d %H:%M}", f"{primed.away.total_seconds() / 3600:.1f}"
        lines.append(call.say("explain.primed", time=time, hours=hours, count=primed.memories))
    for one in (await call.service.explain(**call.by))[back - 1 : back]:
        lines += why_lines(call.texts, one, await shown_lines(call, [*one.hits.values()]))
        kept = {of.memory_id for of in one.trace.considered if of.dropped is None}
        call.list_of([name for name in one.hits if name in kept])
    return lines or call.say("explain.nothing")


def why_lines(texts: Texts, told: Told, shown: Sequence[str]) -> list[str]:
    """A question, what was attached to it and what came close, in words that need no manual. What a
    part that is broken says of itself may name folders. ``shown``: the lines of the candidates that
    the conversation may still see."""
    trace, say, count = told.trace, texts.say, 0
    attached, near = list[str](), list[str]()
    seen = (one for one in trace.considered if one.memory_id in told.hits)
    for one, line in zip(seen, shown, strict=True):
        if one.dropped is not None:
            near.append(say("explain.near_line", text=line, why=say(f"fate.{one.dropped}")))
            continue
        count += 1
        attached.append(f"{count}. {line}")
        if gone := told.instead_of.get(one.memory_id):
            attached.append(say("explain.instead_of", id=gone))
    notes = ((one, "given_up" if one == GIVEN_UP else "note") for one in trace.notes)
    return [
        say("explain.head", query=cut(told.query), time=f"{told.at:%m-%d %H:%M}"),
        *texts.counted("explain", talk=len(trace.talk)),
        say("explain.looked_in", places=tuple({place_text(texts, one): 0 for one in trace.scopes})),
        *(say(f"explain.{code}", text=safe(one.partition(":")[0])) for one, code in notes),
        say("explain.attached" if attached else "explain.attached_none", count=count),
        *attached,
        *([say("explain.near"), *near[:_NEAR]] if near else []),
        say("explain.more"),
    ]


async def _of_one(call: Call, words: str) -> Reply:
    named = named_one(call, words.split()[0])
    if named is None:
        return call.say("explain.usage")
    whole = await call.service.expand(named, conversation_id=call.where)
    if isinstance(whole, Refused):
        raise call.refusal(whole)
    if not isinstance(whole, StoredMemory):
        lines = [safe_line(line) for line in whole.text.split("\n")]
        return lines + call.texts.counted("entry", note_cut=whole.cut)
    return await shown_lines(call, await call.service.told([whole], **call.by, chars=WHOLE))
