"""What becomes of old memories, in words: for the log and for commands."""

from __future__ import annotations

from ...llm_memory import Tally
from ..texts import Texts


def numbers_text(texts: Texts, tally: Tally, remaining: int) -> str:
    """How many came to which end; of what there is none, nothing is said."""
    ends = {
        "patched": tally.patched,
        "skipped": tally.skipped,
        "adopted": tally.adopted,
        "merged": tally.merged,
        "quarantined": tally.quarantined,
        "broken": tally.broken,
        "remaining": remaining,
    }
    said = [texts.say("migrate.scanned", count=tally.scanned)]
    said += [texts.say(f"migrate.{end}", count=count) for end, count in ends.items() if count]
    return texts.say("private.and").join(said)


def cause_text(texts: Texts, code: str) -> str:
    """Why it does not get on just now."""
    for group in ("cause", "migrate_cause"):
        if texts.knows(f"{group}.{code}"):
            return texts.say(f"{group}.{code}")
    return code
