"""The six tools: arguments checked, the memory asked, its answer put in words.

Clients are shown the signature and the docstring of a tool's method: that is its definition.
"""

from __future__ import annotations

import asyncio
import heapq
import secrets
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, Final

from ..errors import InvalidConversationId, NoOwner, ScopedMemoryError
from ..log import logger
from ..models.conversation import Actor
from ..models.data_models import MemoryDraft, MemoryKind, Refused, RememberOutcome, Topic
from ..models.recall import Arm, FileText, Hit, Recall
from ..models.roles import RoleLease, RoleNote
from ..models.scope import SHARED_FOLDER
from ..models.tasks import TaskChange
from ..roles.role_seat import RoleSeat
from ..sharing.calls import AGENT
from ..text.normalising import one_line
from .answers import (
    FAILED,
    MISUSED,
    Answer,
    constitution_lines,
    log_answer,
    note_answer,
    numbered,
    overview_lines,
    role_line,
    task_answer,
)
from .arguments import MOST_TOKENS, BadArgument, checked, parse_target, read_tasks, sendable
from .hit_lines import DATA_HEAD, fit, search_line
from .levels import GLOBAL, PROJECT, Level, Levels

_MOST_HITS: Final = 50
_TOKENS_A_HIT: Final = 40
_LONGEST_QUERY: Final = 2_000
_WHY: Final = 80
"""Characters of an embedder's name, and of what is wrong with it."""
_UNSURE: Final = "(none is certain: they may be about something else)"
_LEAST_JUDGMENT: Final = 200
_LONGEST_JUDGMENT: Final = 2_000
"""Characters of a summary that become the judgment; the rest is its reasoning."""
_TYPES: Final[Mapping[str, tuple[MemoryKind, Topic | None, str]]] = {
    "preference": (MemoryKind.KNOWLEDGE, Topic.PREFERENCES, GLOBAL),
    "instruction": (MemoryKind.KNOWLEDGE, Topic.INSTRUCTIONS, GLOBAL),
    "entity": (MemoryKind.KNOWLEDGE, Topic.ENTITIES, GLOBAL),
    "decision": (MemoryKind.KNOWLEDGE, Topic.DECISIONS, PROJECT),
    "pattern": (MemoryKind.SKILL, Topic.PATTERNS, PROJECT),
    "task": (MemoryKind.TASK, Topic.TASKS, PROJECT),
    "journal": (MemoryKind.EVENT, Topic.JOURNAL, PROJECT),
}
NOTHING_YET: Final = "nothing is remembered yet"
_UNTAKEN: Final = (
    "what an agent writes is no instruction: filed by its words; the owner can vouch for it with "
    "scoped-memory trust"
)
_PROPOSED: Final = "a proposal: it holds once {who} accepts it with {command} decide accept {id}"

_agent: ContextVar[Actor] = ContextVar("agent", default=Actor(AGENT, ""))  # noqa: B039  (frozen)
"""Who calls: each call is a task of its own."""


