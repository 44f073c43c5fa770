"""Which memory a person means by what stands behind a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...llm_memory import Actor, ConversationId, Hit, Memory, StoredMemory
from ...llm_memory.catalogue.rules.pointers import pointed_id
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts
from ..plugin_context import PluginContext
from ..services.injection_service import about_hit, hit_line
from .item_numbers import item_numbers, parts
from .last_shown import LastShown

_PREVIEW = 80
_MOST = 10
"""Items of one command: as many as a page of the list."""


@dataclass(frozen=True, slots=True)
class UnknownReference:
    """No one memory is meant; ``text`` says so, and what to do."""

    text: str


class MemoryReference:
    """Numbers of the last list that the person was shown there, ids, and pointers that end with
    one."""

    def __init__(self, plugin: PluginContext, shown: LastShown) -> None:
        self._plugin = plugin
        self.shown = shown

    def read_one(
        self,
        first: str,
        conversation_id: ConversationId,
        actor: Actor,
        words: Sequence[str] = (),
    ) -> str | UnknownReference | None:
        """The one id that is named; None for what is neither a number nor an id.

        Args:
            words: The first one and what follows it: together they may name several.
        """
        named = self.read_several(first, conversation_id, actor)
        numbers = self.shown.numbers(conversation_id, actor)
        beginnings = (" ".join(words[:end]) for end in range(2, _MOST))
        several = (item_numbers(one, numbers) or () for one in beginnings)
        if any(len(one) > 1 and numbers.keys() >= set(one) for one in several):
            named = ("", "")
        if not isinstance(named, tuple):
            return named
        if len(named) == 1:
            return named[0]
        return UnknownReference(self._plugin.texts.say("pointed.one_at_a_time"))

    def read_several(
        self, words: str, conversation_id: ConversationId, actor: Actor
    ) -> tuple[str, ...] | UnknownReference | None:
        """The ids that are named, each once; None for words that are neither numbers nor ids."""
        say, numbers = self._plugin.texts.say, self.shown.numbers(conversation_id, actor)
        named: list[str] = []
        for part in [words] if item_numbers(words, numbers) else parts(words):
            asked = item_numbers(part, numbers)
            if asked is None:
                pointed = pointed_id(part)
                if pointed is None:  # words; or a whole line that ends with its pointer
                    whole = pointed_id(words)
                    return None if whole is None else (whole,)
                named.append(pointed)
                continue
            if not numbers:
                return UnknownReference(say("pointed.no_list"))
            if absent := [number for number in asked if number not in numbers]:
                first, last = min(numbers), max(numbers)
                return UnknownReference(
                    say("pointed.no_number", number=absent[0], first=first, last=last)
                )
            named += [numbers[number] for number in asked]
        named = list(dict.fromkeys(named))
        if len(named) > _MOST:
            return UnknownReference(say("pointed.too_many", most=_MOST))
        return tuple(named)

    async def numbered(
        self,
        conversation_id: ConversationId,
        actor: Actor,
        found: Sequence[StoredMemory],
        first: int = 1,
    ) -> list[str]:
        """The memories as numbered lines, and their numbers noted for the person who asked."""
        say = self._plugin.texts.say
        self.shown.note(conversation_id, actor, [one.memory.memory_id for one in found], first)
        hits = await self._plugin.service.told(
            found, conversation_id=conversation_id, actor=actor, chars=_PREVIEW
        )
        return [
            say(
                "list.line",
                number=number,
                about=" · ".join(about_hit(hit, self._plugin.texts)),
                scope=one.scope.name,
                text=shown_words(self._plugin.texts, one.memory),
                id=one.memory.memory_id,
            )
            for number, (one, hit) in enumerate(zip(found, hits, strict=True), start=first)
        ]

    def numbered_hits(
        self, conversation_id: ConversationId, actor: Actor, hits: Sequence[Hit]
    ) -> list[str]:
        """The same of what recall has found."""
        self.shown.note(conversation_id, actor, [hit.memory_id for hit in hits])
        lines = (hit_line(hit, self._plugin.texts) for hit in hits)
        return [f"{number}. {line}" for number, line in enumerate(lines, start=1)]


def shown_words(texts: Texts, memory: Memory) -> str:
    """The beginning of what a memory says, as a quotation where it reads like an order."""
    words = safe(preview(memory.judgment, _PREVIEW))
    return texts.say("inject.quoted", text=words) if memory.quoted else words
