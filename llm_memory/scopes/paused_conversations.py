"""Conversations that are off the record: nothing of them is kept, and nothing recalled in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..models.conversation import ConversationId
from ..models.resolution import Pause, Rebinding
from ..models.status import Notice
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..storage.files import replace_durably
from .rules.rebinding import all_keys_of
from .scope_book import ScopeBook

NAME: Final = ".pauses.json"
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(eq=False)
class PausedConversations:
    """Asked by the cognitive service alone. What is known is held here, so that no turn waits.

    A pause holds for all that one line of the scope map names (a group that the platform splits by
    member is off the record as a whole), and under all names that it had: of several the one that
    ends last. The pauses stand beside the memories, in ``memory/.pauses.json``. Where that file
    cannot be read, every conversation is paused.
    """

    _folder: Path
    """Where the memories lie."""
    _notices: NoticeBoard
    _clock: Clock
    _book: ScopeBook
    _paused: Mapping[str, Pause] = field(default_factory=dict, init=False)
    """Replaced as a whole: threads read it, too."""
    _all: Pause | None = field(default=None, init=False)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def load(self) -> None:
        """Read the pauses, and post that they cannot be read."""
        try:
            self._paused = await asyncio.to_thread(_read, self._folder / NAME)
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            self._all = Pause("", self._clock())
            params = {"path": str(self._folder / NAME), "detail": str(error) or repr(error)}
            self._notices.post(Notice("pauses_unread", params=params, error=True))

    def of(self, map_key: str) -> Pause | None:
        """None where it is on the record."""
        return _longest(self._now(), self._keys(map_key)) or self._all

    def _keys(self, map_key: str) -> list[str]:
        return all_keys_of(map_key, self._book.rebound)

    def _now(self) -> dict[str, Pause]:
        now = self._clock()
        return {k: one for k, one in self._paused.items() if one.until is None or now < one.until}

    @property
    def count(self) -> int:
        return len({min(self._keys(key)) for key in self._now()})

    async def pause(self, conversation_id: ConversationId, pause: Pause) -> Pause:
        """The pause that holds from now on, durably. One that is said again has the end that was
        said last. Raises StateUnavailable, and then nothing has changed."""
        key = conversation_id.map_key
        async with self._writing:
            before = self.of(key)
            if before is not None and before.until == pause.until:
                return replace(before, before=True)
            made = pause if before is None else replace(before, until=pause.until)
            await self._write(self._without(key) | {key: made})
            return made

    async def resume(self, conversation_id: ConversationId) -> bool:
        """False if it was not paused. Raises StateUnavailable, and then it stays paused."""
        async with self._writing:
            if self.of(conversation_id.map_key) is None:
                return False
            await self._write(self._without(conversation_id.map_key))
            return True

    def _without(self, map_key: str) -> dict[str, Pause]:
        keys = self._keys(map_key)
        return {key: one for key, one in self._now().items() if key not in keys}

    async def keep_through(self, rebound: Sequence[Rebinding]) -> None:
        """Before the names change to these: what is paused is so under each name of before and
        after. Raises StateUnavailable."""
        async with self._writing:
            now, names = self._now(), (*self._book.rebound, *rebound)
            lines = (all_keys_of(key, names) for key in now)
            kept = {key: one for keys in lines if (one := _longest(now, keys)) for key in keys}
            if kept != now:
                await self._write(kept)

    async def _write(self, paused: Mapping[str, Pause]) -> None:
        if self._all is not None:
            raise StateUnavailable("unreadable", NAME)
        told = {"paused": {key: asdict(one) for key, one in sorted(paused.items())}}
        content = json.dumps(told, ensure_ascii=False, indent=1, default=datetime.isoformat)
        try:
            await asyncio.to_thread(replace_durably, self._folder / NAME, f"{content}\n".encode())
        except VaultWriteFailed as error:
            raise StateUnavailable(str(error), NAME) from error
        self._paused = paused


def _longest(pauses: Mapping[str, Pause], keys: Iterable[str]) -> Pause | None:
    found = (pauses[key] for key in keys if key in pauses)
    return max(found, key=lambda one: one.until or _NEVER, default=None)


def _read(path: Path) -> dict[str, Pause]:
    """Raises OSError, ValueError and its like for what are no pauses."""
    found = json.loads(path.read_bytes())["paused"] if path.exists() else {}
    moment = datetime.fromisoformat
    return {
        key: Pause(str(one["scope"]), moment(one["since"]), one["until"] and moment(one["until"]))
        for key, one in found.items()
    }
