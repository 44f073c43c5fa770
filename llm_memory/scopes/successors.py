"""Holds a group that seems to go on for one that the map names: platforms give a group another id
and do not always say so. A held group reads public only until an admin says what it is, or the
other one speaks again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import date

from ..errors import StateUnavailable
from ..log import logger
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.resolution import Usable
from ..runtime.identifiers import Clock
from ..storage.state_store import SqliteStateStore
from ..text.normalising import content_hash, same_words
from .access import Access
from .rules.map_keys import account_of
from .rules.rebinding import chat_key
from .rules.successors import KnownGroup, NewGroup, succeeds
from .scope_book import ScopeBook

_DIGEST = 32


@dataclass(slots=True)
class _Heard:
    """What was heard of a mapped group: nobody's words."""

    title: str = ""
    day: str = ""


class Successors:
    """Hears who speaks in which group, before the group's scope is asked for."""

    def __init__(
        self, state: SqliteStateStore, book: ScopeBook, access: Access, clock: Clock
    ) -> None:
        self._state = state
        self._book = book
        self._access = access
        self._clock = clock
        self._heard: dict[str, _Heard] | None = None
        self._young: dict[str, set[str]] = {}
        """Groups that were first met since the start, with who has spoken in them."""
        self._lock = asyncio.Lock()

    async def hear(self, conversation_id: ConversationId, actor: Actor) -> None:
        """Hold the group if it seems to be another one's successor. What cannot be read or kept is
        looked at again with the next message."""
        if conversation_id.kind is not ConversationKind.GROUP or not conversation_id.group:
            return
        key = chat_key(conversation_id)
        try:
            if key in self._book.private_groups():
                await self._note(key, _digest(conversation_id.title))
            elif actor.spoke and (key in self._young or not self._book.has_met(conversation_id)):
                await self._judge(key, conversation_id, actor)
        except StateUnavailable as error:
            logger.warning("state_not_read", error=error)

    async def _note(self, key: str, title: str) -> None:
        """A mapped group speaks: nothing goes on for it."""
        heard = await self._known()
        one, today = heard.setdefault(key, _Heard()), self._clock().date().isoformat()
        if (one.title, one.day) != (title or one.title, today):
            one.title, one.day = title or one.title, today
            await asyncio.to_thread(self._keep)
        held = [new for new, former in self._book.successors.items() if former == key]
        if held:
            for new in held:
                self._young.pop(new, None)
            await self._book.settle(held)

    async def _judge(self, key: str, conversation_id: ConversationId, actor: Actor) -> None:
        adapter = conversation_id.adapter or ""
        speakers = self._young.setdefault(key, set())
        speakers.add(actor.person.removeprefix(f"{adapter}:"))
        found = self._access.view(conversation_id).resolution
        if key in self._book.successors or not isinstance(found, Usable):
            return
        new = NewGroup(key, adapter, _digest(conversation_id.title), frozenset(speakers))
        heard, today = await self._known(), self._clock().date()
        for sibling in sorted(self._book.private_groups()):
            if account_of(sibling) != account_of(key) or sibling not in heard:
                continue
            one = heard[sibling]
            members = await asyncio.to_thread(self._state.members, sibling)
            known = KnownGroup(sibling, one.title, members, date.fromisoformat(one.day))
            if succeeds(new, known, today):
                self._book.hold(key, sibling)
                await self._book.keep_successors()
                return

    async def _known(self) -> dict[str, _Heard]:
        """A group that was met before anything was noted of it counts as heard today."""
        async with self._lock:
            if self._heard is None:
                stored = await asyncio.to_thread(self._state.heard_groups)
                self._heard = {key: _Heard(*values) for key, values in stored.items()}
        today = self._clock().date().isoformat()
        for key in self._book.private_groups():
            if key not in self._heard and self._book.has_met_key(key):
                self._heard[key] = _Heard(day=today)
        return self._heard

    def _keep(self) -> None:
        heard = self._heard or {}
        mapped = self._book.private_groups()
        self._state.put_heard_groups(
            {key: (one.title, one.day) for key, one in heard.items() if key in mapped}
        )


def _digest(title: str) -> str:
    folded = same_words(title)
    return content_hash(folded)[:_DIGEST] if folded else ""
