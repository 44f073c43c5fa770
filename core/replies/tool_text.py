"""What tools answer the model: what became of tasks, the talk that a memory came from."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import Hit, Refused, StoredMemory, TaskFate, TaskOutcome, TaskReport
from ...llm_memory.catalogue.rules.tasks import task_text
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.turns import ShownTurn, Transcript
from ...llm_memory.text.attribution import speakers
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import refusal_words
from ...llm_memory.text.safe_text import safe, safe_pointer, shown_name
from ...llm_memory.texts import Texts
from .outcome_text import redacted_text

_SHOWN = 30
_PREVIEW = 160
_TITLE = 60
_FAILED = (TaskFate.UNKNOWN, TaskFate.SEVERAL, TaskFate.ELSEWHERE, TaskFate.REFUSED)


def tasks_text(texts: Texts, report: TaskReport, told: Sequence[Hit]) -> str:
    """One line a title, then what is open. The first word is ``error`` if nothing that was asked
    for could be done. ``told``: what is open, as recall tells it."""
    failed = [outcome for outcome in report.outcomes if outcome.fate in _FAILED]
    word = "error" if report.outcomes and len(failed) == len(report.outcomes) else "ok"
    lines = [_became(texts, outcome) for outcome in report.outcomes]
    if not report.open:
        lines.append(texts.say("todo.nothing"))
    else:
        lines.append(texts.say("todo.head", count=len(report.open)))
        shown = zip(report.open[:_SHOWN], told, strict=False)
        lines += [_line(texts, stored, hit) for stored, hit in shown]
    lines += texts.counted("todo", more=max(0, len(report.open) - _SHOWN))
    return "\n".join([f"{word} {lines[0]}", *lines[1:]])


def _became(texts: Texts, outcome: TaskOutcome) -> str:
    title = safe(preview(outcome.title, _TITLE))
    if outcome.rejected is not None:
        return texts.say("tasks.refused", title=title, why=refusal_words(outcome.rejected))
    said = texts.say(f"tasks.{outcome.fate}", title=title)
    return said + redacted_text(texts, outcome.redacted)


def _line(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    memory = stored.memory
    text = safe(preview(task_text(memory), _PREVIEW))
    if memory.quoted:
        text = texts.say("inject.quoted", text=text)
    day = shown_day(memory.created_at, texts.say("inject.undated"))
    who = speakers(hit, texts.say)
    return f"- [{day} · {who} · {safe_pointer(stored.pointer)}] {text}"


def talk_text(texts: Texts, found: Transcript | Refused) -> str:
    """The turns, each line standing back so that none looks like a line of ours; or why there is
    no talk."""
    if isinstance(found, Refused):
        return texts.said(refusal_words(found))
    lines = [texts.say("talk.head")]
    for turn in found.turns:
        lines += [f"    {line}" for line in _turn_lines(texts, turn)]
    if found.alone:
        lines.append(texts.say("talk.alone"))
    return "\n".join(lines)


def _turn_lines(texts: Texts, turn: ShownTurn) -> list[str]:
    """What the person said, and what the bot answered; where nothing of it may be shown, that."""
    who = shown_name(turn.who) or texts.say("talk.somebody")
    time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    mark = "→ " if turn.origin else ""
    said = safe(turn.said) or texts.say("talk.kept_back")
    lines = [f"{mark}{time}{texts.say('talk.said', who=who, text=said)}"]
    if turn.replied:
        lines.append(texts.say("talk.replied", text=safe(turn.replied)))
    return lines
