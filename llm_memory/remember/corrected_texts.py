"""Texts compared with what people corrected: what brings it back, and texts without it; and what
was derived from it, brought up to date: entries that it had settled, and those that repeat it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.closing import closed_by
from ..catalogue.rules.closing import reopened as still_open
from ..catalogue.rules.tasks import reopened
from ..catalogue.rules.timeline import is_digest
from ..catalogue.unread_turns import UnreadTurns
from ..models.conversation import Actor
from ..models.data_models import Memory, Refused, StoredMemory, is_absent
from ..models.deeds import Deed
from ..models.passages import Key
from ..models.scope import Scope
from ..models.turns import QueuedTurn
from ..runtime.cooperative import cooperative
from ..vault.markdown_vault import MarkdownVault
from .rules.corrected import Mark, Removed, answered, copies, named, says, unread_id, without

if TYPE_CHECKING:
    from .deeds import Deeds
    from .edit import Made, MemoryEditor

EVER: Final = datetime.min.replace(tzinfo=UTC)
"""For a text whose time is unknown."""
_REPEATED: Final = ("写着改过的话", "It repeats what was corrected")
"""Who has forgotten it, as the archive says, in Chinese and in English."""


@dataclass(eq=False)
class CorrectedTexts:
    """Tells which statements a correction keeps out, and cuts them out of texts. ``_removed``: what
    may not return to a scope."""

    _removed: Callable[[str], Sequence[Removed]]
    _mark: Mark

    def would_revive(
        self, scope: str, memory: Memory, said_at: datetime, copies: Collection[str] | None = None
    ) -> bool:
        """Returns whether a correction keeps ``memory``, said at that time, out of a scope. Of what
        was only said, also in other words of the same person; and whatever its words, where it is
        one of ``copies``. May take milliseconds."""
        near = self._since(scope, said_at)
        if any(one.deed.memory_id in (copies or ()) for one in near):
            return True
        person = None if copies is None else memory.provenance.person
        text = named(memory.judgment, memory.provenance.who)
        return bool(near) and says(text, memory.created_at, near, person)

    def cleared(self, turn: QueuedTurn, since: datetime | None = None) -> QueuedTurn:
        """Returns the turn as a model may read it: without what was corrected since then, by
        default since it was said, and without corrected statements that only the bot repeats."""
        turn = self._cut(turn, self._shown(turn.scope, since or turn.observed_at))
        if not turn.reply_text:
            return turn
        # From its chat history the bot may repeat what was corrected before: that counts as said
        # anew only if the person says it in the same turn.
        ever = self._shown(turn.scope, EVER)
        if says(named(turn.user_text, turn.who), turn.observed_at, ever):
            return turn
        by_name = partial(answered, who=turn.who)
        left = without(turn.reply_text, turn.observed_at, ever, as_named=by_name)
        return replace(turn, reply_text=left)

    def turn_without(self, turn: QueuedTurn, purged: Sequence[Deed]) -> QueuedTurn:
        """Returns a turn without these statements, unless they were said anew in it."""
        since = (one for one in purged if one.at >= turn.observed_at)
        return self._cut(turn, [Removed(one, self._mark) for one in since])

    def _cut(self, turn: QueuedTurn, near: Sequence[Removed]) -> QueuedTurn:
        """Returns the turn without these statements; without words if it is a copy of one and they
        do not show which of them say it."""

        def left(text: str, as_named: Callable[..., str], near: Sequence[Removed]) -> str:
            by_name = partial(as_named, who=turn.who)
            return without(text, turn.observed_at, near, turn.person, as_named=by_name)

        ids = copies(turn)
        for one in (one for one in near if one.deed.memory_id in ids):
            alone = one.deed.memory_id == unread_id(turn.ticket_id)
            if alone or left(turn.user_text, named, [one]) == turn.user_text:
                return replace(turn, user_text="", reply_text="")
        said, reply = left(turn.user_text, named, near), left(turn.reply_text, answered, near)
        return replace(turn, user_text=said, reply_text=reply)

    def text_cleared(self, scope: str, text: str) -> str:
        """Returns a derived text without what was ever corrected in the scope."""
        return without(text, EVER, self._shown(scope, EVER))

    def says(self, text: str, purged: Iterable[Deed]) -> bool:
        """Returns whether one of the bot's own texts says one of these statements."""
        return without(text, EVER, [Removed(one, self._mark) for one in purged]) != text

    def _since(self, scope: str, said_at: datetime) -> list[Removed]:
        """Returns corrections from after ``said_at``."""
        return [one for one in self._removed(scope) if one.deed.at >= said_at]

    def _shown(self, scope: str, said_at: datetime) -> list[Removed]:
        """The same for text that a model or a person reads, and is not an entry of the scope."""
        return [one for one in self._since(scope, said_at) if scope in one.deed.hidden_in]


@dataclass(eq=False)
class CorrectionFollower:
    """Called after each correction, and after each round over the files."""

    _deeds: Deeds
    _unread: UnreadTurns
    _editor: MemoryEditor
    _catalogue: Catalogue
    _vault: MarkdownVault
    _english: bool
    _followed: int = -1

    async def follow(self) -> None:
        """Cheap if nothing was corrected since. A failed write is tried again."""
        changes = self._deeds.changes.total()
        if changes == self._followed:
            return
        await self._unread.review()
        new, self._deeds.new = self._deeds.new, []
        names = await asyncio.to_thread(lambda: {name for one in new for name in one.hidden_in})
        scopes = filter(None, map(self._vault.named, names))
        if any([await self._unwritten(scope, new) for scope in scopes]):
            self._deeds.new += new
        else:
            self._followed = changes

    async def _unwritten(self, scope: Scope, new: Sequence[Deed]) -> bool:
        """Update what was derived in a scope. Returns True if not all of it could be written."""
        entries, failed = self._catalogue.of_scope(scope), False
        settled, repeating = await asyncio.to_thread(self._outdated, scope.name, entries, new)
        for stored, made in settled:
            written = await self._editor.annotate(stored, made)
            failed |= isinstance(written, Refused) and not is_absent(written)
        _, refused = await self._editor.archive(repeating, Actor("", _REPEATED[self._english]))
        return failed or refused is not None

    def _outdated(
        self, scope: str, entries: Sequence[StoredMemory], new: Sequence[Deed]
    ) -> tuple[list[tuple[StoredMemory, Made]], list[StoredMemory]]:
        """Returns the entries whose settling statement a person has taken out, each with how it is
        to be, and those that repeat something corrected. Blocks."""
        settled: list[tuple[StoredMemory, Made]] = []
        here = [one for one in new if scope in one.hidden_in]
        for stored in cooperative(entries):
            by = closed_by(stored.memory)
            gone = by and self._catalogue.get(Key(scope, by)) is None
            if gone and self._deeds.was_taken_out(scope, by):
                settled.append((stored, partial(_reopened, by=by)))
        digests = (one for one in entries if is_digest(one.memory))
        return settled, [one for one in digests if self._tells(one.memory, here)]

    def _tells(self, digest: Memory, corrected: Sequence[Deed]) -> bool:
        since = [one for one in corrected if one.at >= digest.created_at]
        return bool(since) and self._deeds.texts.says(digest.judgment, since)


def _reopened(memory: Memory, by: str) -> Memory:
    """Returns the entry open again, unless a person has changed what settled it."""
    return still_open(reopened(memory)) if closed_by(memory) == by else memory
