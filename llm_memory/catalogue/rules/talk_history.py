"""Turns of a chat history as AstrBot keeps it: a JSON list of the model's messages. Pure.

A message has neither an id nor a time. So a turn is named by the id of its history and a digest of
what the person said, ``<history id>#<12 hex>``; AstrBot may have written the time into the turn,
as a reminder for the model. Tools, reminders, thinking and recalled memories are no part of a turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from ...text.normalising import content_hash, one_line
from ...text.scripts import fold
from ...text.turn_text import spoken

_ANCHOR: Final = re.compile(r"([\w.:@-]{1,64})#([0-9a-f]{12})", re.ASCII)
_DIGITS: Final = 12
_REMINDER: Final = re.compile(r"<system_reminder>.*?(?:</system_reminder>|\Z)", re.DOTALL)
_TIME: Final = re.compile(r"Current datetime: (\d{4}-\d\d-\d\d \d\d:\d\d)")
_SUMMARY: Final = "Our previous history conversation summary:"
"""Begins what AstrBot writes in a person's name where it shortens a history."""
_BEFORE: Final = timedelta(minutes=10)
"""A turn may take so long until something of it is stored."""
_AFTER: Final = timedelta(minutes=2)
_CLOSE: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """What a person said, and what the bot answered.

    ``at``: the local time that AstrBot has noted, without a zone; None for none.
    """

    said: str
    replied: str = ""
    at: datetime | None = None


def anchor(history_id: str, words: str) -> str:
    """Names the turn in which a person said ``words``; empty where it cannot be named."""
    digest = _digest(words)
    named = f"{history_id}#{digest}"
    return named if digest and _ANCHOR.fullmatch(named) else ""


def parsed_anchor(text: str) -> tuple[str, str] | None:
    """Returns the history's id and the digest, None for what is no anchor."""
    found = _ANCHOR.fullmatch(text)
    return (found[1], found[2]) if found else None


def turns_of(history: str) -> list[TalkTurn]:
    """Returns the turns of a history, the earliest first; none for what is no history."""
    try:
        messages = json.loads(history)
    except (ValueError, RecursionError):
        return []
    said: list[tuple[list[str], list[str]]] = []
    for message in messages if isinstance(messages, list) else ():
        role = message.get("role") if isinstance(message, dict) else None
        if role == "user":
            said.append((_texts(message.get("content")), []))
        elif role == "assistant" and said:
            said[-1][1].extend(map(spoken, _texts(message.get("content"))))
    turns = [_turn(texts, "\n".join(filter(None, replies))) for texts, replies in said]
    return [turn for turn in turns if turn.said and not turn.said.startswith(_SUMMARY)]


def find_turn(turns: Sequence[TalkTurn], digest: str, at: datetime | None) -> int | None:
    """Returns the index of the turn with this digest, or else of the only one of that time.

    Another person's talk is worse than none: where several turns may be meant, none is found.
    ``at``: the local time when it was said, without a zone.
    """
    same = [n for n, turn in enumerate(turns) if _digest(turn.said) == digest]
    fitting = [n for n in same if _fits(turns[n].at, at)]
    if len(fitting) > 1 and at is not None:
        fitting = [n for n in fitting if turns[n].at is not None and _is_close(turns[n].at, at)]
    if not same:
        fitting = [n for n, turn in enumerate(turns) if _is_close(turn.at, at)]
    return fitting[0] if len(fitting) == 1 else None


def _digest(words: str) -> str:
    said = one_line(fold(spoken(words)))
    return content_hash(said)[:_DIGITS] if said else ""


def _fits(noted: datetime | None, at: datetime | None) -> bool:
    return noted is None or at is None or -_AFTER <= at - noted <= _BEFORE


def _is_close(noted: datetime | None, at: datetime | None) -> bool:
    return noted is not None and at is not None and abs(at - noted) <= _CLOSE


def _texts(content: Any) -> list[str]:
    """Returns the texts of a message's content."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return [text for text in texts if isinstance(text, str)]


def _turn(texts: Sequence[str], replied: str) -> TalkTurn:
    """The person's words come first; AstrBot's own parts follow."""
    noted = next(filter(None, map(_TIME.search, texts)), None)
    said = spoken(_REMINDER.sub(" ", texts[0])) if texts else ""
    return TalkTurn(said, replied, _time(noted[1]) if noted else None)


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # 25:61
        return None
