"""The lines of a file that memories travel in: one JSON object each. Pure. docs/transfer.md has the
fields.

``read_line(line_of(record)) == record`` for every record.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from dataclasses import fields as fields_of
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ...models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    NO_TIME,
    Provenance,
    is_memory_id,
    moment_in,
)
from ...models.transfer import End, FileRecord, Header, MemoryRecord, Record, SettingsRecord

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT: Final = "scoped-memory"
VERSION: Final = 1
_KINDS: Final[Mapping[str, type[Record]]] = {
    "header": Header,
    "settings": SettingsRecord,
    "memory": MemoryRecord,
    "file": FileRecord,
    "end": End,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}
_SPEAKER: Final = tuple(one.name for one in fields_of(Provenance))
_NEVER: Final = 1 << 63
"""Later than any time of a file, in nanoseconds."""


class LineBroken(ValueError):
    """A line that is none of ours. ``detail`` names the field."""

    def __init__(self, fault: str, detail: str = "") -> None:
        super().__init__(f"{fault}: {detail}" if detail else str(fault))
        self.fault = fault
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, without its end. ``number`` begins at 1; ``fault`` if it is no text."""

    number: int
    text: str = ""
    fault: str | None = None

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
    fields: dict[str, Any] = {"type": _NAMES[type(record)], **asdict(record)}
    match record:
        case Header():
            fields["format"] = FORMAT
        case MemoryRecord():
            fields = _flat(fields)
        case FileRecord():
            fields |= _spelt(fields.pop("content"))
    return json.dumps(fields, ensure_ascii=False, default=datetime.isoformat)


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    """An entry with the fields of its memory and of its speaker beside its own. ``scope`` is what
    older readers look for."""
    memory, missing = fields.pop("memory"), fields.pop("missing")
    fields |= {"memory_scope": fields["scope"], "id": memory.pop("memory_id")}
    fields |= memory.pop("provenance") | memory
    unsaid = {*missing, *(name for name in ("asks", "denied") if not fields[name])}
    return {name: value for name, value in fields.items() if name not in unsaid}


def _spelt(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def read_line(line: str) -> Record:
    """The record of a line; fields that it does not know are passed over.

    Raises:
        LineBroken: for anything else.
    """
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LineBroken("not_json") from error
    if not isinstance(fields, dict):
        raise LineBroken("not_json")
    name = fields.get("type")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise LineBroken("wrong", "type")
    # Null is as good as nothing.
    return _read(kind, {name: value for name, value in fields.items() if value is not None})


def _read(kind: type[Record], said: dict[str, Any]) -> Record:
    from pydantic import ValidationError

    for name in ("created_at", "exported_at"):
        if name in said:
            said[name] = _sound(moment_in(str(said[name])), name)
    if kind is Header:
        _sound(said.get("format") == FORMAT, "format")
    elif kind is MemoryRecord:
        said = _nested(said)
    elif kind is FileRecord:
        said["content"] = _content(said)
    try:
        # A class is hashable, whatever mypy takes from the slots of its instances.
        record: Record = _adapter(kind).validate_python(said)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        names = [step for step in first["loc"] if isinstance(step, str)]
        raise LineBroken("wrong", names[-1]) from error
    if isinstance(record, MemoryRecord):
        _sound(MIN_STRENGTH <= record.memory.strength <= MAX_STRENGTH, "strength")
    if isinstance(record, FileRecord):
        _sound(0 <= record.modified < _NEVER, "modified")
    return record


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _sound[T](value: T, name: str) -> T:
    if not value:
        raise LineBroken("wrong", name)
    return value


def _nested(said: dict[str, Any]) -> dict[str, Any]:
    scope = said.get("memory_scope", said.get("scope", ""))
    # Two scopes: which one is meant is unknown.
    _sound(said.get("scope", scope) == scope, "memory_scope")
    _sound("id" not in said or is_memory_id(str(said["id"])), "id")
    memory = {
        **said,
        "memory_id": said.get("id", ""),
        "created_at": said.get("created_at", NO_TIME),
        "provenance": {name: said[name] for name in _SPEAKER if name in said},
    }
    missing = {"id", "created_at"} - said.keys()
    return {"path": "", **said, "scope": scope, "memory": memory, "missing": missing}


def _content(said: dict[str, Any]) -> bytes:
    if "base64" not in said and "text" not in said:
        raise LineBroken("wrong", "text")
    try:
        if "base64" in said:
            return base64.b64decode(str(said["base64"]), validate=True)
        return str(said["text"]).encode()
    except ValueError as error:  # half a surrogate pair, too
        raise LineBroken("wrong", "base64" if "base64" in said else "text") from error
