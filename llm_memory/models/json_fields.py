"""The fields of a JSON object, each checked for its type; and which moments are taken from files,
people and models. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final


class BadField(ValueError):
    """A field is missing, or its value is none that it can have. ``name`` is the field's."""

    def __init__(self, name: str, *, missing: bool = False) -> None:
        super().__init__(f"{name}: {'missing' if missing else 'wrong value'}")
        self.name = name
        self.missing = missing


class JsonFields:
    """Takes fields one by one. Null is as good as nothing. Every method raises BadField."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def has(self, name: str) -> bool:
        """True if the object says it."""
        return self._fields.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        return self._typed(name, str, default)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        return self._typed(name, bool, default)

    def number(
        self, name: str, default: int | None = None, *, low: int, high: int = 1 << 63
    ) -> int:
        """A whole number within bounds; without a default it must be there."""
        value = self._typed(name, int, default)
        if isinstance(value, bool) or not low <= value <= high:
            raise BadField(name)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, empty where there is none."""
        values = self._typed(name, list, [])
        if not all(isinstance(value, str) for value in values):
            raise BadField(name)
        return tuple(values)

    def time(self, name: str, default: datetime) -> datetime:
        """A plausible moment in ISO 8601 with its time zone."""
        if not self.has(name):
            return default
        moment = moment_in(self.text(name))
        if moment is None:
            raise BadField(name)
        return moment

    def option[E: StrEnum](self, name: str, default: E) -> E:
        """A member of the default's enumeration, by its value."""
        value = self.text(name, default.value)
        try:
            return type(default)(value)
        except ValueError as error:
            raise BadField(name) from error

    def _typed[T](self, name: str, kind: type[T], default: T | None) -> T:
        if not self.has(name):
            if default is None:
                raise BadField(name, missing=True)
            return default
        value = self._fields[name]
        if not isinstance(value, kind):
            raise BadField(name)
        return value


_YEARS: Final = range(1900, 2200)


def is_plausible(day: date) -> bool:
    """Whether something can be of that day; days and moments of other years are not taken."""
    return day.year in _YEARS


def moment_in(text: str) -> datetime | None:
    """The plausible moment in ISO 8601 with its time zone, None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and is_plausible(moment) else None


def day_in(moment: datetime, zone: tzinfo | None) -> date:
    """The day of a moment in a zone; its own where the calendar ends."""
    try:
        return (moment if zone is None else moment.astimezone(zone)).date()
    except OverflowError:
        return moment.date()
