"""What becomes of old memories, in words: for the log and for commands."""

from __future__ import annotations

from ...llm_memory import MigrationState, MigrationStatus, Tally
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts

_DETAIL = 200


def numbers_text(texts: Texts, tally: Tally, remaining: int) -> str:
    """How many came to which end; of what there is none, nothing is said."""
    ends = texts.counted(
        {
            "migrate.patched": tally.patched,
            "migrate.skipped": tally.skipped,
            "migrate.adopted": tally.adopted,
            "migrate.merged": tally.merged,
            "migrate.quarantined": tally.quarantined,
            "migrate.broken": tally.broken,
            "migrate.remaining": remaining,
        }
    )
    return texts.say("common.and").join([texts.say("migrate.scanned", count=tally.scanned), *ends])


def state_text(texts: Texts, status: MigrationStatus) -> str:
    """Says how far they are, and why they do not get on where they do not."""
    if status.waiting and status.state is MigrationState.RUNNING:
        known = (f"{group}.{status.waiting}" for group in ("cause", "migrate_cause"))
        code = next(filter(texts.knows, known), "")
        return texts.say("migrate.waiting", cause=texts.say(code) if code else status.waiting)
    if status.reversed and status.state is MigrationState.IDLE:
        return texts.say("migrate.reversed")
    detail = safe(status.detail)[:_DETAIL]
    return texts.say(f"migrate.state_{status.state}", detail=detail)  # one of each, see tests
