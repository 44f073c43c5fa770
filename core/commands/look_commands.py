"""``/memory list``, ``search`` and ``why``: what a conversation may see, and why it was told."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import OFF_THE_RECORD, Expanded, PointerNotVisible
from ...llm_memory.text.safe_text import safe
from ..replies.explanation import attached, fate_text, primed_text, why_text
from ..replies.outcome_text import entry_text, note_text
from ..services.injection_service import found_text
from .call import Call
from .memory_reference import UnknownReference, named_one, numbered, numbered_hits

_PAGE = 10
_SEARCH_BUDGET = 4000
_ME = frozenset({"我", "我的", "me", "mine"})
_DETAIL = frozenset({"详细", "数字", "detail", "details", "full"})
_BACK = frozenset({"前", "往前", "back"})
_TOLD = ("1", "2", "3", "4", "5")
"""As many recalls of a conversation as are told of."""
_NAME = 60


async def list_(call: Call) -> str:
    """A page of what this conversation may see, the newest first; with a name, of what that person
    said or is named in."""
    say = call.say
    *words, last = call.rest.split() or [""]
    page = int(last) if last.isdecimal() and len(last) <= len("9999") else 0
    name = " ".join(words if page else [*words, last])
    if name.lower() in _ME:
        found = await call.service.newest(conversation_id=call.where, said_by=call.actor)
    else:
        found = await call.service.newest(conversation_id=call.where, naming=name)
    if not found:
        return say("list.nobody", name=safe(name)[:_NAME]) if name else say("list.empty")
    page = max(page, 1)
    start = (page - 1) * _PAGE
    shown = found[start : start + _PAGE]
    if not shown:
        return say("list.no_page", page=page, pages=-(-len(found) // _PAGE))
    lines = await numbered(call, shown, start + 1)
    head = "list.head_all" if len(found) <= _PAGE else "list.head"
    lines.insert(0, say(head, count=len(found), first=start + 1, last=start + len(shown)))
    if start + _PAGE < len(found):
        lines.append(say("list.next", words=f"{safe(name)} {page + 1}".strip()))
    return "\n".join(lines)


async def search(call: Call) -> str:
    """What recall finds for the words."""
    if not call.rest:
        return call.say("search.usage")
    recall = await call.service.recall(
        call.rest,
        conversation_id=call.where,
        limit=_PAGE,
        token_budget=_SEARCH_BUDGET,
        actor=call.actor,
    )
    if OFF_THE_RECORD in recall.trace.notes:
        return f"{call.say('pause.recalled_nothing')}\n{call.how_to_resume}"
    if not recall.hits:
        return call.say("search.nothing")
    lines = numbered_hits(call, recall.hits)
    return "\n".join([found_text(call.texts, recall), *lines])


async def why(call: Call) -> str:
    """How the last recall of this conversation went, in words; ``详细`` with its figures, ``前 2``
    the last but one. With a number or an id, what became of that memory."""
    words = call.rest.lower().split()
    detail = bool(_DETAIL.intersection(words))
    words = [word for word in words if word not in _DETAIL]
    if words and words[0] not in _BACK:
        return await _of_one(call, words)
    back = int(words[1]) if words[1:] and words[1] in _TOLD else 1
    explained = await call.service.explain(conversation_id=call.where)
    primed = await call.service.last_primer(conversation_id=call.where) if back == 1 else None
    lines = [primed_text(call.texts, primed)] if primed is not None else []
    for one in explained[back - 1 : back]:
        lines.append(why_text(call.texts, one, back=back, admin=call.actor.admin, detail=detail))
        if not detail:
            call.list_of([hit.memory_id for hit in attached(one)])
    return "\n".join(lines) or call.say("explain.nothing")


async def _of_one(call: Call, words: Sequence[str]) -> str:
    texts, service = call.texts, call.service
    named = named_one(call, words[0], words)
    if named is None:
        return call.say("explain.usage")
    if isinstance(named, UnknownReference):
        return named.text
    whole = await service.expand(named, conversation_id=call.where)
    if isinstance(whole, PointerNotVisible):
        return call.say("pointed.absent", id=named)
    if isinstance(whole, Expanded):
        hits = await service.told(
            [whole.memory], conversation_id=call.where, actor=call.actor, chars=0
        )
        entry = entry_text(texts, whole.memory, hits[0])
    else:
        entry = note_text(texts, whole.section)
    explained = await service.explain(conversation_id=call.where)
    fates = [text for one in explained if (text := fate_text(texts, one, named))]
    return "\n".join([entry, *(fates or [call.say("explain.never")])])
