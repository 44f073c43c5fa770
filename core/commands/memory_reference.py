"""Which memory a person means by what stands behind a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...llm_memory import ConversationId, Hit, Memory, StoredMemory
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..services.injection_service import hit_line
from ..texts import Texts
from .last_shown import LastShown

_NUMBER = re.compile(r"第?([0-9０-９]{1,4})[条号.。、]?")
_PREVIEW = 80


@dataclass(frozen=True, slots=True)
class UnknownReference:
    """No one memory is meant; ``text`` says so, and what to do."""

    text: str


class MemoryReference:
    """Numbers of the last list of the conversation, ids, and pointers that end with one."""

    def __init__(self, plugin: PluginContext, shown: LastShown) -> None:
        self._plugin = plugin
        self._shown = shown

    def read(self, words: str, conversation_id: ConversationId) -> str | UnknownReference | None:
        """The id that is named; None for words that are neither a number nor an id."""
        found = _NUMBER.fullmatch(words)
        if found is None:
            return pointed_id(words)
        number, numbers = int(found[1]), self._shown.numbers(conversation_id)
        if number in numbers:
            return numbers[number]
        say = self._plugin.texts.say
        if not numbers:
            return UnknownReference(say("pointed.no_list"))
        return UnknownReference(
            say("pointed.no_number", number=number, first=min(numbers), last=max(numbers))
        )

    def numbered(
        self, conversation_id: ConversationId, found: Sequence[StoredMemory], first: int = 1
    ) -> list[str]:
        """The memories as numbered lines, and their numbers noted."""
        self._shown.note(conversation_id, [one.memory.memory_id for one in found], first)
        return [
            self._plugin.texts.say(
                "list.line",
                number=number,
                date=one.memory.created_at.strftime("%Y-%m-%d"),
                who=safe(one.memory.who) or self._plugin.texts.say("inject.nobody"),
                scope=one.scope.name,
                text=shown_words(self._plugin.texts, one.memory),
                id=one.memory.memory_id,
            )
            for number, one in enumerate(found, start=first)
        ]

    def numbered_hits(self, conversation_id: ConversationId, hits: Sequence[Hit]) -> list[str]:
        """The same of what recall has found."""
        self._shown.note(conversation_id, [hit.memory_id for hit in hits])
        lines = (hit_line(hit, self._plugin.texts) for hit in hits)
        return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


def shown_words(texts: Texts, memory: Memory) -> str:
    """The beginning of what a memory says, as a quotation where it reads like an order."""
    words = safe(preview(memory.judgment, _PREVIEW))
    return texts.say("inject.quoted", text=words) if memory.quoted else words
