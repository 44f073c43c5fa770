"""What a memory says of those whose place it took, in the last line of its reasons. Pure."""

from __future__ import annotations

import re

from ...models.data_models import Memory, Source

_ID = "m-[0-9a-z]{4,32}"
_LINE = re.compile(f"(?:取代|合并自) ({_ID}(?:、{_ID})*)")


def replacing(reasoning: str, old_id: str) -> str:
    """The reasons of one that stands in the place of another."""
    return f"{reasoning}\n取代 {old_id}".strip()


def claiming_nothing(reasoning: str) -> str:
    """What a reader gives as reasons, without lines that say whose place it took: that is told by
    what was done."""
    lines = reasoning.splitlines()
    return "\n".join(line for line in lines if not _LINE.fullmatch(line.strip())).strip()


def predecessors(memory: Memory) -> tuple[str, ...]:
    """Those whose place it took, as far as it was learned from what was said."""
    found = _LINE.fullmatch(memory.reasoning.rpartition("\n")[2].strip())
    if found is None or memory.provenance.source is not Source.REFLECTION:
        return ()
    return tuple(found[1].split("、"))
