"""What is never learned in a scope, by the list in its MEMORY.md."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..errors import VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import Refused
from ..models.scope import Scope
from ..models.turns import QueuedTurn
from ..models.vault_layout import MEMORY_PAGE
from ..vault.markdown.exclusion_list import (
    Exclusion,
    exclusions_of,
    sentences_without,
    with_exclusions,
)
from ..vault.markdown_vault import MarkdownVault
from ..vault.pages import PagesOnDisk, text_of

MOST: Final = 100
"""Lines of a scope's list that a command adds to."""
_TRIES: Final = 5

type Change = Callable[[Sequence[Exclusion]], Sequence[Exclusion]]


@dataclass(eq=False)
class Exclusions:
    """Asked by whatever learns by itself: the reader, the night, the recall of turns that wait.
    What a person asks to have remembered is not its business.

    The lists are held in memory, and read again after each round over the files; threads may ask.
    ``_changed`` is told the scope of a list that is another one now.
    """

    _vault: MarkdownVault
    _pages: PagesOnDisk
    _changed: Callable[[str], None]
    _english: bool
    _lists: dict[str, tuple[Exclusion, ...]] = field(default_factory=dict, init=False)

    def of(self, scope: str) -> tuple[Exclusion, ...]:
        return self._lists.get(scope, ())

    def forbids(self, scope: str, text: str, person: str) -> bool:
        """True for what is not to be learned of a person; of nobody in particular if ``person`` is
        empty: then a line of anybody counts."""
        listed = self.of(scope)
        return any(one.holds_in(text) for one in listed if _concerns(one, person))

    def cleared(self, turn: QueuedTurn) -> QueuedTurn:
        """Returns the turn without the sentences that nothing is to be learned from."""
        listed = [one for one in self.of(turn.scope) if _concerns(one, turn.person)]
        said, reply = turn.user_text, turn.reply_text
        return replace(
            turn,
            user_text=sentences_without(said, listed),
            reply_text=sentences_without(reply, listed),
        )

    async def refresh(self) -> None:
        """Read the lists again. One that cannot be read stays as it was."""
        scopes = await asyncio.to_thread(self._vault.scopes)
        for scope in scopes:
            with_list = await asyncio.to_thread(self._read, scope)
            if with_list is not None:
                self._hold(scope, with_list)

    def _hold(self, scope: Scope, listed: tuple[Exclusion, ...]) -> None:
        if listed != self.of(scope.name):
            self._lists[scope.name] = listed
            self._changed(scope.name)

    def _read(self, scope: Scope) -> tuple[Exclusion, ...] | None:
        try:
            text = text_of(self._pages.read(scope, MEMORY_PAGE))
        except VaultWriteFailed as error:
            logger.warning("exclusions_unread", page=f"{scope.folder}/{MEMORY_PAGE}", error=error)
            return None
        return None if text is None else exclusions_of(text)

    async def add(
        self, scope: Scope, words: Sequence[str], actor: Actor | None
    ) -> tuple[Exclusion, ...] | Refused:
        """Put words on the list, durably: of what ``actor`` says, of what anybody says for None.
        Returns the whole list."""
        person, who = (actor.person, actor.name) if actor else ("", "")
        new = [Exclusion(one, person, who) for one in words]
        return await self._change(scope, lambda old: list(dict.fromkeys([*old, *new])))

    async def remove(
        self, scope: Scope, words: Sequence[str], actor: Actor | None
    ) -> tuple[Exclusion, ...] | Refused:
        """Take words off the list: of ``actor`` alone, of anybody for None."""

        def left(old: Sequence[Exclusion]) -> Sequence[Exclusion]:
            return [one for one in old if one.words not in words or not _is_of(one, actor)]

        return await self._change(scope, left)

    async def _change(self, scope: Scope, change: Change) -> tuple[Exclusion, ...] | Refused:
        try:
            listed = await asyncio.to_thread(self._write, scope, change)
        except VaultWriteFailed as error:
            return Refused("not_written", detail=str(error))
        if isinstance(listed, tuple):
            self._hold(scope, listed)
        return listed

    def _write(self, scope: Scope, change: Change) -> tuple[Exclusion, ...] | Refused:
        """Blocks. Raises VaultWriteFailed."""
        for _ in range(_TRIES):
            page = self._pages.read(scope, MEMORY_PAGE)
            text = text_of(page)
            if text is None:
                raise VaultWriteFailed(f"{MEMORY_PAGE}: not UTF-8")
            wanted = tuple(change(exclusions_of(text)))
            if len(wanted) > MOST:
                return Refused("list_full", detail=str(MOST))
            whole = with_exclusions(text, wanted, english=self._english)
            if whole == text or self._pages.write(scope, MEMORY_PAGE, whole.encode(), page):
                return wanted
        raise VaultWriteFailed(f"{MEMORY_PAGE}: somebody else writes to it all the time")


def _concerns(one: Exclusion, person: str) -> bool:
    return not (one.person and person) or one.person == person


def _is_of(one: Exclusion, actor: Actor | None) -> bool:
    return actor is None or (bool(one.person) and one.person == actor.person)
