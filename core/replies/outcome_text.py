"""The engine's outcomes as short texts, for tools and commands alike; what tools show the model: an
entry, a section of a note, tasks, the talk that a memory came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ...llm_memory import (
    Changed,
    DeedKind,
    EngineClosed,
    EngineOff,
    Hit,
    NoteSection,
    NoticeCode,
    PrivateKind,
    Reason,
    Recall,
    Refused,
    RememberOutcome,
    ScopedMemoryError,
    StateUnavailable,
    StoredMemory,
    TaskFate,
    TaskOutcome,
    TaskReport,
)
from ...llm_memory.catalogue.rules.pointers import is_note_id, pointed_id
from ...llm_memory.catalogue.rules.tasks import task_text
from ...llm_memory.errors import DirectoryInUse, FormatNewer, TransferFailed
from ...llm_memory.models.data_models import shown_day
from ...llm_memory.models.turns import ShownTurn
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import speakers
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import private_words, refusal_words
from ...llm_memory.text.safe_text import (
    cut,
    note_title,
    safe,
    safe_line,
    safe_pointer,
    shown_name,
)
from ...llm_memory.texts import Texts
from ..host.panel_map import NotSaved
from .memory_line import place_text, quoted, shown_words

_SHOWN = 60
_LONG = 200
_TASKS = 30
_TASK = 160
_FAILED = (TaskFate.UNKNOWN, TaskFate.SEVERAL, TaskFate.ELSEWHERE, TaskFate.REFUSED)
_BACK = "    "
"""What stands back by it looks like no line of ours."""
_OFF: Mapping[type[ScopedMemoryError], str] = {
    DirectoryInUse: NoticeCode.DIRECTORY_IN_USE,
    FormatNewer: NoticeCode.FORMAT_NEWER,
}
"""The notice that says why the engine does not open."""
_SAID_AS = {DeedKind.AMENDED: DeedKind.EDITED}


class Enough(Exception):
    """A command ends here, and this is its answer."""


ENDS = (ScopedMemoryError, NotSaved, Enough)
"""What ends a command with an answer, see ``error_text``."""


def remembered_text(texts: Texts, outcome: RememberOutcome, group: str = "outcome") -> str:
    """Says what was stored where, or why nothing was: to a model; by the group ``add`` to a person,
    who reads who will see it, and no path."""
    say = texts.say
    if isinstance(outcome, Refused):
        return say("outcome.rejected", why=refusal_words(outcome))
    stored, scope, older = outcome.memory, outcome.memory.scope, outcome.conflict
    place, alone = place_text(texts, scope.name), as_derived(scope.name)
    seen = "here" if alone and scope != ALL_PRIVATE_CHATS else "scope"
    said = say(
        f"{group}.{outcome.how}",
        seen=say(f"seen.{'public' if scope.is_public else seen}", scope=place),
        pointer=stored.pointer,
        scope=place,
        former=_words(outcome.former) if outcome.former else "",
    )
    said += redacted_text(texts, outcome.hidden)
    said += say("outcome.quoted") if stored.memory.quoted else ""
    said += say("outcome.missed") if outcome.missed else ""
    if older is None:
        return said
    return said + say("outcome.conflict", former=older.memory.memory_id, text=_words(older))


def changed_text(texts: Texts, done: Changed) -> str:
    """Says what became of a memory, or which deed was taken back."""
    code = "several" if done.more else _SAID_AS.get(done.kind, done.kind)
    said = texts.say(
        f"{'undo' if done.undone else 'changed'}.{code}",
        text=shown_words(texts, done.memory.memory),
        before=place_text(texts, cut(done.before)),
        scope=place_text(texts, done.memory.scope.name),
        count=done.more + 1,
        detail=safe(done.unfinished),
    )
    return said + redacted_text(texts, done.hidden)


def _words(stored: StoredMemory) -> str:
    return cut(stored.memory.judgment, _SHOWN)


def redacted_text(texts: Texts, redacted: Sequence[PrivateKind]) -> str:
    """What was hidden, empty if nothing was."""
    return texts.say("outcome.redacted", kinds=private_words(redacted)) if redacted else ""


def refusal_text(texts: Texts, code: str, outcome: Refused) -> str:
    """Why nothing was corrected: whose words they are, or where they may be changed; that no such
    memory lives here. ``code``: of the text for who may not."""
    if outcome.reason is Reason.NOT_ALLOWED:
        code = "pointed.elsewhere" if outcome.scope else code
        who = shown_name(outcome.who) or texts.say("inject.nobody")
        return texts.say(code, who=who, scope=place_text(texts, outcome.scope))
    if outcome.reason is Reason.NOT_VISIBLE and is_note_id(pointed_id(outcome.detail) or ""):
        return texts.say("pointed.note")
    return texts.said(refusal_words(outcome))


def error_text(texts: Texts, error: ScopedMemoryError | NotSaved | Enough | OSError) -> str:
    """What a caller is told when the engine cannot answer, when the panel's settings or the files
    stay as they were, or when all is said."""
    code, detail = "outcome.failed", type(error).__name__
    match error:
        case Enough():
            return str(error)
        case NotSaved(detail=detail):
            code = "scope.not_saved" if detail else "scope.overtaken"
        case TransferFailed():
            code, detail = f"transfer_fault.{error.code}", cut(error.detail, _LONG)
            code, detail = "transfer.failed", texts.say(code, detail=detail)
        case StateUnavailable(cause=detail):
            code = "outcome.not_written"
        case EngineClosed():
            code = "outcome.reloaded"
        case EngineOff() | DirectoryInUse() | FormatNewer():
            off = error.code if isinstance(error, EngineOff) else _OFF[type(error)]
            code, detail = "outcome.off", texts.say(f"engine_off.{off}")
        case OSError():
            code, detail = "transfer.failed", cut(str(error), _LONG)
    return texts.say(code, detail=safe(detail))


def found_text(texts: Texts, recall: Recall) -> str:
    """How many memories a search shows, and how many hold its words where those are more; of none,
    whether nothing like it was ever noted, or nothing is certain."""
    shown, holding = len(recall.hits), recall.trace.holding
    if recall.unsure:
        return texts.say("search.unsure", count=shown or len(recall.trace.considered))
    if not shown:
        return texts.say("search.nothing")
    if holding > shown + sum(len(hit.also) for hit in recall.hits):
        return texts.say("search.head_of", count=shown, all=holding)
    return texts.say("search.head", count=shown)


def entry_text(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    """A whole entry with its metadata. ``hit``: the same as recall tells it."""
    memory, say, origin = stored.memory, texts.say, stored.memory.provenance
    tags = safe(", ".join(memory.tags))
    reasoning = f"\n{_BACK}".join(safe(line) for line in memory.reasoning.split("\n"))
    standing = "quoted" if memory.quoted else "trusted" if origin.trusted else "untrusted"
    written = memory.created_at.isoformat(timespec="minutes")
    scope = place_text(texts, stored.scope.name)
    lines = [
        say("entry.head", pointer=safe_pointer(stored.pointer), scope=scope),
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
    place, changed = (
        place_text(texts, chunk.place.name),
        chunk.modified.isoformat(timespec="minutes"),
    )
    lines = [
        say("entry.note_head", pointer=safe_pointer(chunk.pointer), place=place),
        *([say("entry.note_headings", text=note_title(chunk.headings))] if chunk.headings else []),
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
    lines = [
        *(_became(texts, outcome) for outcome in report.outcomes),
        texts.say("todo.head" if report.open else "todo.nothing", count=len(report.open)),
        *map(partial(_task_line, texts), report.open[:_TASKS], told),
        *texts.counted("todo", more=max(0, len(report.open) - _TASKS)),
    ]
    return f"{'error' if failed else 'ok'} " + "\n".join(lines)


def _became(texts: Texts, outcome: TaskOutcome) -> str:
    title, rejected = cut(outcome.title, _SHOWN), outcome.rejected
    if rejected is not None:
        return texts.say("tasks.refused", title=title, why=refusal_words(rejected))
    return texts.say(f"tasks.{outcome.fate}", title=title) + redacted_text(texts, outcome.redacted)


def _task_line(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    memory = stored.memory
    text = quoted(texts, preview(task_text(memory), _TASK), is_order=memory.quoted)
    day = shown_day(memory.created_at, texts.say("inject.undated"))
    return f"- [{day} · {speakers(hit, texts.say)} · {safe_pointer(stored.pointer)}] {text}"


def talk_text(texts: Texts, turn: ShownTurn | Refused) -> str:
    """What the person said, and what the bot answered; or why there is no talk."""
    if isinstance(turn, Refused):
        return texts.said(refusal_words(turn))
    who = shown_name(turn.who) or texts.say("talk.somebody")
    time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    said = texts.say("talk.said", who=who, text=safe(turn.said) or texts.say("talk.kept_back"))
    lines = [texts.say("talk.head"), f"{_BACK}→ {time}{said}"]
    if turn.replied:
        lines.append(f"{_BACK}{texts.say('talk.replied', text=safe(turn.replied))}")
    return "\n".join(lines)
