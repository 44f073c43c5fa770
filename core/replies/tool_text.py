"""What tools answer the model: an entry or a section of a note, what became of tasks, the talk that
a memory came from."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import (
    Hit,
    NoteSection,
    Refused,
    StoredMemory,
    TaskFate,
    TaskOutcome,
    TaskReport,
)
from ...llm_memory.catalogue.rules.tasks import task_text
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.turns import ShownTurn, Transcript
from ...llm_memory.text.attribution import speakers
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import refusal_words
from ...llm_memory.text.safe_text import note_title, safe, safe_line, safe_pointer, shown_name
from ...llm_memory.texts import Texts
from .memory_line import place_text, quoted
from .outcome_text import redacted_text

_TASKS = 30
_PREVIEW = 160
_TITLE = 60
_FAILED = (TaskFate.UNKNOWN, TaskFate.SEVERAL, TaskFate.ELSEWHERE, TaskFate.REFUSED)
_BACK = "    "
"""What stands back by it looks like no line of ours."""


def entry_text(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    """A whole entry with its metadata. ``hit``: the same as recall tells it."""
    memory, say, place = stored.memory, texts.say, place_text(texts, stored.scope.name)
    origin, tags = memory.provenance, safe(", ".join(memory.tags))
    reasoning = f"\n{_BACK}".join(safe(line) for line in memory.reasoning.split("\n"))
    standing = "quoted" if memory.quoted else "trusted" if origin.trusted else "untrusted"
    written = memory.created_at.isoformat(timespec="minutes")
    lines = [
        say("entry.head", pointer=safe_pointer(stored.pointer), scope=place),
        say("entry.judgment", text=safe(memory.judgment)),
        say("entry.reasoning", text=reasoning) if reasoning else "",
        say("entry.tags", text=tags) if tags else "",
        say(
            "entry.about",
            kind=say(f"memory_kind.{memory.kind.name.lower()}"),
            strength=memory.strength,
            time=say("inject.undated") if memory.undated else written,
            who=speakers(hit, say),
            source=say(f"source.{origin.source.name.lower()}"),
            trusted=say(f"entry.{standing}"),
        ),
    ]
    return "\n".join(filter(None, lines))


def note_text(texts: Texts, section: NoteSection) -> str:
    """A whole section of a note, with where it stands."""
    chunk, say = section.chunk, texts.say
    place, title = place_text(texts, chunk.place.name), note_title(chunk.headings)
    changed = chunk.modified.isoformat(timespec="minutes")
    lines = [
        say("entry.note_head", pointer=safe_pointer(chunk.pointer), place=place),
        *([say("entry.note_headings", text=title)] if chunk.headings else []),
        say("entry.note_lines", first=section.first, last=section.last, time=changed),
        say("entry.note_text"),
        *(f"{_BACK}{safe_line(line)}".rstrip() for line in section.text.split("\n")),
        *texts.counted("entry", note_cut=section.cut),
    ]
    return "\n".join(lines)


def tasks_text(texts: Texts, report: TaskReport, told: Sequence[Hit]) -> str:
    """One line a title, then what is open. The first word is ``error`` if nothing that was asked
    for could be done. ``told``: what is open, as recall tells it."""
    failed = report.outcomes and all(one.fate in _FAILED for one in report.outcomes)
    head = "todo.head" if report.open else "todo.nothing"
    shown = zip(report.open[:_TASKS], told, strict=False)
    lines = [
        *(_became(texts, outcome) for outcome in report.outcomes),
        texts.say(head, count=len(report.open)),
        *(_task_line(texts, stored, hit) for stored, hit in shown),
        *texts.counted("todo", more=max(0, len(report.open) - _TASKS)),
    ]
    return f"{'error' if failed else 'ok'} " + "\n".join(lines)


def _became(texts: Texts, outcome: TaskOutcome) -> str:
    title = safe(preview(outcome.title, _TITLE))
    if outcome.rejected is not None:
        return texts.say("tasks.refused", title=title, why=refusal_words(outcome.rejected))
    said = texts.say(f"tasks.{outcome.fate}", title=title)
    return said + redacted_text(texts, outcome.redacted)


def _task_line(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    memory = stored.memory
    text = quoted(texts, preview(task_text(memory), _PREVIEW), is_order=memory.quoted)
    day = shown_day(memory.created_at, texts.say("inject.undated"))
    return f"- [{day} · {speakers(hit, texts.say)} · {safe_pointer(stored.pointer)}] {text}"


def talk_text(texts: Texts, found: Transcript | Refused) -> str:
    """The turns, or why there is no talk."""
    if isinstance(found, Refused):
        return texts.said(refusal_words(found))
    lines = [f"{_BACK}{line}" for turn in found.turns for line in _turn_lines(texts, turn)]
    return "\n".join([texts.say("talk.head"), *lines, *texts.counted("talk", alone=found.alone)])


def _turn_lines(texts: Texts, turn: ShownTurn) -> list[str]:
    """What the person said, and what the bot answered; where nothing of it may be shown, that."""
    who = shown_name(turn.who) or texts.say("talk.somebody")
    time, mark = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else "", "→ " if turn.origin else ""
    said = safe(turn.said) or texts.say("talk.kept_back")
    replied = [texts.say("talk.replied", text=safe(turn.replied))] if turn.replied else []
    return [f"{mark}{time}{texts.say('talk.said', who=who, text=said)}", *replied]
