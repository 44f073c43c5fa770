"""What becomes of a record of another plugin: a memory of ours in its scope, one that waits in
quarantine, or nothing that could be kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ...catalogue.rules.merged_memory import ORIGIN, all_pieces
from ...errors import InvalidScope
from ...models.data_models import MAX_STRENGTH, NO_TIME, Memory, MemoryKind, Provenance, Source
from ...models.scope import PUBLIC, QUARANTINE_NAME, Scope
from ...remember.rules.gate import MAX_JUDGMENT, is_quotation
from ...text.normalising import derived_id, preview
from .legacy_values import (
    as_piece,
    is_empty,
    read_flag,
    read_kind,
    read_moment,
    read_strength,
    read_tags,
    read_text,
)

QUARANTINE: Final = Scope.parse(QUARANTINE_NAME, derived=True)
SCOPE_KEY: Final = "memory_scope"
"""Names the piece of an entry that holds the ids under which others kept it."""
UNKNOWN_CONVERSATION: Final = "unknown_conversation"
ILLEGAL_NAME: Final = "illegal"
_STATED: Final = "原域"
_SEPARATOR = ",  "
"""Between a judgment and its tags in the text that was embedded."""
_TITLE = 200
"""Characters of a text that is too long for a judgment, which then stands in the reasoning."""
_USUAL_STRENGTH = 50
_READ: Final = frozenset(
    {"id", "memory_type", "judgment", "reasoning", "tags", "strength", "is_active", "created_at"}
    | {SCOPE_KEY, "is_consolidated"}
)
_NAMES: Final = {"associations": "关联", "state_snapshot": "心境"}


@dataclass(frozen=True, slots=True)
class Foreign:
    """A record as it was read.

    Attributes:
        source: Which store it is of: the same at each reading.
        record_id: As that store calls it.
        document: The text beside the fields, None where there is none.
        fields: Metadata, or a row; None where there is none.
        later: Of the store that came after the others, and knows better.
    """

    source: str
    record_id: str
    document: str | None
    fields: Mapping[str, object] | None
    later: bool = False


@dataclass(frozen=True, slots=True)
class Adopted:
    """``stated``: the record says which scope it belongs to; else it is older than scopes.
    ``later``: it is of the store that knows better."""

    scope: Scope
    memory: Memory
    stated: bool
    later: bool = False


@dataclass(frozen=True, slots=True)
class Quarantined:
    """``name``: what stood there for a scope, as JSON; ``reason``: a stable code."""

    memory: Memory
    name: str
    reason: str

    @property
    def scope(self) -> Scope:
        """Where it waits: only who owns the files sees it."""
        return QUARANTINE


@dataclass(frozen=True, slots=True)
class Broken:
    """There is nothing in it to remember. ``reason``: a stable code, never its words."""

    reason: str


type Judged = Adopted | Quarantined | Broken
type ScopeOf = Callable[[str, str], Scope | None]
"""The scope of a conversation (by its unified_msg_origin) under a persona; None where it has none
that could be written to."""


def judge(record: Foreign, now: datetime) -> Judged:
    """By the rules for Angel Memory's stores. ``now``: aware; what has no time gets it."""
    fields = dict(record.fields or {})
    found = _memory(record, fields, now)
    if isinstance(found, Broken):
        return found
    name = fields.get(SCOPE_KEY)
    if name is None or (isinstance(name, str) and not name.strip()):
        return adopted(PUBLIC, found, stated=record.later, later=record.later)
    try:
        return adopted(Scope.parse(name), found, stated=True, later=record.later)
    except InvalidScope:
        return quarantined(found, name, ILLEGAL_NAME)


