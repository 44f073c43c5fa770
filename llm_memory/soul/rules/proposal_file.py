"""A proposal as a file: lines ``key: value``, a blank line, the whole new text exactly. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, get_args

from ...models.soul import SoulOrigin, SoulProposal

_ORIGINS: Final[Mapping[str, SoulOrigin]] = {one: one for one in get_args(SoulOrigin)}


def proposal_bytes(proposal: SoulProposal) -> bytes:
    """Returns the file. Raises UnicodeEncodeError for half a surrogate pair."""
    front = {
        "number": proposal.number,
        "base": proposal.base,
        "base_sha256": proposal.base_sha256,
        "author": proposal.author,
        "origin": proposal.origin,
        "aim": proposal.aim,
        "reason": "",  # a line of the format that nothing fills
        "at": proposal.at.isoformat(),
    }
    lines = "".join(f"{key}: {one_line(str(value))}\n" for key, value in front.items())
    return f"{lines}\n{proposal.text}".encode()


def one_line(text: str) -> str:
    """Returns a text as it can stand behind its key."""
    return " ".join(text.split())


def proposal_of(raw: bytes) -> SoulProposal | None:
    """Returns the proposal of such a file, None for anything else."""
    try:
        front, text = raw.decode().split("\n\n", 1)
        values = dict(line.split(": ", 1) for line in front.split("\n"))
        return SoulProposal(
            int(values["base"]),
            _ORIGINS[values["origin"]],
            text,
            values["aim"],
            int(values["number"]),
            values["base_sha256"],
            values["author"],
            datetime.fromisoformat(values["at"]),
        )
    except (KeyError, ValueError):
        return None
