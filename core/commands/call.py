"""One command as a person gave it, and the yes that it asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from ...llm_memory import Actor, CognitiveService, ConversationId, Refused
from ...llm_memory.models.conversation import By, ConversationKind
from ...llm_memory.models.resolution import Pause
from ...llm_memory.models.scope import PUBLIC_NAME
from ...llm_memory.text.safe_text import cut
from ...llm_memory.texts import Texts
from ..latest import Latest
from ..plugin_context import PluginContext
from ..replies.outcome_text import Enough, refusal_text
from ..replies.status_text import moment
from .command_words import ADMINS, first_word, is_command_word

ASKED_SECONDS = 600.0
"""How long a yes is waited for; the texts say ten minutes."""

type Reply = str | list[str]
"""Lines; an empty one is left out."""
type Handler = Callable[[Call], Awaitable[Reply]]
type Person = tuple[str, str]
"""A person in a conversation: another member of a group was shown another list."""


class Asked(NamedTuple):
    """What a person's yes does, until when (monotonic seconds), and whether an admin was asked.
    ``short``: the deed, as it stands behind "to" in a sentence. ``refused``: what a no does."""

    do: Handler
    until: float
    admin: bool
    short: str
    refused: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """Where and by whom a command was given, and the words after its name. ``lists`` has the ids
    that a person was shown last, by number, and ``asked`` what waits for a yes; neither has words:
    who may see and change them is asked when they are used."""

    plugin: PluginContext
    where: ConversationId
    actor: Actor
    rest: str
    lists: Latest[Person, Mapping[int, str]]
    asked: Latest[Person, Asked]

    @property
    def by(self) -> By:
        return {"conversation_id": self.where, "actor": self.actor}

    @property
    def person(self) -> Person:
        return self.where.umo, self.actor.person

    @property
    def texts(self) -> Texts:
        return self.plugin.texts

    @property
    def service(self) -> CognitiveService:
        return self.plugin.service

    def say(self, code: str, /, **params: object) -> str:
        """The text in the owner's language."""
        return self.plugin.texts.say(code, **params)

    @property
    def listed(self) -> Mapping[int, str]:
        """What the person was shown last here, by number; empty for nothing since the start."""
        return self.lists.get(self.person, {})

    def list_of(self, ids: Sequence[str], first: int = 1) -> None:
        """Note that a list is shown. An empty one leaves the last."""
        if ids:
            self.lists.note(self.person, dict(enumerate(ids, start=first)))

    def ask(self, lines: list[str], do: Handler, *, short: str) -> Reply:
        """Have this person's next yes here do something, in place of what waited. Returns the lines
        with how to say yes."""
        until = monotonic() + ASKED_SECONDS
        self.asked.note(self.person, Asked(do, until, self.actor.admin, short))
        return [*lines, self.say("asked.how", deed=short)]

    def for_admins(self) -> None:
        """Answer the command of anybody else with a refusal."""
        if not self.actor.admin:
            raise Enough(self.say(ADMINS))

    async def here(self) -> str:
        """The name of the scope that this conversation stores in; of the public one for none."""
        found = (await self.service.describe(conversation_id=self.where)).resolution
        return found.name or PUBLIC_NAME

    def paused(self, pause: Pause, code: str = "status.paused") -> str:
        """Since when memory is paused here, and what ends that: in a group, an admin does it."""
        alone = self.where.kind is ConversationKind.PRIVATE
        how = self.say(f"pause.{'go_on' if alone or self.actor.admin else 'go_on_by_admin'}")
        if pause.until is not None:
            how = self.say("pause.until", until=moment(pause.until), how=how)
        return self.say(code, since=moment(pause.since), how=how)

    async def check_scope(self, entry: Mapping[str, object], where: ConversationId) -> None:
        """Answer the command where an entry of the map names no scope. A word of a command is none,
        unless an admin names one that there is."""
        name, service = str(entry.get(where.map_key, "")), self.service
        if not await service.is_legal(entry, where, self.actor):
            raise Enough(self.say("scope.illegal", name=cut(name)))
        if is_command_word(name) and not (self.actor.admin and name in await service.scopes()):
            raise Enough(self.say("scope.command_word", name=cut(name)))

    def refusal(self, outcome: Refused, code: str = ADMINS) -> Enough:
        """The answer to a command that nothing came of. ``code``: of the text for who may not."""
        return Enough(refusal_text(self.texts, code, outcome))

    def done[Done](self, outcome: Done | Refused, code: str = ADMINS) -> Done:
        """What was done; where nothing was, the command is answered so."""
        if isinstance(outcome, Refused):
            raise self.refusal(outcome, code)
        return outcome

    def split(self) -> tuple[str, str]:
        """The first word, and what follows it."""
        return first_word(self.rest)

    def with_rest(self, words: str) -> Call:
        return replace(self, rest=words)


async def yes(call: Call) -> Reply:
    """Do what the person was asked last; else what the notices have an admin confirm: entries that
    disappeared from the files are deleted; the map, where nothing else waits."""
    asked = call.asked.pop(call.person, None)
    if asked is None or asked.admin:
        call.for_admins()
    if asked is not None:
        return call.say("asked.nothing") if monotonic() >= asked.until else await asked.do(call)
    damaged = (await call.service.describe(conversation_id=call.where)).damaged
    count = await call.service.confirm_deletions(actor=call.actor)
    if damaged and not count:
        await call.service.confirm_map(actor=call.actor)
    lines = call.texts.counted("asked", deleted=count or 0, map=damaged and not count)
    lines += [call.say("scope.damaged")] if damaged and count else []
    return lines or call.say("asked.nothing")


async def no(call: Call) -> str:
    """Drop what waits for this person's yes, and say what it was."""
    asked = call.asked.pop(call.person, None)
    if asked is None or monotonic() >= asked.until:
        return call.say("asked.nothing")
    if asked.refused is not None:
        await asked.refused()
    return call.say("asked.dropped", deed=asked.short)