def judge_recallable(record: Foreign, now: datetime, scope_of: ScopeOf) -> Judged:
    """By the rules for LivingMemory's documents: what was said in a conversation belongs to its
    scope, and where that cannot be told, to no one's."""
    fields = dict(record.fields or {})
    persona = read_text(fields.get("persona_id")).strip()
    known = {
        "memory_type": "",
        "judgment": read_text(fields.pop("text", "")).strip(),
        "tags": fields.pop("topics", ()),
        "strength": _percent(fields.pop("importance", None)),
        "is_active": fields.get("status") in ("active", "", None),
        "created_at": fields.pop("create_time", None) or fields.pop("created_at", None),
    }
    session = fields.pop("session_id", None)
    fields.pop("persona_id", None)
    if known["is_active"]:
        fields.pop("status", None)
    found = _memory(record, {**fields, **known}, now)
    if isinstance(found, Broken):
        return found
    where = session if isinstance(session, str) else ""
    found = replace(
        found, role=persona, provenance=replace(found.provenance, conversation=read_text(where))
    )
    if "metadata" in fields:  # it could not be read: whose words these are is unknown
        return quarantined(found, None, "unreadable_metadata")
    if session is None or where in _OF_ALL:
        return adopted(PUBLIC, found, stated=True)
    scope = scope_of(where, persona) if where else None
    if scope is None:
        return quarantined(found, session, UNKNOWN_CONVERSATION)
    return adopted(scope, found, stated=True)


_OF_ALL: Final = ("livingmemory:global",)


