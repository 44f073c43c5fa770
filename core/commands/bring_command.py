"""``/memory scope bring``: what was left behind in former scopes, told and brought along."""

from __future__ import annotations

from ...llm_memory import (
    Actor,
    BroughtBack,
    ConversationId,
    LeftBehind,
    MustBeNamed,
    NotAllowed,
    Rejected,
)
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.outcome_text import rejected_text
from ..texts import Texts
from .slow_command import answer_or_continue

BRING = frozenset({"bring", "带来", "搬来"})
_MOST = 100
"""Characters that are repeated of a name that no scope has."""


class BringCommand:
    """One command with names behind it, for admins."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def bring(self, conversation_id: ConversationId, actor: Actor, rest: str) -> str:
        """This conversation's, or that of the former scopes that are named."""
        if not actor.admin:
            return self._plugin.texts.say("outcome.admins_only")

        async def work() -> str:
            return await self._bring(conversation_id, actor, rest.split())

        return await answer_or_continue(self._plugin, work, "scope.bring_goes_on")

    async def _bring(self, conversation_id: ConversationId, actor: Actor, names: list[str]) -> str:
        texts = self._plugin.texts
        outcome = await self._plugin.service.admin.bring(
            names, conversation_id=conversation_id, actor=actor
        )
        match outcome:
            case NotAllowed():
                return texts.say("outcome.admins_only")
            case Rejected():
                return rejected_text(texts, Rejected(outcome.reason, detail=_short(outcome.detail)))
            case MustBeNamed(left):
                return "\n".join(left_text(texts, one) for one in left)
            case []:
                return texts.say("scope.nothing_left")
            case _:
                return "\n".join(
                    texts.say(
                        "scope.brought",
                        source=one.source,
                        target=one.target,
                        count=one.memories,
                        turns=one.turns,
                        left=one.left,
                    )
                    for one in outcome
                )


def left_text(texts: Texts, left: LeftBehind) -> str:
    """To the conversation to which it belongs: what it no longer sees, and what brings it along."""
    return texts.say(
        "scope.left_shared" if left.shared else "scope.left",
        source=left.source,
        target=left.target,
        count=left.memories,
        turns=left.turns,
        words=_words(left),
    )


def status_text(texts: Texts, left: LeftBehind) -> str:
    """The same in the status, for admins."""
    return texts.say(
        "status.left",
        source=left.source,
        target=left.target,
        count=left.memories,
        turns=left.turns,
        words=_words(left),
    )


def left_json(left: LeftBehind) -> dict[str, str | int]:
    """The same in the status route."""
    return {
        "scope": left.source,
        "belongs_to": left.target,
        "memories": left.memories,
        "turns": left.turns,
    }


def brought_back_text(texts: Texts, back: BroughtBack) -> str:
    """What was brought has gone back."""
    return texts.say("undo.brought_back", source=back.source, count=back.memories, left=back.left)


def _words(left: LeftBehind) -> str:
    """What an admin writes behind the command, in whatever conversation."""
    return f"{left.source} {left.target}" if left.shared else left.source


def _short(text: str) -> str:
    return safe(text)[:_MOST]
