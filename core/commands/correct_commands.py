"""``/memory forget``, ``edit``, ``move`` and ``undo``: what people correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...llm_memory import (
    Actor,
    BroughtBack,
    ConversationId,
    Edited,
    Forgotten,
    Moved,
    NotAllowed,
    NotVisible,
    Purged,
    Rejected,
    Restored,
    Undone,
)
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.outcome_text import (
    not_allowed_text,
    not_visible_text,
    purged_text,
    redacted_text,
    rejected_text,
)
from .bring_command import brought_back_text
from .memory_reference import MemoryReference, UnknownReference, shown_words
from .slow_command import answer_or_continue

_FOR_GOOD = ("purge", "彻底")
_PREVIEW = 80
_WORDS = 60
_LIKE = 10
"""So many are listed of what words may mean."""
_A_NUMBER = 2
"""Digits of a number that stands in too many texts to name one."""
_LIKE_BUDGET = 2000


class CorrectCommands:
    """One method a command: conversation, actor and the words behind it -> the reply."""

    def __init__(self, plugin: PluginContext, naming: MemoryReference) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say
        self._naming = naming

    async def forget(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Move entries to the archive, or purge them: by their speaker or an admin. Words that only
        one memory holds name it."""
        words, _, how = rest.rpartition(" ")
        for_good = how.lower() in _FOR_GOOD
        words = words.strip() if for_good else rest
        if not words:
            return self._say("forget.usage")
        self._plugin.talk.clear(conversation_id)
        named = self._naming.read_several(words, conversation_id, actor)
        if named is None:
            named = await self._meant(words, how if for_good else "", conversation_id, actor)
        if isinstance(named, UnknownReference):
            return named.text
        return "\n".join(
            [await self._forget(one, conversation_id, actor, for_good=for_good) for one in named]
        )

    async def _forget(
        self, named: str, conversation_id: ConversationId, actor: Actor, *, for_good: bool
    ) -> str:
        outcome = await self._plugin.service.forget(
            named, conversation_id=conversation_id, actor=actor, for_good=for_good
        )
        match outcome:
            case Purged():
                return purged_text(self._plugin.texts, outcome)
            case Forgotten(stored, archived_to):
                said = self._say("forget.done", text=shown_words(self._plugin.texts, stored.memory))
                where = self._say("forget.where", path=archived_to) if actor.admin else ""
                return said + where
            case NotAllowed():
                return not_allowed_text(self._plugin.texts, "forget", outcome)
            case NotVisible():
                return not_visible_text(self._plugin.texts, outcome)
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    async def _meant(
        self, words: str, for_good: str, conversation_id: ConversationId, actor: Actor
    ) -> tuple[str, ...] | UnknownReference:
        """The id of the one memory that holds the words. Of several, and before one is lost for
        good, and where none holds them, nothing is taken for meant. One character or a short number
        is not looked for, and beside other words it leaves open what is meant."""
        service, shown, tokens = self._plugin.service, safe(words)[:_WORDS], words.split()
        telling = [token for token in tokens if not _says_too_little(token)]
        if not telling:
            return UnknownReference(self._say("forget.too_short", words=shown))
        naming = " ".join(telling)
        like = await service.newest(conversation_id=conversation_id, naming=naming, limit=_LIKE)
        if len(like) == 1 and telling == tokens and not for_good:
            return (like[0].memory.memory_id,)
        if like:
            head = self._say("forget.like", words=shown, count=len(like))
            lines = await self._naming.numbered(conversation_id, actor, like)
        else:
            recall = await service.recall(
                words,
                conversation_id=conversation_id,
                limit=_LIKE,
                token_budget=_LIKE_BUDGET,
                actor=actor,
            )
            hits = [hit for hit in recall.hits if not hit.is_note]
            if not hits:
                return UnknownReference(self._say("forget.nothing_like", words=shown))
            head = self._say("forget.alike", words=shown)
            lines = self._naming.numbered_hits(conversation_id, actor, hits)
        which = self._say("forget.which", how=f" {for_good}".rstrip())
        return UnknownReference("\n".join([head, *lines, which]))

    async def edit(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Give an entry other words: by an admin."""
        first, text = split(rest)
        if not text:
            return self._say("edit.usage")
        named = self._named(first, conversation_id, actor, rest.split())
        if isinstance(named, UnknownReference):
            return named.text
        outcome = await self._plugin.service.edit(
            named, text, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Edited(stored, before):
                said = self._say(
                    "edit.done",
                    text=shown_words(self._plugin.texts, stored.memory),
                    before=safe(preview(before, _PREVIEW)),
                )
                return said + redacted_text(self._plugin.texts, outcome.redacted)
            case NotAllowed():
                return not_allowed_text(self._plugin.texts, "edit", outcome)
            case NotVisible():
                return not_visible_text(self._plugin.texts, outcome)
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    async def move(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Move an entry to another scope: by an admin."""
        first, scope = split(rest)
        if not scope:
            return self._say("move.usage")
        named = self._named(first, conversation_id, actor, rest.split()[:-1])
        if isinstance(named, UnknownReference):
            return named.text
        outcome = await self._plugin.service.move(
            named, scope, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Moved(stored, source):
                words = shown_words(self._plugin.texts, stored.memory)
                name = stored.scope.name
                return self._say("move.done", text=words, source=source, scope=name)
            case NotAllowed():
                return not_allowed_text(self._plugin.texts, "edit", outcome)
            case NotVisible():
                return not_visible_text(self._plugin.texts, outcome)
            case Rejected():
                detail = safe(preview(outcome.detail, _PREVIEW))
                return rejected_text(self._plugin.texts, replace(outcome, detail=detail))

    async def undo(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """Take back the last forget, edit or move: of an entry, or of this person here; or the last
        bringing along, as a whole."""
        named = self._named(rest, conversation_id, actor) if rest else ""
        if isinstance(named, UnknownReference):
            return named.text

        async def work() -> str:
            return await self._undo(conversation_id, actor, named)

        return await answer_or_continue(self._plugin, work, "undo.goes_on")

    async def _undo(self, conversation_id: ConversationId, actor: Actor, memory_id: str) -> str:
        outcome = await self._plugin.service.restore(
            memory_id, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case Restored(stored):
                words = shown_words(self._plugin.texts, stored.memory)
                return self._say("undo.done", text=words, id=stored.memory.memory_id)
            case Undone(stored, moved):
                words = shown_words(self._plugin.texts, stored.memory)
                return self._say("undo.moved" if moved else "undo.edited", text=words)
            case BroughtBack():
                return brought_back_text(self._plugin.texts, outcome)
            case NotAllowed():
                return not_allowed_text(self._plugin.texts, "undo", outcome)
            case NotVisible() if memory_id:
                return self._say("undo.not_found", id=safe(memory_id)[:_WORDS])
            case NotVisible():
                return self._say("undo.nothing")
            case Rejected():
                return rejected_text(self._plugin.texts, outcome)

    def _named(
        self,
        words: str,
        conversation_id: ConversationId,
        actor: Actor,
        beginning: Sequence[str] = (),
    ) -> str | UnknownReference:
        """The id that a number stands for; anything else as it is."""
        named = self._naming.read_one(words, conversation_id, actor, beginning)
        return words if named is None else named


def split(rest: str) -> tuple[str, str]:
    """The first word, and what follows it."""
    first, more = (*rest.split(None, 1), "", "")[:2]
    return first, more.strip()


def _says_too_little(token: str) -> bool:
    bare = "".join(filter(str.isalnum, token))
    return len(bare) <= 1 or (bare.isdecimal() and len(bare) <= _A_NUMBER)
