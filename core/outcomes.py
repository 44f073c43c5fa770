"""The engine's outcomes as short texts, for tools and commands alike."""

from __future__ import annotations

from ..llm_memory import (
    EngineClosed,
    EngineOff,
    Reinforced,
    Rejected,
    ScopedMemoryError,
    Stored,
    StoredMemory,
)
from .services.injection_service import safe, safe_pointer
from .texts import Texts


def remembered_text(texts: Texts, outcome: Stored | Reinforced | Rejected) -> str:
    """What was stored where, or why nothing was."""
    match outcome:
        case Stored(memory):
            return texts.say("outcome.stored", scope=memory.scope.name, pointer=memory.pointer)
        case Reinforced(memory):
            return texts.say("outcome.reinforced", scope=memory.scope.name, pointer=memory.pointer)
        case Rejected():
            return rejected_text(texts, outcome)


def rejected_text(texts: Texts, rejected: Rejected) -> str:
    """Why nothing was stored."""
    why = ""
    if rejected.why is not None:
        why = texts.say(f"why.{rejected.why.code}", key=rejected.why.key, value=rejected.why.value)
    return texts.say(f"reject.{rejected.reason}", why=why, detail=rejected.detail)


def error_text(texts: Texts, error: ScopedMemoryError) -> str:
    """What a caller is told when the engine cannot answer."""
    if isinstance(error, EngineClosed):
        return texts.say("outcome.reloaded")
    if isinstance(error, EngineOff):
        return texts.say("outcome.off", detail=error.code)
    return texts.say("outcome.failed", detail=type(error).__name__)


def entry_text(texts: Texts, stored: StoredMemory) -> str:
    """A whole entry with its metadata."""
    memory = stored.memory
    origin = memory.provenance
    lines = [
        texts.say("entry.head", pointer=safe_pointer(stored.pointer), scope=stored.scope.name),
        texts.say("entry.judgment", text=safe(memory.judgment)),
    ]
    if memory.reasoning:
        # Its further lines stand back, so that none looks like a line of ours.
        reasoning = "\n    ".join(safe(line) for line in memory.reasoning.split("\n"))
        lines.append(texts.say("entry.reasoning", text=reasoning))
    if memory.tags:
        lines.append(texts.say("entry.tags", text=safe(", ".join(memory.tags))))
    lines.append(
        texts.say(
            "entry.about",
            kind=memory.kind.value,
            strength=memory.strength,
            time=memory.created_at.isoformat(timespec="minutes"),
            who=safe(origin.who) or texts.say("inject.nobody"),
            source=origin.source.value,
            trusted=texts.say("entry.trusted" if origin.trusted else "entry.untrusted"),
        )
    )
    return "\n".join(lines)
