"""A process that ends before or after any one thing that it writes to the disk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from astrbot_plugin_scoped_memory.llm_memory.vault import archive as vault_archive
from astrbot_plugin_scoped_memory.llm_memory.vault import repair as vault_repair
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger

_WRITES: tuple[tuple[object, str], ...] = (
    (vault_writer, "append_durably"),
    (vault_writer, "replace_durably"),
    (vault_repair, "replace_durably"),
    (vault_archive, "replace_durably"),
    (SqliteLedger, "record"),
    (SqliteLedger, "begin_move"),
    (SqliteLedger, "end_move"),
)


class Crash(BaseException):
    """The process ends here."""


class Clockwork:
    """Counts the moments before and after writes; at the given one, and at all later ones, it is
    over: nobody writes anything any more."""

    def __init__(self, moments: int) -> None:
        self._left = moments

    @property
    def struck(self) -> bool:
        """Whether the process has ended."""
        return self._left <= 0

    def tick(self) -> None:
        """One moment more."""
        self._left -= 1
        if self.struck:
            raise Crash

    def around[R](self, write: Callable[..., R]) -> Callable[..., R]:
        """The same write, with a moment before and one after it."""

        def step(*arguments: Any, **more: Any) -> R:
            self.tick()
            made = write(*arguments, **more)
            self.tick()
            return made

        return step


@contextlib.contextmanager
def crash_at(moment: int, *also: tuple[object, str]) -> Iterator[Clockwork]:
    """Whatever writes to the vault or tells the ledger inside ends there, ``moment`` from 1.
    ``also``: further methods that write, each with its class."""
    clockwork = Clockwork(moment)
    with contextlib.ExitStack() as patches:
        for owner, name in (*_WRITES, *also):
            wrapped = clockwork.around(getattr(owner, name))
            patches.enter_context(mock.patch.object(owner, name, wrapped))
        with contextlib.suppress(Crash):
            yield clockwork