@dataclass(frozen=True)
class MemoryTools:
    """``levels`` are what the agent sees; the budgets are those of the settings. ``embedder`` is
    what the settings name, to be told of where it was not asked; ``missing`` is what it lacks, if
    that is known; ``seat`` is that of the role that the agent works in."""

    levels: Levels
    max_tokens: int = 1_500
    primer_tokens: int = 800
    embedder: str = ""
    missing: str = ""
    seat: RoleSeat | None = None

    @property
    def offered(self) -> Mapping[str, Callable[..., Awaitable[Answer]]]:
        """Returns what clients are shown and may call, by the name of the tool."""
        tools: tuple[Callable[..., Awaitable[Answer]], ...] = (
            self.primer, self.search, self.log, self.session_end, self.update_tasks, self.read,
        )  # fmt: skip
        return {f"memory_{tool.__name__}": tool for tool in tools}

    async def call(
        self, name: str, arguments: Mapping[str, Any] | None, client: str = ""
    ) -> Answer:
        """Answer a call. Never raises but for a cancelled caller. ``client`` is the name of the
        program that asks."""
        _agent.set(Actor(AGENT, sendable(client)))
        tool = self.offered.get(name)
        if tool is None:
            return Answer(f"no such tool: {_shown(name)}", MISUSED)
        try:
            answer = await tool(**checked(tool, arguments))
        except BadArgument as error:
            answer = Answer(str(error), MISUSED)
        except NoOwner as error:
            answer = Answer(f"the memory cannot be used now: {error}", FAILED)
        except (ScopedMemoryError, OSError) as error:
            answer = Answer(f"not done: {error}", FAILED)
        except Exception as error:  # noqa: BLE001  (a client gets words, whatever it is)
            logger.error("call_failed", name=name, error=repr(error))
            wrong = f"something went wrong ({type(error).__name__})"
            answer = Answer(f"{wrong}, nothing was done; the server's log has it", FAILED)
        return Answer(sendable(answer.text), answer.code)

    async def primer(self) -> Answer:
        """Call once when a session starts: standing instructions, open tasks, the last days,
        headings of shared notes."""
        budget, asked = self.primer_tokens, self.levels.asked
        lines: list[str] = []
        rules: list[list[str]] = []
        if self.seat is not None:
            lines.append(role_line(self.seat.role, await _taken(self.seat)))
        for level in asked:
            found = await level.memory.overview(
                conversation_id=level.conversation,
                actor=_agent.get(),
                token_budget=budget // len(asked),
            )
            if (stated := constitution_lines(found)) not in rules:  # one store may be both levels
                rules.append(stated)
            lines += overview_lines(found, level)
        told = [fit(DATA_HEAD, lines, budget)] if lines else []
        return Answer("\n".join([*chain.from_iterable(rules), *told]) or NOTHING_YET)

    async def search(
        self, query: str, scope: str | None = None, max_tokens: int | None = None
    ) -> Answer:
        """Find memories by meaning. scope: all (default), project or global; max_tokens: 100-8000.
        Each line has a pointer for memory_read."""
        budget = max_tokens or self.max_tokens
        wanted = (scope or "all").strip().lower()
        by_level: list[list[tuple[Hit, Level]]] = []
        notes, holding, unsure = list[str](), 0, True
        for level in self._searched(wanted):
            # What is left out of a recall below must not have taken the place of what is not.
            asked = MOST_TOKENS if wanted == PROJECT else budget
            recall = await level.memory.recall(
                query[:_LONGEST_QUERY],
                conversation_id=level.conversation,
                limit=min(max(asked // _TOKENS_A_HIT, 3), _MOST_HITS),
                token_budget=asked,
                actor=_agent.get(),
            )
            by_level.append(_project_first([(hit, level) for hit in recall.hits]))
            notes += self._by_words(recall)
            unsure = unsure and recall.unsure
            # A project in the home's store is asked together with what is global there.
            holding += recall.trace.holding if level.own_store or wanted != PROJECT else 0
        lines = [
            search_line(hit, level)
            for hit, level in heapq.merge(*by_level, key=lambda found: -found[0].relevance)
            if wanted != PROJECT or level.label(hit.scope_name) == PROJECT
        ]
        if holding > len(lines):
            notes.append(f"({holding} memories hold all of these words)")
        if lines and unsure:
            notes.append(_UNSURE)
        head = DATA_HEAD if lines else "nothing relevant is remembered"
        return Answer(fit("\n".join(dict.fromkeys([head, *notes])), lines, budget))

    def _by_words(self, recall: Recall) -> list[str]:
        """That the embedder of the settings was not asked, or did not answer, and why."""
        if not self.embedder or recall.trace.arm not in (Arm.LEXICAL, Arm.SCAN):
            return []
        told = (note.partition(": ")[2] for note in recall.trace.notes if note.startswith("dense"))
        why = one_line(self.missing or next(told, "") or "it is not ready yet")[:_WHY]
        named = f"the embedder of the settings, {self.embedder[:_WHY]}, was not used: {why}"
        return [f"(found by words alone: {named})"]

    def _searched(self, scope: str) -> tuple[Level, ...]:
        if scope not in ("all", PROJECT, GLOBAL):
            raise BadArgument("scope can only be all, project or global; no scope can be named")
        found = self.levels.asked if scope == "all" else self.levels.named(scope)
        if not found:
            raise BadArgument("this is no project, there is only global")
        return found

    async def log(self, content: str, type: str | None = None) -> Answer:
        """Store one lasting fact, as a whole sentence. type: preference, instruction, entity
        (global); decision (a proposal), pattern, task, journal (project)."""
        known = _TYPES.get((type or "").strip().lower())
        kind, topic, where = known or (MemoryKind.KNOWLEDGE, None, PROJECT)
        level, note = self.levels.nearest, ""
        if where == GLOBAL and self.levels.writes_global:
            level = self.levels.global_level
        if type and known is None:
            note = f'unknown type "{_shown(type.strip()[:40])}", filed by its words'
        if topic is Topic.INSTRUCTIONS:
            topic, note = None, _UNTAKEN
        proposed = topic is Topic.DECISIONS
        why = ""
        if proposed:  # its reason stands below an empty line
            content, _, why = content.strip().partition("\n\n")
        draft = MemoryDraft(content, why, kind=kind, topic=topic, proposed=proposed)
        outcome = await self._remember(draft, level)
        if proposed and not isinstance(outcome, Refused):
            own = self.levels.writes_global
            who, command = ("the owner", "scoped-memory") if own else ("an admin", "/memory")
            note = _PROPOSED.format(who=who, command=command, id=outcome.memory.memory.memory_id)
        return log_answer(outcome, level, "stored", note)

    async def _remember(self, draft: MemoryDraft, level: Level) -> RememberOutcome:
        """Store what the agent says; a call that is asked once more stores it once."""
        draft = replace(draft, actor=_agent.get(), key=secrets.token_hex(16))
        return await level.memory.remember(draft, conversation_id=level.conversation)

    async def session_end(self, summary: str) -> Answer:
        """Call once when a session ends: writes the day's journal."""
        level = self.levels.nearest
        if self.seat is not None:
            lease = await _taken(self.seat)
            if isinstance(lease, Refused):
                return note_answer(lease, level)
            note = RoleNote(lease, summary, _agent.get().name)
            noted = await level.memory.note_role(note, conversation_id=level.conversation)
            return note_answer(noted, level)
        draft = MemoryDraft(*_split(summary), kind=MemoryKind.EVENT, topic=Topic.JOURNAL)
        answer = log_answer(await self._remember(draft, level), level, "the session was noted")
        try:
            await level.memory.refresh_overview(conversation_id=level.conversation)
        except ScopedMemoryError as error:
            return Answer(f"{answer.text}\nthe overview was not written: {error}", answer.code)
        return answer

    async def update_tasks(self, tasks_json: str) -> Answer:
        """Update tasks, a JSON list: [{"title","status":"open|done","progress"?,"next"?}]. Tasks
        not named stay."""
        return await self.open_tasks(read_tasks(tasks_json))

    async def open_tasks(self, changes: Sequence[TaskChange] = ()) -> Answer:
        """Make changes; for a person who only looks, none. Then the tasks that are open."""
        level = self.levels.nearest
        reports = [
            await level.memory.update_tasks(
                change, conversation_id=level.conversation, actor=_agent.get()
            )
            for change in (*changes, TaskChange("list"))
        ]
        return task_answer(changes, reports, level, MOST_TOKENS)

    async def read(self, path: str) -> Answer:
        """Read in full: a pointer from a search, or project/decisions.md, shared/…; path:10-40 for
        those lines."""
        target = parse_target(path)
        for level in self.levels.named(target.level):
            try:
                found = await level.memory.read(target.where, conversation_id=level.conversation)
            except InvalidConversationId:
                continue
            if isinstance(found, FileText):
                shared = found.path.startswith(f"{SHARED_FOLDER}/")
                shown = found.path if shared else f"{level.name}/{found.path}"
                return numbered(found, shown, target.first, target.last, MOST_TOKENS)
        return Answer(f"no such file or memory: {_shown(path)}", FAILED)


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


async def _taken(seat: RoleSeat) -> RoleLease | Refused:
    """Hold the role from now on, if nobody else does."""
    return await asyncio.to_thread(seat.take, _agent.get().name)
