"""The six tools: arguments checked, the memory asked, its answer put in words."""

from __future__ import annotations

import heapq
import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ..errors import InvalidConversationId, NoOwner, ScopedMemoryError
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import MemoryDraft, MemoryKind, Topic
from ..models.recall import Arm, FileText, Hit, Recall
from ..models.tasks import TaskAction, TaskChange
from ..sharing.calls import AGENT
from ..text.normalising import one_line
from .answers import (
    fit,
    log_answer,
    numbered,
    overview_lines,
    search_line,
    task_lines,
)
from .arguments import MOST_TOKENS, BadArgument, checked, read_tasks, sendable, token_budget
from .levels import GLOBAL, PROJECT, Level, Levels
from .read_target import ReadTarget, parse_target
from .texts import Texts

_MOST_HITS: Final = 50
_TOKENS_A_HIT: Final = 40
_LONGEST_QUERY: Final = 2_000
_WHY: Final = 80
"""Characters of an embedder's name, and of what is wrong with it."""
_LEAST_JUDGMENT: Final = 200
_LONGEST_JUDGMENT: Final = 2_000
"""Characters of a summary that become the judgment; the rest is its reasoning."""
READ_TOKENS: Final = 8_000
_TYPES: Final[Mapping[str, tuple[MemoryKind, Topic | None, str]]] = {
    "preference": (MemoryKind.KNOWLEDGE, Topic.PREFERENCES, GLOBAL),
    "instruction": (MemoryKind.KNOWLEDGE, Topic.INSTRUCTIONS, GLOBAL),
    "entity": (MemoryKind.KNOWLEDGE, Topic.ENTITIES, GLOBAL),
    "decision": (MemoryKind.KNOWLEDGE, Topic.DECISIONS, PROJECT),
    "pattern": (MemoryKind.SKILL, Topic.PATTERNS, PROJECT),
    "task": (MemoryKind.TASK, Topic.TASKS, PROJECT),
    "journal": (MemoryKind.EVENT, Topic.JOURNAL, PROJECT),
}


_client: ContextVar[str] = ContextVar("client", default="")
"""Each call is a task of its own."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``failed``: nothing was done, or nothing is there."""

    text: str
    failed: bool = False


