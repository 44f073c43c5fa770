"""What the memory answered, in words for an agent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..models.data_models import (
    Reinforced,
    Rejected,
    RememberOutcome,
    Replaced,
    StoredMemory,
    shown_day,
)
from ..models.recall import FileText, Hit
from ..models.tasks import TaskReport
from ..primer.models import Overview
from ..text.attribution import speakers, standing
from ..text.normalising import estimate_tokens
from ..text.safe_text import note_title, safe, safe_pointer, unmarked
from .arguments import AskedTask
from .levels import Level
from .texts import Texts

_PREVIEW: Final = 160
"""Characters of a memory that an answer names."""


def fit(head: str, lines: Sequence[str], budget: int, texts: Texts) -> str:
    """Returns the lines that fit below the head, each whole. A line that does not fit is passed
    over, and that there is more is said within the budget."""
    more = texts.say("more", tokens=budget)
    left = budget - estimate_tokens(f"{head}\n")
    reserve = estimate_tokens(f"{more}\n")
    taken, missed = [], False
    costs = [estimate_tokens(f"{line}\n") for line in lines]
    whole = sum(costs) <= left
    for line, cost in zip(lines, costs, strict=True):
        if cost <= (left if whole else left - reserve):
            taken.append(line)
            left -= cost
        else:
            missed = True
    return "\n".join([*([head] if head else []), *taken, *([more] if missed else [])])


def search_line(hit: Hit, level: Level, texts: Texts) -> str:
    """Returns a hit as a line: date, who, the words, what is to be known of them, its pointer."""
    marks = standing(hit, texts.say) + ([texts.say("quoted")] if hit.quoted else [])
    about = shown_day(hit.day, texts.say("inject.undated"))
    if not hit.is_note:
        about = f"{about} {speakers(hit, texts.say)}"
    said = f"{note_title(hit.headings)}: " if hit.headings else ""
    said += safe(hit.preview)
    behind = f" [{', '.join(marks)}]" if marks else ""
    return f"- {about}: {said}{behind} ({safe_pointer(level.shown(hit))})"


def log_answer(
    outcome: RememberOutcome, level: Level, texts: Texts, *, stored: str = "stored"
) -> tuple[str, bool]:
    """Returns what became of a statement, and whether it was not stored."""
    if isinstance(outcome, Rejected):
        return _refused(outcome, level, texts), True
    where = _pointer(outcome.memory, level)
    if isinstance(outcome, Replaced):
        former = outcome.former
        text = texts.say(
            "replaced",
            where=where,
            former=_preview(former),
            former_id=former.memory.memory_id,
        )
    elif isinstance(outcome, Reinforced):
        text = texts.say("reinforced", where=where)
    else:
        text = texts.say(stored, where=where)
        if outcome.conflict is not None:
            older = _pointer(outcome.conflict, level)
            text += "\n" + texts.say("conflict", former=_preview(outcome.conflict), where=older)
    if outcome.redacted:
        text += "\n" + texts.say("redacted")
    return text, False


def _refused(rejected: Rejected, level: Level, texts: Texts) -> str:
    return texts.say(
        f"reject_{rejected.reason}", detail=rejected.detail, conversation=level.conversation
    )


def _pointer(stored: StoredMemory, level: Level) -> str:
    return f"{level.label(stored.scope.name)}/{stored.pointer}"


def _preview(stored: StoredMemory) -> str:
    return safe(stored.memory.judgment)[:_PREVIEW]


def overview_lines(found: Overview, level: Level, texts: Texts) -> list[str]:
    """Returns the sections of an overview, a heading and a line for each memory."""
    lines: list[str] = []
    for section in found.primer.sections:
        if not (section.hits or section.words):
            continue  # people alone, of whom nothing is known
        lines.append(f"## {texts.say(f'part_{section.part}')}")
        lines += [safe(word) for word in section.words]
        lines += [search_line(hit, level, texts) for hit in section.hits]
    if found.shared:
        lines.append(f"## {texts.say('part_shared')}")
        lines += [f"- {safe(line)}" for line in found.shared]
    return lines


def task_lines(
    fates: Iterable[tuple[AskedTask, TaskReport | Rejected]],
    report: TaskReport | Rejected,
    level: Level,
    texts: Texts,
) -> tuple[list[str], bool]:
    """Returns what became of each task and what is open, and whether one was refused."""
    lines, failed = [], False
    for task, answer in fates:
        if isinstance(answer, Rejected):
            failed = True
            said = _refused(answer, level, texts)
            lines.append(f"- {safe(task.title)[:_PREVIEW]}: {said}")
            continue
        for outcome in answer.outcomes:
            said = texts.say(f"fate_{outcome.fate}")
            if outcome.rejected is not None:
                failed = True
                said += ": " + _refused(outcome.rejected, level, texts)
            lines.append(f"- {safe(task.title)[:_PREVIEW]}: {said}")
    if isinstance(report, Rejected):
        return lines, True
    if not report.open:
        return [*lines, texts.say("tasks_none")], failed
    lines.append(texts.say("tasks_open", count=len(report.open)))
    lines += [f"- [ ] {_preview(stored)} ({_pointer(stored, level)})" for stored in report.open]
    return lines, failed


def numbered(
    found: FileText, path: str, first: int, last: int | None, budget: int, texts: Texts
) -> tuple[str, bool]:
    """Returns lines of a text with their numbers, as many as fit; False where there are none."""
    lines = found.text.split("\n")
    end = found.first + len(lines) - 1
    start, stop = max(first, found.first), end if last is None else min(last, end)
    if start > stop:
        return texts.say("no_lines", path=path, first=found.first, total=end), False
    wanted = lines[start - found.first : stop - found.first + 1]
    left = budget - 2 * estimate_tokens(path) - 40  # above the lines, and behind them
    taken: list[str] = []
    for number, line in enumerate(wanted, start=start):
        shown = f"{number:>4}  {unmarked(line)}"
        cost = estimate_tokens(f"{shown}\n")
        if cost > left:
            if taken:
                break
            shown, cost = shown[: max(left, 0)], left  # one line longer than all that may be said
        taken.append(shown)
        left -= cost
    reached = start + len(taken) - 1
    head = texts.say("lines", path=path, first=start, last=reached, total=end)
    behind = []
    if reached < stop:
        behind = [texts.say("go_on", left=stop - reached, path=path, next=reached + 1, end=stop)]
    return "\n".join([head, *taken, *behind]), True
