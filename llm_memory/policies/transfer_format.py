"""The lines of a file that memories travel in: one JSON object each. Pure. docs/transfer.md has the
fields.

``read_line(line_of(record)) == record`` for every record.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from ..models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    Memory,
    MemoryKind,
    Provenance,
    Source,
)
from ..models.transfer import (
    End,
    EntryState,
    FileRecord,
    Header,
    LineFault,
    MemoryRecord,
    Record,
)
from .text import is_sendable

FORMAT: Final = "scoped-memory"
VERSION: Final = 1
NO_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands in for a time that a line does not say."""
_ID: Final = re.compile(r"m-[0-9a-z]{4,32}")


class LineBroken(ValueError):
    """A line that is none of ours. ``detail`` names the field."""

    def __init__(self, fault: LineFault, detail: str = "") -> None:
        super().__init__(f"{fault}: {detail}" if detail else str(fault))
        self.fault = fault
        self.detail = detail


def line_of(record: Record) -> str:
    """The record as one line, without its end."""
    match record:
        case Header():
            return _dump(
                {
                    "type": "header",
                    "format": FORMAT,
                    "version": record.version,
                    "plugin": record.plugin,
                    "vault_format": record.vault_format,
                    "exported_at": record.exported_at.isoformat(),
                    "scopes": list(record.scopes),
                    "whole": record.whole,
                }
            )
        case MemoryRecord():
            return _dump(_memory_fields(record))
        case FileRecord():
            return _dump(_file_fields(record))
        case End():
            return _dump({"type": "end", "memories": record.memories, "files": record.files})


def _dump(fields: dict[str, object]) -> str:
    line = json.dumps(fields, ensure_ascii=False)
    # Half a surrogate pair cannot be written as it is.
    return line if is_sendable(line) else json.dumps(fields)


def _memory_fields(record: MemoryRecord) -> dict[str, object]:
    memory, origin = record.memory, record.memory.provenance
    fields: dict[str, object] = {
        "type": "memory",
        "scope": record.scope,
        "path": record.path,
        "topic": record.topic,
        "state": record.state.value,
        "id": memory.memory_id,
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": list(memory.tags),
        "kind": memory.kind.value,
        "active": memory.active,
        "strength": memory.strength,
        "created_at": memory.created_at.isoformat(),
        "who": origin.who,
        "person": origin.person,
        "conversation": origin.conversation,
        "source": origin.source.value,
        "trusted": origin.trusted,
        "quoted": memory.quoted,
        "role": memory.role,
        "context": memory.context,
        "extra": list(memory.extra),
    }
    return {name: value for name, value in fields.items() if name not in record.missing}


def _file_fields(record: FileRecord) -> dict[str, object]:
    fields: dict[str, object] = {
        "type": "file",
        "scope": record.scope,
        "path": record.path,
        "modified": record.modified,
    }
    try:
        return {**fields, "text": record.content.decode()}
    except UnicodeDecodeError:
        return {**fields, "base64": base64.b64encode(record.content).decode()}


def read_line(line: str) -> Record:
    """The record of a line; fields that it does not know are passed over.

    Raises:
        LineBroken: for anything else.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineBroken(LineFault.NOT_JSON, str(error)[:80]) from error
    if not isinstance(fields, dict):
        raise LineBroken(LineFault.NOT_AN_OBJECT)
    read = _Fields(fields)
    match fields.get("type"):
        case "header":
            return _header(read)
        case "memory":
            return _memory(read)
        case "file":
            return _file(read)
        case "end":
            return End(read.number("memories", low=0), read.number("files", low=0))
        case other:
            raise LineBroken(LineFault.UNKNOWN_TYPE, repr(other)[:40])


def _header(read: _Fields) -> Header:
    if read.text("format") != FORMAT:
        raise LineBroken(LineFault.WRONG, "format")
    return Header(
        version=read.number("version", low=1),
        plugin=read.text("plugin", ""),
        exported_at=read.time("exported_at", NO_TIME),
        scopes=read.texts("scopes"),
        whole=read.flag("whole", default=False),
        vault_format=read.number("vault_format", 1, low=1),
    )


def _memory(read: _Fields) -> MemoryRecord:
    memory_id = read.text("id", "")
    if memory_id and not _ID.fullmatch(memory_id):
        raise LineBroken(LineFault.WRONG, "id")
    missing = frozenset(name for name in ("id", "created_at") if not read.has(name))
    memory = Memory(
        memory_id=memory_id,
        judgment=read.text("judgment"),
        created_at=read.time("created_at", NO_TIME),
        reasoning=read.text("reasoning", ""),
        tags=read.texts("tags"),
        kind=read.option("kind", MemoryKind.KNOWLEDGE),
        active=read.flag("active", default=True),
        strength=read.number("strength", 50, low=MIN_STRENGTH, high=MAX_STRENGTH),
        provenance=Provenance(
            who=read.text("who", ""),
            person=read.text("person", ""),
            conversation=read.text("conversation", ""),
            source=read.option("source", Source.PERSON),
            trusted=read.flag("trusted", default=False),
        ),
        role=read.text("role", ""),
        context=read.text("context", ""),
        extra=read.texts("extra"),
        quoted=read.flag("quoted", default=False),
    )
    return MemoryRecord(
        scope=read.text("scope", ""),
        path=read.text("path", ""),
        memory=memory,
        state=read.option("state", EntryState.LIVING),
        topic=read.text("topic", ""),
        missing=missing,
    )


def _file(read: _Fields) -> FileRecord:
    if read.has("base64"):
        try:
            content = base64.b64decode(read.text("base64"), validate=True)
        except (binascii.Error, ValueError) as error:
            raise LineBroken(LineFault.WRONG, "base64") from error
    else:
        text = read.text("text")
        if not is_sendable(text):
            raise LineBroken(LineFault.WRONG, "text")
        content = text.encode()
    modified = read.number("modified", low=0)
    return FileRecord(read.text("scope"), read.text("path"), content, modified)


class _Fields:
    """Takes fields of a JSON object one by one; a wrong one is named."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def has(self, name: str) -> bool:
        """True if the line says it; null is as good as nothing."""
        return self._fields.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        return self._typed(name, str, default)

    def flag(self, name: str, *, default: bool) -> bool:
        return self._typed(name, bool, default)

    def number(
        self, name: str, default: int | None = None, *, low: int, high: int = 1 << 63
    ) -> int:
        value = self._typed(name, int, default)
        if isinstance(value, bool) or not low <= value <= high:
            raise LineBroken(LineFault.WRONG, name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._typed(name, list, [])
        if not all(isinstance(value, str) for value in values):
            raise LineBroken(LineFault.WRONG, name)
        return tuple(values)

    def time(self, name: str, default: datetime) -> datetime:
        if not self.has(name):
            return default
        try:
            moment = datetime.fromisoformat(self.text(name))
        except ValueError as error:
            raise LineBroken(LineFault.WRONG, name) from error
        if moment.tzinfo is None:
            raise LineBroken(LineFault.WRONG, name)
        return moment

    def option[E: (MemoryKind, Source, EntryState)](self, name: str, default: E) -> E:
        try:
            return type(default)(self.text(name, default.value))
        except ValueError as error:
            if isinstance(error, LineBroken):
                raise
            raise LineBroken(LineFault.WRONG, name) from error

    def _typed[T](self, name: str, kind: type[T], default: T | None) -> T:
        if not self.has(name):
            if default is None:
                raise LineBroken(LineFault.MISSING, name)
            return default
        value = self._fields[name]
        if not isinstance(value, kind):
            raise LineBroken(LineFault.WRONG, name)
        return value
