"""Labelled rows and questions, and their rows as memories in a vault."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from iso_dates import moment
from samples import write_vault

from astrbot_plugin_scoped_memory.llm_memory import (
    ContextLine,
    ConversationId,
    ConversationKind,
    Hit,
    Memory,
    MemoryKind,
    Provenance,
    Source,
    StoredMemory,
    Voice,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope

_LEGAL = re.compile("[a-zA-Z0-9\u4e00-\u9fff_-]{1,60}")
_NO_TIME = datetime(2024, 1, 1, tzinfo=UTC)
_ADAPTER = "aiocqhttp"
_BOT = "Assistant"


def shuffled(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of each conversation at each other's places and times, the same every time: nothing
    follows on what stands before it any more."""
    chance = random.Random(7)  # noqa: S311  (no secret)
    talks: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in raw:
        talks[row["conv"]].append(row)
    mixed = []
    for talk in talks.values():
        others = chance.sample(talk, len(talk))
        for place, row in zip(talk, others, strict=True):
            mixed.append(row | {name: place.get(name) for name in ("scope", "time")})
    return mixed


def _times(raw: list[dict[str, Any]]) -> list[datetime]:
    """When each row was said; one that does not say so, when the one before it in its conversation
    was, or else the first that does."""
    first: dict[str, datetime] = {}
    for row in raw:
        if row.get("time"):
            first.setdefault(row["conv"], moment(row["time"]))
    last: dict[str, datetime] = {}
    times = []
    for row in raw:
        before = last.get(row["conv"]) or first.get(row["conv"], _NO_TIME)
        last[row["conv"]] = moment(row["time"]) if row.get("time") else before
        times.append(last[row["conv"]])
    return times


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was said."""

    id: str
    conversation: str
    session: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """``gold`` are the ids of the rows that answer it. ``last`` is what was said last, where the
    row tells of a talk, ``talk`` what came before that, and ``before`` what recall is told of it.
    """

    id: str
    conversation: str
    language: str
    text: str
    gold: frozenset[str]
    category: str
    asked_at: datetime | None
    last: str = ""
    talk: tuple[tuple[Voice, str], ...] = ()
    before: tuple[tuple[Voice, str], ...] = ()

    def in_talk(self, *, context: bool) -> Question:
        """The same as somebody asks it who talks, with or without what was said before. A row that
        tells of no talk is asked as it is."""
        if not self.last:
            return self
        return replace(self, text=self.last, before=self.talk if context else ())

    def context(self, now: datetime, view: str) -> list[ContextLine]:
        """What was said a moment before."""
        return [ContextLine(voice, text, now, view) for voice, text in self.before]

    @classmethod
    def read(cls, row: dict[str, Any]) -> Question:
        asked = moment(row["time"]) if row.get("time") else None
        return cls(
            str(row["id"]),
            row["conv"],
            row["lang"],
            row["question"],
            frozenset(map(str, row["gold_ids"])),
            row.get("category", ""),
            asked,
            row.get("last") or "",
            tuple(map(_voice, (row.get("context") or ())[:-1])),
        )


def _voice(line: str) -> tuple[Voice, str]:
    """Of ``<speaker>: <words>``."""
    speaker, _, words = line.partition(": ")
    return Voice.BOT if speaker == _BOT else Voice.ASKER, words


class Library:
    """The conversations of a corpus, each a scope of its own."""

    def __init__(self, found: list[Row]) -> None:
        self.rows = {row.id: row for row in found}
        self._talks: dict[str, list[Row]] = defaultdict(list)
        for row in found:
            self._talks[row.conversation].append(row)
        numbers = {name: number for number, name in enumerate(self._talks)}
        self._scopes = {name: Scope.parse(_legal(name, n)) for name, n in numbers.items()}
        self._where = {
            name: ConversationId(
                umo := f"{_ADAPTER}:{ConversationKind.GROUP}:{number}",
                _ADAPTER,
                umo.partition(":")[0],
                ConversationKind.GROUP,
                group=str(number),
                persona="",
            )
            for name, number in numbers.items()
        }
        self._by_memory: dict[str, Row] = {}

    @classmethod
    def read(cls, raw: list[dict[str, Any]]) -> Library:
        return cls(
            [
                Row(
                    str(row["id"]),
                    row["conv"],
                    row.get("scope") or "",
                    row.get("speaker") or "",
                    row["text"],
                    at,
                )
                for row, at in zip(raw, _times(raw), strict=True)
            ]
        )

    @property
    def scope_map(self) -> dict[str, object]:
        """What an owner would have put into the map."""
        return {where.umo: self._scopes[name].name for name, where in self._where.items()}

    def where(self, conversation: str) -> ConversationId:
        """The conversation that asks."""
        return self._where[conversation]

    def end(self, conversation: str) -> datetime:
        """The day after a conversation's last words."""
        return max(row.at for row in self._talks[conversation]) + timedelta(days=1)

    def row_of(self, hit: Hit) -> Row:
        """Whose memory it is."""
        return self._by_memory[hit.memory_id]

    def write_vault(self, root: Path, *, context: bool = True) -> None:
        """Every row as an entry of its conversation's journal; ``context`` is the row before it in
        its session."""
        stored = []
        for name, talk in self._talks.items():
            last: dict[str, Row] = {}
            for row in talk:
                memory_id = f"m-{len(self._by_memory):010d}"
                self._by_memory[memory_id] = row
                before = last.get(row.session) if context else None
                last[row.session] = row
                memory = Memory(
                    memory_id=memory_id,
                    judgment=row.text,
                    created_at=row.at,
                    kind=MemoryKind.EVENT,
                    active=False,
                    provenance=Provenance(
                        who=row.speaker,
                        conversation=f"{_ADAPTER}:{row.session}",
                        source=Source.IMPORT,
                    ),
                    context=f"{before.speaker}: {before.text}" if before else "",
                )
                path = f"journal/{row.at:%Y-%m-%d}.md"
                stored.append(StoredMemory(self._scopes[name], path, memory))
        write_vault(root, stored)


def _legal(name: str, number: int) -> str:
    """A scope's name of a conversation's, whatever that is."""
    plain = name if _LEGAL.fullmatch(name) else f"c{number}"
    return plain if not plain.lower().startswith(("dm-", "group-")) else f"c{number}"
