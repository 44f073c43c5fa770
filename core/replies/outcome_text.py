"""The engine's outcomes as short texts, for tools and commands alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...llm_memory import (
    EngineClosed,
    EngineOff,
    Hit,
    Memory,
    NoteSection,
    NoticeCode,
    PrivateKind,
    Reason,
    Refused,
    RememberOutcome,
    Replaced,
    ScopedMemoryError,
    Stored,
    StoredMemory,
)
from ...llm_memory.catalogue.rules.pointers import is_note_id, pointed_id
from ...llm_memory.errors import DirectoryInUse, FormatNewer
from ...llm_memory.scopes.rules.scope_resolution import ALL_PRIVATE_CHATS, as_derived
from ...llm_memory.text.attribution import speakers
from ...llm_memory.text.normalising import preview
from ...llm_memory.text.refusal_words import private_words, refusal_words
from ...llm_memory.text.safe_text import note_title, safe, safe_line, safe_pointer, shown_name
from ...llm_memory.texts import Texts
from ..host.panel_map import NotSaved
from .memory_line import place_text

_SHOWN = 60
_OFF: Mapping[type[ScopedMemoryError], str] = {
    DirectoryInUse: NoticeCode.DIRECTORY_IN_USE,
    FormatNewer: NoticeCode.FORMAT_NEWER,
}
"""The notice that says why the engine does not open."""


class Enough(Exception):
    """A command ends here, and this is its answer."""


ENDS = (ScopedMemoryError, NotSaved, Enough)
"""What ends a command with an answer, see ``error_text``."""


def remembered_text(texts: Texts, outcome: RememberOutcome) -> str:
    """Says to a model what was stored where, or why nothing was."""
    return _remembered(texts, "outcome", outcome)


def added_text(texts: Texts, outcome: RememberOutcome) -> str:
    """Says the same to a person: who will see it, and no path."""
    return _remembered(texts, "add", outcome)


def _remembered(texts: Texts, group: str, outcome: RememberOutcome) -> str:
    if isinstance(outcome, Refused):
        return texts.say("outcome.rejected", why=refusal_words(outcome))
    stored, place = outcome.memory, place_text(texts, outcome.memory.scope.name)
    params = {"id": stored.memory.memory_id, "pointer": stored.pointer, "scope": place}
    if isinstance(outcome, Replaced):
        params["former"] = safe(preview(outcome.former.memory.judgment, _SHOWN))
    code = f"{group}.{type(outcome).__name__.lower()}"
    said = texts.say(code, seen=seen_by(texts, stored), **params)
    said += redacted_text(texts, outcome.redacted)
    if stored.memory.quoted:
        said += texts.say("outcome.quoted")
    if isinstance(outcome, Stored) and outcome.missed:
        said += texts.say("outcome.missed")
    if isinstance(outcome, Stored) and (older := outcome.conflict) is not None:
        words = safe(preview(older.memory.judgment, _SHOWN))
        said += texts.say("outcome.conflict", former=older.memory.memory_id, text=words)
    return said


def seen_by(texts: Texts, stored: StoredMemory) -> str:
    """Who sees a memory, in words."""
    scope = stored.scope
    if scope.is_public:
        return texts.say("seen.public")
    alone = as_derived(scope.name) and scope != ALL_PRIVATE_CHATS
    return texts.say("seen.here" if alone else "seen.scope", scope=place_text(texts, scope.name))


def redacted_text(texts: Texts, redacted: Sequence[PrivateKind]) -> str:
    """What was hidden, empty if nothing was."""
    if not redacted:
        return ""
    return texts.say("outcome.redacted", kinds=private_words(redacted))


def refusal_text(texts: Texts, code: str, outcome: Refused) -> str:
    """Why nothing was corrected: whose words they are, or where they may be changed; that no such
    memory lives here. ``code``: of the text for who may not."""
    match outcome.reason:
        case Reason.NOT_ALLOWED if outcome.scope:
            return texts.say("pointed.elsewhere", scope=place_text(texts, outcome.scope))
        case Reason.NOT_ALLOWED:
            return texts.say(code, who=shown_name(outcome.who) or texts.say("inject.nobody"))
        case Reason.NOT_VISIBLE if is_note_id(pointed_id(outcome.detail) or ""):
            return texts.say("pointed.note")
        case _:
            return texts.said(refusal_words(outcome))


def _standing(memory: Memory) -> str:
    if memory.quoted:
        return "entry.quoted"
    return "entry.trusted" if memory.provenance.trusted else "entry.untrusted"


def error_text(texts: Texts, error: ScopedMemoryError | NotSaved | Enough) -> str:
    """What a caller is told when the engine cannot answer, when the panel's settings stay as they
    were, or when all is said."""
    if isinstance(error, Enough):
        return str(error)
    if isinstance(error, NotSaved):
        said = "scope.not_saved" if error.detail else "scope.overtaken"
        return texts.say(said, detail=safe(error.detail))
    if isinstance(error, EngineClosed):
        return texts.say("outcome.reloaded")
    code = error.code if isinstance(error, EngineOff) else _OFF.get(type(error))
    if code:
        return texts.say("outcome.off", detail=texts.say(f"engine_off.{code}"))
    return texts.say("outcome.failed", detail=type(error).__name__)


def entry_text(texts: Texts, stored: StoredMemory, hit: Hit) -> str:
    """A whole entry with its metadata. ``hit``: the same as recall tells it."""
    memory = stored.memory
    origin = memory.provenance
    lines = [
        texts.say(
            "entry.head",
            pointer=safe_pointer(stored.pointer),
            scope=place_text(texts, stored.scope.name),
        ),
        texts.say("entry.judgment", text=safe(memory.judgment)),
    ]
    if memory.reasoning:
        # Its further lines stand back, so that none looks like a line of ours.
        reasoning = "\n    ".join(safe(line) for line in memory.reasoning.split("\n"))
        lines.append(texts.say("entry.reasoning", text=reasoning))
    if memory.tags:
        lines.append(texts.say("entry.tags", text=safe(", ".join(memory.tags))))
    written = memory.created_at.isoformat(timespec="minutes")
    about = texts.say(
        "entry.about",
        kind=texts.say(f"memory_kind.{memory.kind.name.lower()}"),
        strength=memory.strength,
        time=texts.say("inject.undated") if memory.undated else written,
        who=speakers(hit, texts.say),
        source=texts.say(f"source.{origin.source.name.lower()}"),
        trusted=texts.say(_standing(memory)),
    )
    return "\n".join([*lines, about])


def note_text(texts: Texts, section: NoteSection) -> str:
    """A whole section of a note, with where it stands."""
    chunk = section.chunk
    place = place_text(texts, chunk.place.name)
    lines = [texts.say("entry.note_head", pointer=safe_pointer(chunk.pointer), place=place)]
    if chunk.headings:
        lines.append(texts.say("entry.note_headings", text=note_title(chunk.headings)))
    changed = chunk.modified.isoformat(timespec="minutes")
    lines += [
        texts.say("entry.note_lines", first=section.first, last=section.last, time=changed),
        texts.say("entry.note_text"),
        # They stand back, so that none looks like a line of ours.
        *(f"    {safe_line(line)}".rstrip() for line in section.text.split("\n")),
    ]
    if section.cut:
        lines.append(texts.say("entry.note_cut", count=section.cut))
    return "\n".join(lines)