def _percent(value: object) -> object:
    """An importance of 0 to 1, or in the first releases to 10, as a strength."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return value * 100 if value <= 1 else value * 10 if value <= 10 else value


def adopted(scope: Scope, memory: Memory, *, stated: bool, later: bool = False) -> Adopted:
    """Under the id that these words have in this scope."""
    memory_id = adopted_id(scope.name, memory.judgment)
    return Adopted(scope, replace(memory, memory_id=memory_id), stated, later)


def adopted_id(scope: str, judgment: str) -> str:
    """The id of a memory that came from elsewhere: the same words in the same scope have one."""
    return derived_id("m", scope, judgment)


def quarantined(memory: Memory, name: object, reason: str) -> Quarantined:
    """Two scopes of which neither is legal stay two: their memories are not joined."""
    piece = as_piece(_STATED, name)
    return Quarantined(
        replace(
            memory,
            memory_id=derived_id("m", QUARANTINE_NAME, memory.judgment, piece),
            extra=(*memory.extra, piece),
        ),
        piece.partition("：")[2],
        reason,
    )


def placed_as_before(judged: Judged, scope: str, memory_id: str) -> Judged:
    """A record that was judged before, changed since: where its words stood they belong, whatever
    the map says of its conversation now. ``scope`` and ``memory_id`` tell where that was."""
    if isinstance(judged, Broken) or not scope:
        return judged
    extra = tuple(p for p in judged.memory.extra if not p.startswith(f"{_STATED}："))
    memory = replace(judged.memory, extra=extra)
    if scope == QUARANTINE_NAME:
        before: Adopted | Quarantined = quarantined(
            memory, memory.provenance.conversation, UNKNOWN_CONVERSATION
        )
    else:
        before = adopted(planned_scope(scope), memory, stated=True)
    return before if before.memory.memory_id == memory_id else judged


def planned_scope(name: str) -> Scope:
    """The scope of a memory that was judged before, by its name. Raises InvalidScope."""
    return Scope.parse(name, derived=True)


def merged(one: Memory, other: Memory) -> Memory:
    """One memory of two that say the same: the larger strength, the earlier time, all the tags, and
    what either says besides."""
    reasoning = one.reasoning
    if other.reasoning and other.reasoning not in reasoning:
        reasoning = f"{reasoning}\n\n{other.reasoning}" if reasoning else other.reasoning
    return replace(
        one,
        reasoning=reasoning,
        tags=tuple(dict.fromkeys((*one.tags, *other.tags))),
        strength=max(one.strength, other.strength),
        active=one.active or other.active,
        created_at=min(one.created_at, other.created_at, key=_known_first),
        extra=all_pieces(one.extra, other.extra),
        quoted=one.quoted or other.quoted,
    )


def _memory(record: Foreign, fields: Mapping[str, object], now: datetime) -> Memory | Broken:
    """Without an id yet."""
    document = read_text(record.document)
    judgment = read_text(fields.get("judgment")).strip()
    tags = read_tags(fields.get("tags"))
    if judgment:
        rest = "" if _is_said(document, judgment, tags) else document.strip()
    else:
        judgment, told = _from_document(document)
        tags, rest = tags or told, ""
    if not judgment:
        return Broken("empty")
    reasoning = read_text(fields.get("reasoning")).strip()
    if rest and rest not in reasoning:
        reasoning = f"{reasoning}\n\n{rest}" if reasoning else rest
    if len(judgment) > MAX_JUDGMENT:  # it would be no heading
        reasoning = f"{judgment}\n\n{reasoning}".strip()
        judgment = preview(judgment, _TITLE)
    odd: list[str] = []
    active = read_flag(fields.get("is_active"))
    return Memory(
        memory_id="",
        judgment=judgment,
        created_at=_moment(fields.get("created_at"), now, odd),
        reasoning=reasoning,
        tags=tags,
        kind=_kind(fields.get("memory_type"), odd),
        active=True if active is None else active,
        strength=_strength(fields.get("strength"), odd),
        provenance=Provenance(source=Source.IMPORT),
        extra=(_origin(record), *odd, *_besides(fields)),
        quoted=is_quotation((judgment, reasoning, *tags), trusted=False),
    )


def _from_document(document: str) -> tuple[str, tuple[str, ...]]:
    """Judgment and tags, where there is nothing but the text that was embedded."""
    judgment, found, tags = document.rpartition(_SEPARATOR)
    if found and judgment.strip() and "\n" not in tags:
        return judgment.strip(), read_tags(tags)
    return document.strip().removesuffix(_SEPARATOR.strip()).strip(), ()


def _is_said(document: str, judgment: str, tags: tuple[str, ...]) -> bool:
    """The document adds nothing: it is what the plugin made of judgment and tags."""
    words, found, rest = document.rpartition(_SEPARATOR)
    if not found:
        return document.strip() in ("", judgment)
    return words.strip() == judgment and set(read_tags(rest)) <= set(tags)


def _moment(value: object, now: datetime, odd: list[str]) -> datetime:
    moment = read_moment(value, now)
    if value is not None and (moment is None or moment == now.replace(microsecond=0)):
        odd.append(as_piece("原时间", value))
    return moment or NO_TIME


def _known_first(moment: datetime) -> tuple[bool, datetime]:
    return moment == NO_TIME, moment


def _strength(value: object, odd: list[str]) -> int:
    strength = read_strength(value)
    beyond = isinstance(value, int | float) and value > MAX_STRENGTH
    if (strength is None and not is_empty(value)) or beyond:
        odd.append(as_piece("原强度", value))
    return _USUAL_STRENGTH if strength is None else strength


def _kind(value: object, odd: list[str]) -> MemoryKind:
    kind = read_kind(value)
    if kind is None and not is_empty(value):
        odd.append(as_piece("原类型", value))
    return kind or MemoryKind.KNOWLEDGE


def _origin(record: Foreign) -> str:
    """``原号：source/id``; a comma in an id would look like two."""
    name = f"{record.source}/{record.record_id}".replace(",", "，")
    return as_piece(ORIGIN, name)


def _besides(fields: Mapping[str, object]) -> list[str]:
    """What has no field of its own, unless it says nothing. Names are somebody else's, too, so
    those that we do not know stand inside the JSON."""
    rest = {
        read_text(key): _as_json(value)
        for key, value in fields.items()
        if key not in _READ and not is_empty(value)
    }
    named = [as_piece(name, rest.pop(key)) for key, name in _NAMES.items() if key in rest]
    return [*named, as_piece("其余", rest)] if rest else named


def _as_json(value: object) -> object:
    """JSON that stands in a text, as what it says; a broken one stays the text that it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
