"""What became of tasks, as a short text for the model."""

from __future__ import annotations

from ...llm_memory import StoredMemory, TaskFate, TaskOutcome, TaskReport
from ...llm_memory.catalogue.rules.tasks import task_text
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.safe_text import safe, safe_pointer
from ..texts import Texts
from .outcome_text import redacted_text, rejected_text

_SHOWN = 30
_PREVIEW = 160
_TITLE = 60
_FAILED = (TaskFate.UNKNOWN, TaskFate.ELSEWHERE, TaskFate.REFUSED)


def tasks_text(texts: Texts, report: TaskReport) -> str:
    """One line a title, then what is open. The first word is ``error`` if nothing that was asked
    for could be done."""
    failed = [outcome for outcome in report.outcomes if outcome.fate in _FAILED]
    word = "error" if report.outcomes and len(failed) == len(report.outcomes) else "ok"
    lines = [_became(texts, outcome) for outcome in report.outcomes]
    if not report.open:
        lines.append(texts.say("tasks.none_open", done=report.done))
    else:
        lines.append(texts.say("tasks.open", count=len(report.open), done=report.done))
        lines += [_line(texts, stored) for stored in report.open[:_SHOWN]]
    if len(report.open) > _SHOWN:
        lines.append(texts.say("tasks.more", count=len(report.open) - _SHOWN))
    return "\n".join([f"{word} {lines[0]}", *lines[1:]])


def _became(texts: Texts, outcome: TaskOutcome) -> str:
    title = safe(preview(outcome.title, _TITLE))
    if outcome.rejected is not None:
        why = rejected_text(texts, outcome.rejected)
        return texts.say("tasks.refused", title=title, why=why)
    said = texts.say(f"tasks.{outcome.fate}", title=title)
    return said + redacted_text(texts, outcome.redacted)


def _line(texts: Texts, stored: StoredMemory) -> str:
    memory = stored.memory
    text = safe(preview(task_text(memory), _PREVIEW))
    if memory.quoted:
        text = texts.say("inject.quoted", text=text)
    who = safe(memory.who) or texts.say("inject.nobody")
    day = shown_day(memory.created_at, texts.say("inject.undated"))
    return f"- [{day} · {who} · {safe_pointer(stored.pointer)}] {text}"
