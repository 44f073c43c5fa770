"""One memory as Markdown: ``parse(render(x)) == x`` for every memory.

```
## 小明对猫毛过敏 ^m-01jd3q8z7kab
> 知识记忆 · 主动 · 强度 80 · 2026-11-21T18:22:05+08:00
> 谁：小明 · 号：aiocqhttp:10001 · 在：aiocqhttp:GroupMessage:777 · 来源：工具 · 可信：否
> 标签：健康, 过敏 · 问法：谁家不能养宠物 / 聚会去他家要注意什么 · 角色：default

他在群里明确说过，吃过药。
```
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ...models.data_models import (
    MAX_STRENGTH,
    MIN_STRENGTH,
    NO_TIME,
    UNDATED,
    Memory,
    MemoryKind,
    Provenance,
    Source,
    moment_in,
)
from ...text.scripts import Language, language_of
from .escaping import (
    escape_asks,
    escape_body,
    escape_inline,
    escape_tags,
    unescape,
    unescape_asks,
    unescape_tags,
)

ID_PATTERN = r"m-[0-9a-z]{4,32}"
_HEADING = re.compile(rf"## (?P<judgment>.*?) ?(?<!\\)\^(?P<id>{ID_PATTERN})[ \t]*")
_STRENGTH = re.compile(r"强度\s*(\d{1,9})")
_NAMED = re.compile(r"(谁|号|在|来源|可信|引述|标签|问法|Asks|角色|上文)\s*[：:]\s*(.*)", re.DOTALL)
_SEPARATOR = " · "
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_CHARS = 10
_OUR_ID = 16
# From 2001 to 2128: an id outside this range was typed by hand.
_FIRST_MS, _LAST_MS = 1_000_000_000_000, 5_000_000_000_000
_ACTIVE = {"主动": True, "被动": False}
_ORIGIN = {"谁": "who", "号": "person", "在": "conversation"}
_TRUSTED = {"是": True, "否": False}


def render(memory: Memory) -> str:
    """Returns the entry's text, ending with a newline."""
    lines = [f"## {escape_inline(memory.judgment)} ^{memory.memory_id}", *metadata_lines(memory)]
    if memory.reasoning:
        lines += ["", escape_body(memory.reasoning)]
    return "\n".join(lines) + "\n"


def metadata_lines(memory: Memory) -> list[str]:
    """Returns the lines between heading and reasoning, each a Markdown quotation."""
    origin = memory.provenance
    about = [
        memory.kind.value,
        "主动" if memory.active else "被动",
        f"强度 {memory.strength}",
        UNDATED if memory.undated else memory.created_at.isoformat(),
    ]
    source = [
        *_named("谁", origin.who),
        *_named("号", origin.person),
        *_named("在", origin.conversation),
        f"来源：{origin.source.value}",
        *_trust(origin),
        *(["引述：是"] if memory.quoted else []),
    ]
    more = [
        *([f"标签：{escape_tags(memory.tags)}"] if memory.tags else []),
        *_asks(memory.asks),
        *_named("角色", memory.role),
        *_named("上文", memory.context),
    ]
    rows = [row for row in (about, source, more, list(memory.extra)) if row]
    return ["> " + _SEPARATOR.join(row) for row in rows]


def _asks(asks: tuple[str, ...]) -> list[str]:
    """The field is named in the language of the questions."""
    if not asks:
        return []
    name = "问法：" if language_of("".join(asks)) is not Language.ENGLISH else "Asks: "
    return [name + escape_asks(asks)]


def _trust(origin: Provenance) -> list[str]:
    """Nothing for a hand-written entry that does not say."""
    if origin.source is Source.PERSON and not (origin.trusted or origin.denied):
        return []
    return [f"可信：{'是' if origin.trusted else '否'}"]


def _named(name: str, value: str) -> list[str]:
    return [f"{name}：{escape_inline(value, also='·')}"] if value else []


def heading_id(line: str) -> str | None:
    """Returns the id in an entry's heading, None for any other line."""
    match = _HEADING.fullmatch(line)
    return match["id"] if match else None


def parse(text: str, *, fallback_time: datetime) -> Memory:
    """Read one entry. If a person omitted the time, it is taken from the id if that is one of ours,
    else it is ``fallback_time``.

    Raises:
        ValueError: if the first line is not an entry heading.
    """
    return parse_entry(text, fallback_time=fallback_time)[0]


