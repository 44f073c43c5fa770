"""What a tool takes: the schema that a model reads, and what the model"
" passes, which is anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..llm_memory.text.dates.expressions import days_named

_SHOWN = 40


class Wrong(Exception):
    """What was passed cannot be used. ``code`` names a text of ``argument``, which ``params`` and
    the parameter's name fill."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


@dataclass(frozen=True, slots=True)
class Parameter:
    """``schema`` is what a model is told in each turn. ``read`` makes of what it passes what the
    tool gets, or raises Wrong; where nothing is passed, it gets ``unset``, which is None for what
    it cannot do without."""

    name: str
    schema: Mapping[str, Any]
    read: Callable[[Any], Any]
    unset: Any
    required: bool = False


def text(name: str, about: str = "", *, limit: int, required: bool = False) -> Parameter:
    """A string of at most ``limit`` characters."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise Wrong("not_text")
        if required and not value.strip():
            raise Wrong("missing")
        if len(value) > limit:
            raise Wrong("too_long", limit=limit)
        return value

    return Parameter(name, _told("string", about), read, None if required else "", required)


def days(name: str, about: str, *, limit: int) -> Parameter:
    """Words that name days, or a date and one more behind two dots."""
    plain = text(name, about, limit=limit)

    def read(value: Any) -> str:
        words: str = plain.read(value).strip()
        if words and not days_named(words, datetime.now(UTC)):
            raise Wrong("not_days", value=words[:_SHOWN])
        return words

    return Parameter(name, plain.schema, read, "")


def number(name: str, about: str, *, low: int, high: int, unset: int = 0) -> Parameter:
    """A whole number between ``low`` and ``high``; digits in a string will do."""

    def read(value: Any) -> int:
        digits = value.strip().removeprefix("-") if isinstance(value, str) else ""
        if digits.isdecimal() and len(digits) < _SHOWN:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Wrong("not_number", low=low, high=high)
        if not low <= value <= high:
            raise Wrong("out_of_range", low=low, high=high)
        return value

    return Parameter(name, _told("integer", about, minimum=low, maximum=high), read, unset)


def words(name: str, about: str, *, most: int, limit: int, lines: bool = False) -> Parameter:
    """A list of short strings; a single string with commas will do. With ``lines`` each is on one
    line, none comes twice, and a single string is one a line, commas and all."""

    def parts(value: str) -> list[str]:
        if lines:
            return value.splitlines()
        return value.replace("，", ",").split(",") if len(value) <= most * limit else [value]

    def read(value: Any) -> tuple[str, ...]:
        given = parts(value) if isinstance(value, str) else value
        if not isinstance(given, list | tuple) or not all(isinstance(v, str) for v in given):
            raise Wrong("not_list")
        tidied = (" ".join(one.split()) if lines else one.strip() for one in given)
        found = [one for one in tidied if one]
        if len(found) > most or any(len(one) > limit for one in found):
            raise Wrong("list_too_long", most=most, limit=limit)
        return tuple(dict.fromkeys(found) if lines else found)

    return Parameter(name, _told("array", about, items={"type": "string"}), read, ())


def choice(
    name: str, about: str, options: Collection[str], *, unset: str = "", required: bool = False
) -> Parameter:
    """One of ``options``."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value.strip().lower() not in options:
            raise Wrong("not_option", options=", ".join(options))
        return value.strip().lower()

    return Parameter(name, _told("string", about, enum=list(options)), read, unset, required)


def flag(name: str, about: str) -> Parameter:
    """True or false; the words will do."""

    def read(value: Any) -> bool:
        if isinstance(value, str) and value.strip().lower() in ("true", "false"):
            return value.strip().lower() == "true"
        if not isinstance(value, bool):
            raise Wrong("not_option", options="true, false")
        return value

    return Parameter(name, _told("boolean", about), read, unset=False)


def _told(kind: str, about: str, **more: object) -> dict[str, object]:
    return {"type": kind, **more, **({"description": about} if about else {})}


def schema_of(parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Returns JSON schema of an object."""
    return {
        "type": "object",
        "properties": {one.name: one.schema for one in parameters},
        "required": [one.name for one in parameters if one.required],
    }


def read_all(parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a value for each parameter. Raises Wrong for the first one that cannot be used, and
    for what is no parameter."""
    values: dict[str, Any] = {}
    for one in parameters:
        values[one.name], passed = one.unset, given.get(one.name)
        if passed is None and one.unset is None:
            raise Wrong("missing", name=one.name)
        if passed is not None:
            try:
                values[one.name] = one.read(passed)
            except Wrong as wrong:
                wrong.params["name"] = one.name
                raise
    unknown = sorted(str(name)[:_SHOWN] for name in given if name not in values)
    if unknown:
        raise Wrong("unknown", name=", ".join(unknown)[:_SHOWN])
    return values
