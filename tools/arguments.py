"""What a tool takes: the schema that a model reads in each turn, and what the model passes, which
is anything. Both are made of one class a tool."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from ..llm_memory.text.dates.expressions import days_named

_TOLD = ("type", "enum", "minimum", "maximum", "items", "description")
"""What a model is told of a parameter. The rest costs tokens in each turn, and AstrBot time."""
_SHOWN = 40


class Wrong(Exception):
    """What was passed cannot be used: ``name`` is the parameter's, ``why`` is for the model."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name
        self.why = why


class Arguments(BaseModel):
    """A tool's arguments. What is null was not passed."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    @model_validator(mode="before")
    @classmethod
    def _passed(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def schema_told(cls) -> dict[str, Any]:
        """Returns JSON schema of an object."""
        whole = cls.model_json_schema()
        told = {
            name: {key: _plain(key, one[key]) for key in _TOLD if key in one}
            for name, one in whole["properties"].items()
        }
        return {"type": "object", "properties": told, "required": whole.get("required", [])}

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a value for each parameter. Raises Wrong for the first one that cannot be used,
        and for what is no parameter."""
        try:
            return dict(cls.model_validate(given))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = str(first["loc"][0]) if first["loc"] else "-"
            raise Wrong(name[:_SHOWN], first["msg"].removeprefix("Value error, ")) from error


def _plain(key: str, value: Any) -> Any:
    return {"type": value["type"]} if key == "items" else value


def _any_case(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _words(value: Any) -> Any:
    given = value.replace("，", ",").split(",") if isinstance(value, str) else value
    return list(filter(None, given)) if isinstance(given, list | tuple) else given


def _lines(value: Any) -> Any:
    given = value.splitlines() if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        return given
    return list(dict.fromkeys(filter(None, (" ".join(one.split()) for one in given))))


def _days(text: str) -> str:
    if text and not days_named(text, datetime.now(UTC)):
        raise ValueError(f"it names no days: {text[:_SHOWN]}")
    return text


ANY_CASE = BeforeValidator(_any_case)
WORDS = BeforeValidator(_words)
"""A single text with commas will do for a list."""
LINES = BeforeValidator(_lines)
"""Each on one line, none twice; a single text is one a line, commas and all."""
Days = Annotated[str, AfterValidator(_days), Field(max_length=100)]
