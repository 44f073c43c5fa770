"""What goes wrong with the vector index or its embedder: told to the owner, and handed to the task
that can mend it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from ..errors import EmbeddingFailed, IndexUnavailable
from ..models.status import Notice
from ..runtime.notice_board import NoticeBoard
from .embedding.failures import OF_THE_TEXT
from .index_queue import IndexQueue
from .store_calls import BUSY, CLOSED, HANGS, SLOW

CHANGED: Final = "model_changed"
DIED: Final = "died"
"""The process ended in which the embedder lives."""
_TOO_OFTEN: Final = 20
"""Slow answers in a row, after which the owner should know."""


class IndexFaults:
    """Of one ``IndexingService``. Touched from the event loop only."""

    def __init__(
        self, notices: NoticeBoard, queue: IndexQueue, embedder_label: Callable[[], str]
    ) -> None:
        self._notices = notices
        self._queue = queue
        self._embedder_label = embedder_label
        self._first: IndexUnavailable | EmbeddingFailed | None = None
        self._came = asyncio.Event()
        self._slow = 0
        self.unwritten = False
        """The last attempt to write failed in the embedder."""

    def of_query(self, error: IndexUnavailable | EmbeddingFailed) -> None:
        """A query failed: another one may do better, or the task has to act."""
        if isinstance(error, EmbeddingFailed):
            if error.code not in OF_THE_TEXT:  # the model is well
                self.report_embedder(error)
            if error.code == CHANGED:
                self._hand_over(IndexUnavailable(str(error), code=CHANGED))
            elif error.code == DIED:
                self._hand_over(error)
            return
        self._slow = self._slow + 1 if error.code == SLOW else 0
        if error.code in (HANGS, BUSY) or self._slow >= _TOO_OFTEN:
            self.report_index(error)
        elif error.code != SLOW:
            self._hand_over(error)

    def answered(self) -> None:
        """A query was answered."""
        self._slow = 0
        self._notices.clear("index_off")

    def embedded(self) -> None:
        """A query was embedded."""
        if not self.unwritten:  # else it would be said anew at each attempt to write
            self._notices.clear("embedder_failing")

    def _hand_over(self, fault: IndexUnavailable | EmbeddingFailed) -> None:
        if fault.code == CLOSED:  # released meanwhile, because of an earlier fault
            return
        self._first = self._first or fault
        self._came.set()
        self._queue.changed.set()

    def forget(self) -> None:
        """The fault was dealt with."""
        self._first = None
        self._came.clear()

    def raise_first(self) -> None:
        """Raises the first fault that a query has handed over since ``forget``."""
        if self._first is not None:
            raise self._first

    async def wait(self, seconds: float) -> None:
        """Until it is time, or a query has met a fault, which is raised."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came.wait()
        self.raise_first()

    def report_index(self, error: IndexUnavailable) -> None:
        """Tell the owner that the index is off."""
        params = {"cause": error.code, "detail": str(error)}
        self._notices.post(Notice("index_off", params=params))

    def report_embedder(self, error: EmbeddingFailed) -> None:
        """Tell the owner that the embedder fails."""
        params = {"embedder": self._embedder_label(), "detail": str(error)}
        self._notices.post(Notice("embedder_failing", params=params))
