"""What becomes of old memories, in words: for the log and for commands."""

from __future__ import annotations

from ...llm_memory import Tally
from ...llm_memory.texts import Texts


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


def cause_text(texts: Texts, code: str) -> str:
    """Why it does not get on just now."""
    for group in ("cause", "migrate_cause"):
        if texts.knows(f"{group}.{code}"):
            return texts.say(f"{group}.{code}")
    return code
