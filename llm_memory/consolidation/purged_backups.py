"""Removes purged memories from the records of a backup."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..catalogue.rules.timeline import is_digest
from ..models.data_models import Memory
from ..models.deeds import Deed
from ..models.transfer import FileRecord, MemoryRecord, Record
from ..models.vault_layout import is_other_version, is_page
from ..remember.deeds import Deeds
from ..text.normalising import same_words
from ..transfer.store_transfer import parsed
from ..vault.archive import any_of
from .rules.traces import Traces


class PurgedBackups:
    """Drops purged entries and the journals that tell of them, and their lines from pages. ``gone``
    are the ids that no entry has any more: they are removed where another entry names them."""

    def __init__(self, purged: Sequence[Deed], gone: Collection[str], corrected: Deeds) -> None:
        self._purged = purged
        self._corrected = corrected
        self._said = {(one.memory_id, same_words(one.words)) for one in purged}
        self._words = {same_words(one.words) for one in purged}
        self._ids = {one.memory_id for one in purged}
        self._named = any_of(gone)
        self._traces = Traces(purged, gone)

    def changed(self, record: Record) -> Record | None:
        """Returns a record without what was purged; None if nothing of it stays."""
        match record:
            case MemoryRecord():
                return None if self._is_gone(record.memory) else self._unnamed(record)
            case FileRecord():
                return self._file(record)
            case _:
                return record

    def _is_gone(self, memory: Memory) -> bool:
        if (memory.memory_id, same_words(memory.judgment)) in self._said:
            return True
        return is_digest(memory) and self._corrected.texts.says(memory.judgment, self._purged)

    def _file(self, record: FileRecord) -> FileRecord | None:
        if (file := parsed(record)) is None:  # nothing can be cut out of it
            return None if self._traces.in_bytes(record.content) else record
        text = file.without(*(e for e in file.entries if self._is_gone(e.memory)))
        if is_page(record.path) or is_other_version(record.path):
            text = "".join(t for t in text.splitlines(keepends=True) if not self._tells(t))
        return replace(record, content=self._named.sub(b"m-", text.encode()))

    def _unnamed(self, record: MemoryRecord) -> MemoryRecord:
        extra = tuple(self._named.sub(b"m-", one.encode()).decode() for one in record.memory.extra)
        return replace(record, memory=replace(record.memory, extra=extra))

    def _tells(self, line: str) -> bool:
        """Returns True for a line of a page that names a purged entry or repeats its words."""
        return any(name in line for name in self._ids) or any(said in line for said in self._words)
