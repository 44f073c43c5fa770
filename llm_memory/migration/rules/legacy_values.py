"""Reading single values of other plugins' records: whatever stands there, there is an answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ...models.data_models import MAX_STRENGTH, MIN_STRENGTH, MemoryKind
from ...vault.rules.encodings import Encoding, likely_encoding

_SURROGATES = re.compile("[\ud800-\udfff]")
_NOT_ON_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff·]")
_LATEST = 253_402_300_799.0
"""The last second that a calendar of four digits has."""
_FIRST_YEAR = 2000
"""What is older was no chat, but a number that means something else."""
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
"""Below which number it counts which part of a second: seconds, milli-, micro-, nanoseconds."""
_ENGLISH = {
    "knowledge": MemoryKind.KNOWLEDGE,
    "event": MemoryKind.EVENT,
    "skill": MemoryKind.SKILL,
    "task": MemoryKind.TASK,
    "emotional": MemoryKind.EMOTIONAL,
    "emotion": MemoryKind.EMOTIONAL,
}
_KINDS = {kind.value: kind for kind in MemoryKind} | {
    kind.value.removesuffix("记忆"): kind for kind in MemoryKind
}
_TRUE = frozenset({"true", "1", "yes", "是"})
_FALSE = frozenset({"false", "0", "no", "否"})
_PLAIN = re.compile(r"[\w.:/@-]+")


def read_text(value: object) -> str:
    """A text; empty for what is none. Bytes that are no UTF-8 stand in it as lone surrogates, as
    Python's ``surrogateescape`` puts them there: they are read as what Chinese Windows writes, else
    each becomes U+FFFD."""
    if not isinstance(value, str):
        return ""
    if not _SURROGATES.search(value):
        return value
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # halves of pairs that stood there as such
        return _SURROGATES.sub("\ufffd", value)
    if likely_encoding(raw) is Encoding.GB18030:
        return raw.decode("gb18030", "replace")
    return raw.decode("utf-8", "replace")


def read_moment(value: object, now: datetime) -> datetime | None:
    """When something was, from seconds, milliseconds or a date; a moment to come is ``now``.

    None for what tells no time. ``now`` is aware, and its zone is that of a date without one.
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            return read_moment(float(text), now)
        except ValueError:
            pass
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        moment = moment.replace(tzinfo=now.tzinfo) if moment.tzinfo is None else moment
        return _within(moment, now)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number) or number <= 0:
        return None
    seconds = next((number / part for below, part in _UNITS if number < below), _LATEST)
    return _within(datetime.fromtimestamp(min(seconds, _LATEST), UTC).astimezone(now.tzinfo), now)


def _within(moment: datetime, now: datetime) -> datetime | None:
    """On whole seconds, not to come, and of a year that survives a change of zone."""
    try:
        early = moment.astimezone(UTC) > now
    except (OverflowError, ValueError):
        return None
    if moment.year < _FIRST_YEAR:
        return None
    return (now if early else moment).replace(microsecond=0)


def read_strength(value: object) -> int | None:
    """From 1 to 100; None for what is no number."""
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return min(max(int(value), MIN_STRENGTH), MAX_STRENGTH)


def read_flag(value: object) -> bool | None:
    """Yes or no; None for what is neither."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold() if isinstance(value, str | int | float) else ""
    if word in _TRUE or word == "1.0":
        return True
    return False if word in _FALSE or word == "0.0" else None


def read_tags(value: object) -> tuple[str, ...]:
    """From a text with commas, or a list; each once."""
    if isinstance(value, str):
        parts: Iterable[object] = re.split("[,，]", read_text(value))
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return ()
    tags = (read_text(part).strip() for part in parts)
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def read_kind(value: object) -> MemoryKind | None:
    """By its Chinese or English name; None for another."""
    name = read_text(value).strip()
    english = name.casefold().removesuffix("memory").strip("_ ")
    return _KINDS.get(name) or _ENGLISH.get(english)


def is_empty(value: object) -> bool:
    """True for what says nothing: no need to keep it."""
    if isinstance(value, str):
        return value.strip() in ("", "{}", "[]", "null")
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return value == 0
    return not value


def as_piece(name: str, value: object) -> str:
    """``名：value`` for an entry's metadata, on one line, so that nothing in it forges a field.

    What is no plain word is JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_ON_A_LINE.search(value):
        return f"{name}：{value}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return f"{name}：{_NOT_ON_A_LINE.sub(lambda match: f'\\u{ord(match[0]):04x}', text)}"
