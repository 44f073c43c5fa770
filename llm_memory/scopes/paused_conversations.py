"""Conversations that are off the record: nothing of them is kept, and nothing recalled in them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from ..errors import StateUnavailable, VaultWriteFailed
from ..models.conversation import ConversationId
from ..models.status import Notice, NoticeCode
from ..models.turns import Pause
from ..runtime.identifiers import Clock
from ..runtime.notice_board import NoticeBoard
from ..storage.files import replace_durably
from .rules.rebinding import keys_of
from .scope_book import ScopeBook

NAME: Final = ".pauses.json"
_MOST_BYTES: Final = 8 * 1024 * 1024


@dataclass(eq=False)
class PausedConversations:
    """Asked by the cognitive service alone. What is known is held here, so that no turn waits.

    A pause holds for all that one line of the scope map names (a group that the platform splits by
    member is off the record as a whole), and under all names that it had. The pauses stand beside
    the memories, in ``memory/.pauses.json``. Where that file cannot be read, every conversation is
    paused.
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
            self._notices.post(Notice(NoticeCode.PAUSES_UNREAD, params=params, error=True))

    def of(self, conversation_id: ConversationId) -> Pause | None:
        """Its pause; None where it is on the record."""
        return self.of_key(conversation_id.map_key)

    def of_key(self, map_key: str) -> Pause | None:
        """The same by its own id, or by what the owner's map calls it by."""
        now = self._now()
        return next((now[key] for key in self._keys(map_key) if key in now), self._all)

    def _keys(self, map_key: str) -> list[str]:
        return keys_of(map_key, self._book.rebound)

    def _now(self) -> dict[str, Pause]:
        now = self._clock()
        return {k: one for k, one in self._paused.items() if one.until is None or now < one.until}

    @property
    def count(self) -> int:
        """How many conversations are paused."""
        return len(self._now())

    async def pause(self, conversation_id: ConversationId, pause: Pause) -> tuple[Pause, bool]:
        """The pause that holds from now on, durably, and whether it held before. One that is said
        again has the end that was said last. Raises StateUnavailable, and then nothing has
        changed."""
        key = conversation_id.map_key
        async with self._writing:
            before = self.of_key(key)
            if before is not None and before.until == pause.until:
                return before, True
            made = pause if before is None else replace(before, until=pause.until)
            await self._write(self._now() | {key: made})
            return made, False

    async def resume(self, conversation_id: ConversationId) -> bool:
        """False if it was not paused. Raises StateUnavailable, and then it stays paused."""
        async with self._writing:
            if self.of(conversation_id) is None:
                return False
            keys = self._keys(conversation_id.map_key)
            await self._write({key: one for key, one in self._now().items() if key not in keys})
            return True

    async def _write(self, paused: Mapping[str, Pause]) -> None:
        if self._all is not None:
            raise StateUnavailable("unreadable", NAME)
        told = {key: asdict(one) for key, one in sorted(paused.items())}
        content = json.dumps(
            {"paused": told}, ensure_ascii=False, indent=1, default=datetime.isoformat
        )
        try:
            await asyncio.to_thread(replace_durably, self._folder / NAME, f"{content}\n".encode())
        except VaultWriteFailed as error:
            raise StateUnavailable(str(error), NAME) from error
        self._paused = paused


def _read(path: Path) -> dict[str, Pause]:
    """Raises OSError, ValueError and its like for what are no pauses."""
    if not path.exists():
        return {}
    with path.open("rb") as file:
        found = json.loads(file.read(_MOST_BYTES))["paused"]
    moment = datetime.fromisoformat
    return {
        key: Pause(str(one["scope"]), moment(one["since"]), one["until"] and moment(one["until"]))
        for key, one in found.items()
    }
