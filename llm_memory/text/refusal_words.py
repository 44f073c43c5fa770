"""Why something was not stored: for a person in chat or at the command line, and for an agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..models.data_models import Refused
from ..models.transfer import RefusedLine
from ..texts import Said
from .safe_text import cut, safe

_DETAIL: Final = 200
"""Characters of what the disk said, say."""


def refusal_words(rejected: Refused) -> Said:
    """Returns why nothing was stored. What fills it in is safe to show."""
    why: Said | str = ""
    if rejected.why is not None:
        key, value = safe(rejected.why.key), safe(rejected.why.value)
        why = Said(f"why.{rejected.why.code}", key=key, value=value)
    against = tuple(
        Said("objection.quoted", why=Said(f"objection.{reason}"), words=safe(words))
        for reason, words in rejected.objections
    )
    return Said(
        f"reject.{rejected.reason}",
        why=why,
        detail=cut(rejected.detail, _DETAIL),
        private=private_words(rejected.private),
        against=against,
    )


def line_words(line: RefusedLine) -> Said:
    """Returns which line of a file was refused, and why."""
    fault = Said(f"line_fault.{line.fault}", detail=cut(line.detail, _DETAIL))
    why = refusal_words(line.rejected) if line.rejected else fault
    return Said("transfer.line", line=line.number, why=why)


def private_words(kinds: Sequence[str]) -> tuple[Said, ...]:
    """Returns the names of kinds of private things."""
    return tuple(Said(f"private.{kind}") for kind in kinds)
