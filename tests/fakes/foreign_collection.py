"""A pre-scope plugin's collection in memory; it passes the contract of the real one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignRecord, Value
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter


@dataclass
class InMemoryForeign:
    """``name`` is its own id, too; an empty one is a collection that is not there.

    ``before_call`` is called with what is asked: it may raise, wait, or change records.
    """

    name: str = "personal_memory_v1"
    records: dict[str, ForeignRecord] = field(default_factory=dict)
    before_call: Callable[[str], None] = lambda _: None
    changes: list[str] = field(default_factory=list)
    """The ids that were written, in order."""

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._open = False

    def put(
        self, record_id: str, document: str | None, metadata: Mapping[str, object] | None
    ) -> None:
        """As its owner would."""
        with self._lock:
            self.records[record_id] = ForeignRecord(record_id, document, metadata)

    @property
    def label(self) -> str:
        return self.name

    def open(self) -> str:
        self.before_call("open")
        self._open = bool(self.name)
        return self.name

    def count(self) -> int:
        return len(self._asked("count"))

    def page(self, offset: int, limit: int) -> Sequence[ForeignRecord]:
        return list(self._asked("page").values())[offset : offset + limit]

    def read(self, record_ids: Sequence[str]) -> Sequence[ForeignRecord]:
        found = self._asked("read")
        return [found[one] for one in record_ids if one in found]

    def search(
        self, words: Sequence[str], scope_filter: ScopeFilter, limit: int
    ) -> Sequence[ForeignRecord]:
        scope_where(scope_filter)  # the guard of the real one: validated scopes only
        found = self._asked("search")
        if not words:
            return []
        pattern = re.compile("|".join(map(re.escape, words)), re.IGNORECASE)
        return [one for one in found.values() if pattern.search(one.document or "")][:limit]

    def change(
        self,
        record_ids: Sequence[str],
        decide: Callable[[Sequence[ForeignRecord]], Mapping[str, Mapping[str, Value | None]]],
    ) -> None:
        with self._lock:
            changes = dict(decide(self.read(record_ids)))
            self.before_call("write")
            for name, change in changes.items():
                if not change:
                    continue
                one = self.records[name]
                merged = {**(one.metadata or {}), **change}
                kept = {key: value for key, value in merged.items() if value is not None}
                self.records[name] = ForeignRecord(name, one.document, kept or None)
                self.changes.append(name)

    def close(self) -> None:
        self._open = False

    def _asked(self, what: str) -> dict[str, ForeignRecord]:
        self.before_call(what)
        with self._lock:
            if not self._open:
                raise IndexUnavailable("not open", code="closed")
            return dict(self.records)
