"""A scope book over a real state file, through restarts of its bot."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.settings import EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.models.status import Notice
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.scopes.scope_book import ScopeBook
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore

WITHHELD = "<map_withheld>"


class Restarts:
    """Starts over one state file; ``accounts`` may change while a book is open."""

    def __init__(self, root: Path, accounts: frozenset[str] | None = None) -> None:
        self._root = root
        self.accounts = accounts
        self.notices = NoticeBoard()

    def start(
        self,
        scope_map: Mapping[str, object],
        folders: Collection[str] = (),
        *,
        settings: EngineSettings | None = None,
    ) -> ScopeBook:
        """The book after a restart with this map."""
        state = SqliteStateStore(self._root / "state.sqlite")
        assert state.open()
        self.notices = NoticeBoard()
        panel = replace(settings or EngineSettings(), scope_map=scope_map)
        book = ScopeBook(panel, state, self.notices, lambda: self.accounts)
        book.open(folders)
        return book

    @contextlib.contextmanager
    def state(self) -> Iterator[SqliteStateStore]:
        """The file between two starts."""
        state = SqliteStateStore(self._root / "state.sqlite")
        state.open()
        yield state
        state.close()

    def notice(self, code: str) -> Notice | None:
        """The one that stands."""
        return next((one for one in self.notices.standing() if one.code == code), None)

    def told(self, code: str) -> Notice:
        """The one that has to stand."""
        (found,) = (one for one in self.notices.standing() if one.code == code)
        return found


def says(book: ScopeBook, where: ConversationId) -> str:
    """The scope of a conversation, or in brackets why it has none of its own."""
    found = book.resolve(where)
    return found.name or f"<{found.code}>"
