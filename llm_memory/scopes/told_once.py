"""What is told once, also over restarts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Final

from ..errors import StateUnavailable
from ..log import logger
from ..models.status import Notice, NoticeCode
from ..runtime.notice_board import NoticeBoard
from ..storage.state_store import SqliteStateStore

_TOLD: Final = "told:"
"""Begins a mark in the state."""

_TO_ADMINS: Final = frozenset(
    {
        NoticeCode.STRANGERS_IN_PUBLIC,
        NoticeCode.SOUL_WAITS,
        NoticeCode.SOUL_APPLIED,
    }
)


class ToldOnce:
    """Who claims something tells it, and says then whether it was said. It is marked durably no
    sooner: what a close cuts off is told after the next start."""

    def __init__(self, state: SqliteStateStore, notices: NoticeBoard) -> None:
        self._state = state
        self._notices = notices
        self._being_told: set[str] = set()

    async def claim(self, names: Sequence[str], most: int | None = None) -> list[str]:
        """Of these, what was not told yet and nobody is telling now; of many, the first ``most``.
        None where that cannot be read."""
        try:
            told = await asyncio.to_thread(lambda: [self._state.has_mark(_TOLD + n) for n in names])
        except StateUnavailable as error:
            logger.warning("state_not_read", error=error)
            return []
        known = {name for name, is_told in zip(names, told, strict=True) if is_told}
        free = [name for name in names if name not in known | self._being_told][:most]
        self._being_told.update(free)
        return free

    async def settle(self, names: Collection[str], *, said: bool) -> None:
        """What was claimed was said, or could not be: then it is another time."""
        if said:
            try:
                for name in names:
                    await asyncio.to_thread(self._state.set_mark, _TOLD + name)
            except StateUnavailable as error:
                logger.warning("state_not_written", error=error)
                return  # said once since the start all the same
        self._being_told.difference_update(names)

    async def claim_news(self) -> list[Notice]:
        """The standing notices that an admin is told in chat, and was not told yet."""
        news = {_name(one): one for one in self._notices.standing() if one.code in _TO_ADMINS}
        return [news[name] for name in await self.claim(list(news))]

    async def settle_news(self, news: Sequence[Notice], *, said: bool) -> None:
        """As ``settle``."""
        await self.settle([_name(one) for one in news], said=said)


def _name(notice: Notice) -> str:
    return f"{notice.code}:{notice.subject}:{notice.params.get('number', '')}"
