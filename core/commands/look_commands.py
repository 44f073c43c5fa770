"""``/memory list``, ``search`` and ``why``: what a conversation may see, and why it was told."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import (
    OFF_THE_RECORD,
    Actor,
    ConversationId,
    Expanded,
    PointerNotVisible,
    StoredMemory,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.explanation import attached, fate_text, primed_text, why_text
from ..replies.outcome_text import entry_text, note_text
from ..services.injection_service import found_text
from .last_shown import LastShown
from .memory_reference import MemoryReference, UnknownReference

_PAGE = 10
_SEARCH_BUDGET = 4000
_ME = frozenset({"我", "我的", "me", "mine"})
_DETAIL = frozenset({"详细", "数字", "detail", "details", "full"})
_BACK = frozenset({"前", "往前", "back"})
_TOLD = ("1", "2", "3", "4", "5")
"""As many recalls of a conversation as are told of."""
_NAME = 60


class LookCommands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext, naming: MemoryReference, shown: LastShown) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        self._naming = naming
        self._shown = shown

    async def list(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """A page of what this conversation may see, the newest first; with a name, of what that
        person said or is named in."""
        *words, last = rest.split() or [""]
        page = int(last) if last.isdecimal() and len(last) <= len("9999") else 0
        name = " ".join(words if page else [*words, last])
        found = await self._about(conversation_id, actor, name)
        if not found and name:
            return self._say("list.nobody", name=safe(name)[:_NAME])
        if not found:
            return self._say("list.empty")
        page = max(page, 1)
        start = (page - 1) * _PAGE
        shown = found[start : start + _PAGE]
        if not shown:
            return self._say("list.no_page", page=page, pages=-(-len(found) // _PAGE))
        lines = await self._naming.numbered(conversation_id, actor, shown, start + 1)
        head = "list.head_all" if len(found) <= _PAGE else "list.head"
        lines.insert(0, self._say(head, count=len(found), first=start + 1, last=start + len(shown)))
        if start + _PAGE < len(found):
            lines.append(self._say("list.next", words=f"{safe(name)} {page + 1}".strip()))
        return "\n".join(lines)

    async def _about(
        self, conversation_id: ConversationId, actor: Actor, name: str
    ) -> Sequence[StoredMemory]:
        service = self._plugin.service
        if name.lower() in _ME:
            return await service.newest(conversation_id=conversation_id, said_by=actor)
        return await service.newest(conversation_id=conversation_id, naming=name)

    async def search(self, conversation_id: ConversationId, actor: Actor, words: str) -> str:
        """What recall finds for the words."""
        if not words:
            return self._say("search.usage")
        recall = await self._plugin.service.recall(
            words,
            conversation_id=conversation_id,
            limit=_PAGE,
            token_budget=_SEARCH_BUDGET,
            actor=actor,
        )
        if OFF_THE_RECORD in recall.trace.notes:
            return self._say("pause.recalled_nothing")
        if not recall.hits:
            return self._say("search.nothing")
        lines = self._naming.numbered_hits(conversation_id, actor, recall.hits)
        return "\n".join([found_text(self._plugin.texts, recall), *lines])

    async def why(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """How the last recall of this conversation went, in words; ``详细`` with its figures,
        ``前 2`` the last but one. With a number or an id, what became of that memory."""
        words = rest.lower().split()
        detail = bool(_DETAIL.intersection(words))
        words = [word for word in words if word not in _DETAIL]
        if words and words[0] not in _BACK:
            return await self._of_one(conversation_id, actor, words)
        back = int(words[1]) if words[1:] and words[1] in _TOLD else 1
        texts, service = self._plugin.texts, self._plugin.service
        explained = await service.explain(conversation_id=conversation_id)
        primed = await service.last_primer(conversation_id=conversation_id) if back == 1 else None
        lines = [primed_text(texts, primed)] if primed is not None else []
        for one in explained[back - 1 : back]:
            if detail:
                lines.append(why_text(texts, one, back=back, admin=actor.admin, detail=True))
                continue
            lines.append(why_text(texts, one, back=back, admin=actor.admin))
            self._shown.note(conversation_id, actor, [hit.memory_id for hit in attached(one)])
        return "\n".join(lines) or self._say("explain.nothing")

    async def _of_one(
        self, conversation_id: ConversationId, actor: Actor, words: Sequence[str]
    ) -> str:
        named = self._naming.read_one(words[0], conversation_id, actor, words)
        match named:
            case UnknownReference():
                return named.text
            case None:
                return self._say("explain.usage")
        texts, service = self._plugin.texts, self._plugin.service
        whole = await service.expand(named, conversation_id=conversation_id)
        if isinstance(whole, PointerNotVisible):
            return self._say("pointed.absent", id=named)
        if isinstance(whole, Expanded):
            hits = await service.told(
                [whole.memory], conversation_id=conversation_id, actor=actor, chars=0
            )
            entry = entry_text(texts, whole.memory, hits[0])
        else:
            entry = note_text(texts, whole.section)
        explained = await service.explain(conversation_id=conversation_id)
        fates = [text for one in explained if (text := fate_text(texts, one, named))]
        return "\n".join([entry, *(fates or [self._say("explain.never")])])