class MemoryTools:
    """``levels`` are what the agent sees; the budgets are those of the settings."""

    def __init__(
        self,
        levels: Levels,
        texts: Texts,
        *,
        max_tokens: int = 1_500,
        primer_tokens: int = 800,
        embedder: str = "",
        missing: str = "",
    ) -> None:
        """``embedder`` is what the settings name, to be told of where it found nothing; ``missing``
        is what it lacks, if that is known."""
        self._levels = levels
        self._texts = texts
        self._max_tokens = max_tokens
        self._primer_tokens = primer_tokens
        self._embedder = embedder
        self._missing = missing
        self._tools: Mapping[str, Callable[..., Awaitable[Answer]]] = {
            "memory_primer": self.primer,
            "memory_search": self.search,
            "memory_log": self.log,
            "memory_session_end": self.session_end,
            "memory_update_tasks": self.update_tasks,
            "memory_read": self.read,
        }

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None, client: str = ""
    ) -> Answer:
        """Answer a call. Never raises but for a cancelled caller. ``client`` is the name of the
        program that asks."""
        _client.set(sendable(client))
        say, tool = self._texts.say, self._tools.get(name)
        if tool is None:
            return Answer(say("unknown_tool", name=_shown(name)), failed=True)
        try:
            answer = await tool(**checked(name, arguments))
        except BadArgument as error:
            answer = Answer(say(error.code, **error.details), failed=True)
        except NoOwner as error:
            answer = Answer(say("no_owner", detail=error), failed=True)
        except (ScopedMemoryError, OSError) as error:
            answer = Answer(say("failed", detail=error), failed=True)
        except Exception as error:  # noqa: BLE001  (a client gets words, whatever it is)
            logger.error("工具 {} 出错：{!r}", name, error)
            answer = Answer(say("unexpected", detail=type(error).__name__), failed=True)
        return Answer(sendable(answer.text), answer.failed)

    @property
    def _actor(self) -> Actor:
        return Actor(AGENT, _client.get())

    async def primer(self) -> Answer:
        """What a session begins with: instructions, tasks, the last days, headings of notes."""
        budget = self._primer_tokens
        asked = self._levels.asked
        lines: list[str] = []
        for level in asked:
            found = await level.memory.overview(
                conversation_id=level.conversation,
                actor=self._actor,
                token_budget=budget // len(asked),
            )
            lines += overview_lines(found, level, self._texts)
        if not lines:
            return Answer(self._texts.say("empty"))
        return Answer(fit(self._texts.say("data"), lines, budget, self._texts))

    async def search(self, query: str, scope: str | None, max_tokens: int | None) -> Answer:
        """The relevant memories of one level or both, best first, within the budget."""
        budget = token_budget(max_tokens, self._max_tokens)
        wanted = (scope or "all").strip().lower()
        by_level: list[list[tuple[Hit, Level]]] = []
        head = [self._texts.say("data")]
        for level in self._searched(wanted):
            # What is left out of a recall below must not have taken the place of what is not.
            asked = MOST_TOKENS if wanted == PROJECT else budget
            recall = await self._recall(query[:_LONGEST_QUERY], level, asked)
            by_level.append(_project_first([(hit, level) for hit in recall.hits]))
            head += self._by_words(recall)
        hits = [
            (hit, level)
            for hit, level in heapq.merge(*by_level, key=lambda found: -found[0].relevance)
            if wanted != PROJECT or level.label(hit.scope_name) == PROJECT
        ]
        if not hits:
            return Answer("\n".join([self._texts.say("nothing"), *dict.fromkeys(head[1:])]))
        lines = [search_line(hit, level, self._texts) for hit, level in hits]
        return Answer(fit("\n".join(dict.fromkeys(head)), lines, budget, self._texts))

    def _by_words(self, recall: Recall) -> list[str]:
        """That the embedder of the settings was not asked, or did not answer, and why."""
        if not self._embedder or recall.trace.arm not in (Arm.LEXICAL, Arm.SCAN):
            return []
        told = (note.partition(": ")[2] for note in recall.trace.notes if note.startswith("dense"))
        why = self._missing or next(told, "") or self._texts.say("not_loaded")
        named = self._embedder[:_WHY]
        return [self._texts.say("by_words", embedder=named, why=one_line(why)[:_WHY])]

    def _searched(self, scope: str) -> tuple[Level, ...]:
        if scope == "all":
            return self._levels.asked
        if scope not in (PROJECT, GLOBAL):
            raise BadArgument("no_scope")
        level = self._levels.named(scope)
        if level is None:
            raise BadArgument("no_project")
        return (level,)

    async def _recall(self, query: str, level: Level, budget: int) -> Recall:
        return await level.memory.recall(
            query,
            conversation_id=level.conversation,
            limit=min(max(budget // _TOKENS_A_HIT, 3), _MOST_HITS),
            token_budget=budget,
            actor=self._actor,
        )

    async def log(self, content: str, type: str | None) -> Answer:
        """Store one statement where its type belongs."""
        known = _TYPES.get((type or "").strip().lower())
        kind, topic, where = known or (MemoryKind.KNOWLEDGE, None, PROJECT)
        level = self._written(where)
        said = ""
        if type and known is None:
            said = self._texts.say("unknown_type", type=_shown(type.strip()[:40]))
        if topic is Topic.INSTRUCTIONS:
            topic, said = None, self._texts.say("untaken_type")
        draft = MemoryDraft(
            content,
            kind=kind,
            topic=topic,
            actor=self._actor,
            corrects=True,
            key=secrets.token_hex(16),
        )
        outcome = await level.memory.remember(draft, conversation_id=level.conversation)
        text, failed = log_answer(outcome, level, self._texts)
        return Answer(f"{text}\n{said}" if said and not failed else text, failed)

    def _written(self, name: str) -> Level:
        if name == GLOBAL and self._levels.writes_global:
            return self._levels.global_level
        return self._levels.nearest

    async def session_end(self, summary: str) -> Answer:
        """Write the journal of the day, then the overview pages."""
        level = self._levels.nearest
        judgment, reasoning = _split(summary)
        draft = MemoryDraft(
            judgment,
            reasoning,
            kind=MemoryKind.EVENT,
            topic=Topic.JOURNAL,
            actor=self._actor,
            key=secrets.token_hex(16),
        )
        outcome = await level.memory.remember(draft, conversation_id=level.conversation)
        text, failed = log_answer(outcome, level, self._texts, stored="session")
        try:
            await level.memory.refresh_overview(conversation_id=level.conversation)
        except ScopedMemoryError as error:
            text = f"{text}\n{self._texts.say('pages_left', detail=error)}"
        return Answer(text, failed)

    async def update_tasks(self, tasks_json: str) -> Answer:
        """Add, change and complete tasks; those that are not named stay."""
        level, fates = self._levels.nearest, []
        asked = read_tasks(tasks_json)
        for task in asked:
            action = TaskAction.DONE if task.done else TaskAction.ADD
            change = TaskChange(action, (task.title,), task.progress, task.next_step)
            fates.append((task, await self._change(level, change)))
        report = await self._change(level, TaskChange(TaskAction.LIST))
        lines, failed = task_lines(fates, report, level, self._texts)
        return Answer(fit("", lines, READ_TOKENS, self._texts), failed)

    async def open_tasks(self) -> Answer:
        """The tasks that are open, for a person who only looks."""
        report = await self._change(self._levels.nearest, TaskChange(TaskAction.LIST))
        lines, failed = task_lines((), report, self._levels.nearest, self._texts)
        return Answer(sendable(fit("", lines, READ_TOKENS, self._texts)), failed)

    async def _change(self, level: Level, change: TaskChange) -> Any:
        return await level.memory.update_tasks(
            change, conversation_id=level.conversation, actor=self._actor
        )

    async def read(self, path: str) -> Answer:
        """A memory, a section or a file, with its lines numbered."""
        target = parse_target(path)
        for level in self._read_from(target):
            try:
                found = await level.memory.read(target.where, conversation_id=level.conversation)
            except InvalidConversationId:
                continue
            if isinstance(found, FileText):
                return self._numbered(found, level, target)
        return Answer(self._texts.say("absent", path=_shown(path)), failed=True)

    def _read_from(self, target: ReadTarget) -> tuple[Level, ...]:
        if target.level:
            level = self._levels.named(target.level)
            return (level,) if level else ()
        both = (self._levels.project, self._levels.global_level)
        return tuple(level for level in both if level)

    def _numbered(self, found: FileText, level: Level, target: ReadTarget) -> Answer:
        shared = found.path.startswith("shared/")
        path = found.path if shared else f"{level.name}/{found.path}"
        text, there = numbered(found, path, target.first, target.last, READ_TOKENS, self._texts)
        return Answer(text, failed=not there)


def _project_first(hits: Sequence[tuple[Hit, Level]]) -> list[tuple[Hit, Level]]:
    """Returns the hits in their order, but of equally relevant ones the project's first."""
    return [
        found
        for _, tied in groupby(hits, key=lambda found: found[0].relevance)
        for found in sorted(tied, key=lambda found: found[1].label(found[0].scope_name) != PROJECT)
    ]


def _split(summary: str) -> tuple[str, str]:
    """Returns judgment and reasoning: the first paragraphs in a line, and the rest as it stands.
    Not the very first alone: sessions that begin with the same words are not one session."""
    text, end = summary.strip(), 0
    while end < min(_LEAST_JUDGMENT, len(text)):
        end = text.find("\n\n", end + 2)
        end = len(text) if end < 0 else end
    if end > _LONGEST_JUDGMENT:
        ends = (text.rfind(mark, 0, _LONGEST_JUDGMENT) for mark in ("\n", " "))
        end = next((one for one in ends if one > _LEAST_JUDGMENT), _LONGEST_JUDGMENT)
    return one_line(text[:end]).lstrip("# "), text[end:].strip()


def _shown(path: str) -> str:
    """What a client wrote, as far as it can stand in a line."""
    return "".join(c for c in path[:80] if unicodedata.category(c)[0] != "C")
