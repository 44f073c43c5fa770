"""What the tools share: find the living plugin, read arguments, answer ``ok`` or ``error``.

A tool's schema, which a model reads in each turn, and what reads the arguments that the model
passes, which are anything, are both made of the parameters of its ``answer``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass as plain_dataclass
from typing import Any, ClassVar, Literal

from astrbot.api import FunctionTool, logger
from astrbot.core.agent.run_context import ContextWrapper
from astrbot.core.astr_agent_context import AstrAgentContext
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import error_text
from ..core.turn.events import Said, TurnNotes, notes_of
from ..llm_memory import EngineClosed, ScopedMemoryError

OFF = "error 记忆插件没有在运行，请稍后再试 / memory is not running, try again later"
_TOLD = ("type", "enum", "minimum", "maximum", "items", "description")
"""What a model is told of a parameter. The rest costs tokens in each turn, and AstrBot time."""
SHOWN = 40
"""Characters of what was passed that an error repeats."""
ANY_CASE = BeforeValidator(lambda value: value.strip().lower() if isinstance(value, str) else value)
_READING = ConfigDict(extra="forbid", str_strip_whitespace=True)


def listed(between: str) -> BeforeValidator:
    """A single text, parted by this pattern, will do for a list: each on one line, none twice."""

    def read(value: Any) -> Any:
        given = re.split(between, value) if isinstance(value, str) else value
        if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
            return given
        return list(dict.fromkeys(filter(None, (" ".join(one.split()) for one in given))))

    return BeforeValidator(read)


def _schema(takes: type[BaseModel]) -> dict[str, Any]:
    """Returns JSON schema of an object, as a model is told it."""

    def told(one: dict[str, Any]) -> dict[str, Any]:
        return {key: told(one[key]) if key == "items" else one[key] for key in _TOLD if key in one}

    whole = takes.model_json_schema()
    properties = {name: told(one) for name, one in whole["properties"].items()}
    return {"type": "object", "properties": properties, "required": whole.get("required", [])}


@plain_dataclass(frozen=True, slots=True)
class Call:
    """Who calls, and where."""

    plugin: PluginContext
    said: Said
    notes: TurnNotes

    def note(self, what: Literal["stored", "forgot", "recalled"], *ids: str) -> None:
        """Note with the turn which memories the tool stored, forgot or showed."""
        self.notes[what] = (*self.notes.get(what, ()), *ids)

    def ok(self, code: str, /, **params: object) -> str:
        return f"ok {self.plugin.texts.say(code, **params)}"

    def error(self, code: str, /, **params: object) -> str:
        return f"error {self.plugin.texts.say(code, **params)}"


@dataclass
class MemoryTool(FunctionTool[AstrAgentContext]):
    """A tool that asks ``source`` for the plugin at every call.

    The call takes whatever the model passes: AstrBot logs a traceback for a missing parameter.
    """

    name: str = ""
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    source: Any = None
    takes: ClassVar[type[BaseModel]]
    answer: ClassVar[Callable[..., Awaitable[str]]]
    """A method: what the tool does for a ``Call``, with its arguments by name. Tools pass the
    conversation's id on; they know no scope."""

    def __init_subclass__(cls) -> None:
        _, _, *named = inspect.signature(cls.answer, eval_str=True).parameters.values()
        fields: dict[str, Any] = {
            one.name: (one.annotation, ... if one.default is one.empty else one.default)
            for one in named
        }
        cls.takes = create_model(cls.__name__, __config__=_READING, **fields)

    def __post_init__(self) -> None:
        self.parameters = _schema(self.takes)

    async def call(self, context: ContextWrapper[AstrAgentContext], **given: Any) -> str:
        """Run the tool. The first word of the answer is ``ok`` or ``error``."""
        source: Callable[[], Awaitable[PluginContext | None]] = self.source
        event, closed = context.context.event, None
        passed = {name: value for name, value in given.items() if value is not None}
        while (plugin := await source()) is not closed and plugin is not None:
            texts = plugin.texts
            try:
                said = await plugin.events.read(event)
                if not said.who.spoke:  # no hook has heard of this agent; what it says is kept, too
                    await plugin.service.view(conversation_id=said.where, history=said.history)
                call = Call(plugin, said, notes_of(event))
                return await self.answer(call, **dict(self.takes.model_validate(passed)))
            except EngineClosed:
                closed = plugin  # nothing was done; a newer plugin may be there
            except ValidationError as error:
                name, why = first_fault(error)
                return f"error {texts.say('outcome.wrong_argument', name=name, why=why)}"
            except Exception as error:  # noqa: BLE001  (the model gets a word, the owner the rest)
                if not isinstance(error, ScopedMemoryError):
                    logger.exception(texts.say("log.tool_failed", name=self.name))
                return f"error {error_text(texts, error)}"
        return OFF if closed is None else f"error {closed.texts.say('outcome.reloaded')}"


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Returns which argument cannot be used, or is none, and why."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = "".join(map(str, first["loc"][:1])) or "-"
    return name[:SHOWN], first["msg"].removeprefix("Value error, ")
