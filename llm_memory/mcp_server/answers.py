"""What the memory answered, in English words for an agent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..models.data_models import Refused, RememberOutcome, StoredMemory
from ..models.recall import FileText
from ..models.roles import NoteOutcome, RoleLease
from ..models.tasks import TaskChange, TaskOutcome, TaskReport
from ..primer.models import Overview, PrimerPart
from ..text.normalising import estimate_tokens
from ..text.refusal_words import refusal_words
from ..text.safe_text import safe, safe_line, safe_pointer, unmarked
from ..texts import Said
from ..vault.rules.templates import CONSTITUTION
from .hit_lines import fit, search_line
from .levels import Level
from .texts import FATES, PARTS

FAILED, MISUSED, PARTLY = 1, 2, 3
_PREVIEW: Final = 160
"""Characters of a memory that an answer names."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``code`` is that of the commands: 0 done, 1 nothing was done or is there, 2 a wrong argument,
    3 done in part."""

    text: str
    code: int = 0

    @property
    def failed(self) -> bool:
        """Whether a client is told of an error."""
        return self.code != 0


def log_answer(outcome: RememberOutcome, level: Level, stored: str, note: str = "") -> Answer:
    """Returns what became of a statement; ``note`` stands below one that was stored."""
    if isinstance(outcome, Refused):
        return Answer(refusal_words(outcome).text("en"), FAILED)
    where = _pointer(level, outcome.memory)
    if former := outcome.former:
        kept = f"{former.memory.memory_id}, kept in archive/"
        lines = [f'stored: {where}; it replaces "{_preview(former)}" ({kept})']
    elif outcome.how == "reinforced":
        lines = [f"known already, reinforced: {where}"]
    else:
        lines = [f"{stored}: {where}"]
        if older := outcome.conflict:
            lines.append(
                f'may contradict an older one: "{_preview(older)}" ({_pointer(level, older)}). '
                "That stands as it was; if it is wrong, ask the owner to change it."
            )
    lines += ["private data in it was hidden"] if outcome.hidden else []
    return Answer("\n".join([*lines, note] if note else lines))


def _pointer(level: Level, stored: StoredMemory) -> str:
    return level.shown(stored.scope.name, stored.pointer)


def _preview(stored: StoredMemory) -> str:
    return safe(stored.memory.judgment)[:_PREVIEW]


def constitution_lines(found: Overview) -> list[str]:
    """Returns the rules that people wrote, and where there is more; empty without them."""
    lines: list[str] = []
    for section in found.primer.sections:
        if section.part is PrimerPart.CONSTITUTION:
            news = ", changed since the last session" if found.new_rules else ""
            lines.append(f"## {PARTS[section.part]} ({CONSTITUTION}{news})")
            lines += map(safe_line, section.words)
            if section.pointer:
                lines.append(f"(there is more: memory_read {safe_pointer(section.pointer)})")
    return lines


def overview_lines(found: Overview, level: Level) -> list[str]:
    """Returns the other sections of an overview, a heading and a line for each memory."""
    lines: list[str] = []
    for section in found.primer.sections:
        if section.part is PrimerPart.CONSTITUTION:
            continue
        if section.hits or section.words:  # else it is people alone, of whom nothing is known
            lines.append(f"## {PARTS[section.part]}")
        lines += [safe(word) for word in section.words]
        lines += [search_line(hit, level) for hit in section.hits]
    if found.sessions:
        lines += ["## Your last sessions (unverified)", *(f"- {safe(it)}" for it in found.sessions)]
    if found.shared:
        lines += ["## Shared notes", *(f"- {safe(line)}" for line in found.shared)]
    return lines


def task_answer(
    changes: Sequence[TaskChange],
    reports: Sequence[TaskReport | Refused],
    level: Level,
    budget: int,
) -> Answer:
    """Returns what became of each change, and what the last report says is open."""
    lines: list[str] = []
    refused = 0
    for change, report in zip(changes, reports, strict=False):
        title = safe(change.titles[0])[:_PREVIEW]
        if isinstance(report, Refused):
            report = TaskReport((TaskOutcome(title, "refused", rejected=report),))
        for one in report.outcomes:
            why = f": {refusal_words(one.rejected).text('en')}" if one.rejected else ""
            lines.append(f"- {title}: {FATES.get(one.fate, one.fate)}{why}")
            refused += one.rejected is not None
    code = PARTLY if 0 < refused < len(lines) else FAILED if refused else 0
    if isinstance(report := reports[-1], Refused):
        return Answer(fit("", lines, budget), code or FAILED)
    lines.append(f"{len(report.open)} open:" if report.open else "no open tasks")
    lines += [f"- [ ] {_preview(stored)} ({_pointer(level, stored)})" for stored in report.open]
    return Answer(fit("", lines, budget), code)


def numbered(found: FileText, path: str, first: int, last: int | None, budget: int) -> Answer:
    """Returns lines of a text with their numbers, as many as fit."""
    lines = found.text.split("\n")
    end = found.first + len(lines) - 1
    start, stop = max(first, found.first), end if last is None else min(last, end)
    if start > stop:
        return Answer(f"{path} has no such lines, it is lines {found.first}-{end}", FAILED)
    left = budget - 2 * estimate_tokens(path) - 40  # above the lines, and behind them
    taken: list[str] = []
    for number in range(start, stop + 1):
        shown = f"{number:>4}  {unmarked(lines[number - found.first])}"
        cost = estimate_tokens(f"{shown}\n")
        if cost > left:
            if taken:
                break
            shown, cost = shown[: max(left, 0)], left  # one line longer than all that may be said
        taken.append(shown)
        left -= cost
    reached = start + len(taken) - 1
    said = [f"{path} (lines {start}-{reached} of {end})", *taken]
    if reached < stop:
        said.append(f"({stop - reached} more lines, read {path}:{reached + 1}-{stop})")
    return Answer("\n".join(said))


def role_line(role: str, seat: RoleLease | Refused) -> str:
    """Returns the line that tells an agent whether it holds its role."""
    if isinstance(seat, Refused):
        return refusal_words(seat).text("en")
    return f"You hold the role {safe(role)}."


def note_answer(noted: NoteOutcome, level: Level) -> Answer:
    """Returns what became of a session's summary, and each line that was left out."""
    match noted:
        case Refused("not_written", detail=why):
            return Answer(f"not written: {safe(why)}", FAILED)
        case Refused():
            return Answer(refusal_words(noted).text("en"), FAILED)
    lines = [
        f"left out, {Said(f'objection.{code}').text('en')}: {safe(words[:_PREVIEW])}"
        for code, words in noted.left_out
    ]
    if not noted.file:
        return Answer("\n".join(["nothing was written", *lines]), FAILED)
    again = ", which said so before" if noted.again else ""
    left = "MEMORY.md of the role was not renewed: its marks are damaged, or a file cannot be read"
    page = [left] * noted.page_left
    return Answer("\n".join([f"noted in {safe(noted.file)}{again}", *lines, *page]))