def parse_entry(text: str, *, fallback_time: datetime) -> tuple[Memory, bool]:
    """Returns ``parse``'s result, and whether ``fallback_time`` was used."""
    first, *rest = text.removesuffix("\n").split("\n")
    heading = _HEADING.fullmatch(first)
    if heading is None:
        raise ValueError("not an entry heading")
    rows = 0
    while rows < len(rest) and rest[rows].startswith(">"):
        rows += 1
    while rows < len(rest) and not rest[rows].strip():
        rows += 1
    body = rest[rows:]
    while body and not body[-1].strip():
        body.pop()
    read = _Metadata()
    for row in rest[:rows]:
        for piece in row[1:].split(_SEPARATOR):
            read.take(piece.strip())
    made = read.fields.get("created_at") or made_at(heading["id"])
    fields: dict[str, Any] = {**read.fields, "created_at": made or fallback_time}
    origin = Provenance(**read.origin)
    if origin.source is Source.PERSON and read.origin.get("trusted") is False:
        origin = replace(origin, denied=True)
    memory = Memory(
        memory_id=heading["id"],
        judgment=unescape(heading["judgment"].strip()),
        reasoning=unescape("\n".join(body)),
        provenance=origin,
        extra=tuple(read.extra),
        **fields,
    )
    return memory, made is None


def made_at(memory_id: str) -> datetime | None:
    """Returns when an id of ours was made: its first ten characters are milliseconds since 1970.

    None for an id that a person made up.
    """
    stamp = memory_id.removeprefix("m-")
    if len(stamp) != _OUR_ID or any(c not in _CROCKFORD for c in stamp):
        return None
    number = 0
    for character in stamp[:_TIME_CHARS]:
        number = number * len(_CROCKFORD) + _CROCKFORD.index(character)
    if not _FIRST_MS <= number < _LAST_MS:
        return None
    return datetime.fromtimestamp(number // 1000, UTC)


@dataclass(slots=True)
class _Metadata:
    """Takes metadata pieces one by one; unknown and repeated ones are kept in ``extra``."""

    fields: dict[str, Any] = field(default_factory=dict)
    origin: dict[str, Any] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)

    def take(self, piece: str) -> None:
        if piece and not self._known(piece):
            self.extra.append(piece)

    def _known(self, piece: str) -> bool:
        if piece in _KINDS:
            return _put(self.fields, "kind", _KINDS[piece])
        if piece in _ACTIVE:
            return _put(self.fields, "active", _ACTIVE[piece])
        if match := _NAMED.fullmatch(piece):
            return self._take_named(match[1], match[2])
        if match := _STRENGTH.fullmatch(piece):
            strength = min(max(int(match[1]), MIN_STRENGTH), MAX_STRENGTH)
            return _put(self.fields, "strength", strength)
        moment = _aware_time(piece)
        return moment is not None and _put(self.fields, "created_at", moment)

    def _take_named(self, name: str, raw: str) -> bool:
        match name:
            case "标签":
                return _put(self.fields, "tags", unescape_tags(raw))
            case "问法" | "Asks":
                return _put(self.fields, "asks", unescape_asks(raw))
            case "角色":
                return _put(self.fields, "role", unescape(raw))
            case "上文":
                return _put(self.fields, "context", unescape(raw))
            case "来源":
                return raw in _SOURCES and _put(self.origin, "source", _SOURCES[raw])
            case "引述":
                return raw in _TRUSTED and _put(self.fields, "quoted", _TRUSTED[raw])
            case "可信":
                return raw in _TRUSTED and _put(self.origin, "trusted", _TRUSTED[raw])
            case _:
                return _put(self.origin, _ORIGIN[name], unescape(raw))


def _put(fields: dict[str, Any], name: str, value: object) -> bool:
    """Set a field unless it is set. Returns whether it was set now."""
    if name in fields:
        return False
    fields[name] = value
    return True


def _aware_time(piece: str) -> datetime | None:
    return NO_TIME if piece == UNDATED else moment_in(piece)


_KINDS = {kind.value: kind for kind in MemoryKind}
_SOURCES = {source.value: source for source in Source}
