"""The lines of a file that memories travel in: one JSON object each. Pure. docs/transfer.md has the
fields.

``read_line(line_of(record)) == record`` for every record.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ...models.data_models import NO_TIME, Memory
from ...models.json_fields import BadField, JsonFields
from ...models.transfer import (
    End,
    EntryState,
    FileRecord,
    Header,
    LineFault,
    MemoryRecord,
    Record,
    SettingsRecord,
)
from ...text.normalising import is_sendable

FORMAT: Final = "scoped-memory"
VERSION: Final = 1


class LineBroken(ValueError):
    """A line that is none of ours. ``detail`` names the field."""

    def __init__(self, fault: LineFault, detail: str = "") -> None:
        super().__init__(f"{fault}: {detail}" if detail else str(fault))
        self.fault = fault
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, without its end. ``number`` begins at 1; ``fault`` if it is no text."""

    number: int
    text: str = ""
    fault: LineFault | None = None

    def record(self) -> Record:
        """Returns what it holds. Raises LineBroken."""
        if self.fault is not None:
            raise LineBroken(self.fault)
        return read_line(self.text)


def counted(records: Iterable[Record]) -> Iterator[Record]:
    """Returns the records as they are, an end with the numbers of those before it."""
    memories = files = 0
    for record in records:
        memories += isinstance(record, MemoryRecord)
        files += isinstance(record, FileRecord)
        yield End(memories, files) if isinstance(record, End) else record


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
        case SettingsRecord(values):
            return _dump({"type": "settings", "values": values})
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
    said = record.memory.to_dict(memory_scope=record.scope)
    fields: dict[str, object] = {
        "type": "memory",
        "scope": record.scope,  # what readers of before look for
        "path": record.path,
        "topic": record.topic,
        "state": record.state.value,
        **said,
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
    read = JsonFields(fields)
    try:
        return _record(fields, read)
    except BadField as error:
        fault = LineFault.MISSING if error.missing else LineFault.WRONG
        raise LineBroken(fault, error.name) from error


def _record(fields: dict[str, Any], read: JsonFields) -> Record:
    match fields.get("type"):
        case "header":
            return _header(read)
        case "memory":
            return _memory(fields, read)
        case "file":
            return _file(read)
        case "settings":
            values = fields.get("values")
            if not isinstance(values, dict):
                raise LineBroken(LineFault.WRONG, "values")
            return SettingsRecord(values)
        case "end":
            return End(read.number("memories", low=0), read.number("files", low=0))
        case other:
            raise LineBroken(LineFault.UNKNOWN_TYPE, repr(other)[:40])


def _header(read: JsonFields) -> Header:
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


def _memory(fields: dict[str, Any], read: JsonFields) -> MemoryRecord:
    missing = frozenset(name for name in ("id", "created_at") if not read.has(name))
    scope = read.text("scope", "")
    if read.text("memory_scope", scope) != scope and read.has("scope"):
        raise LineBroken(LineFault.WRONG, "memory_scope")  # two scopes: which one is unknown
    memory = Memory.from_dict(fields)
    return MemoryRecord(
        scope=read.text("memory_scope", scope),
        path=read.text("path", ""),
        memory=memory,
        state=read.option("state", EntryState.LIVING),
        topic=read.text("topic", ""),
        missing=missing,
    )


def _file(read: JsonFields) -> FileRecord:
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
