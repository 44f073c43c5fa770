"""What the tools share: find the living plugin, read arguments, answer ``ok`` or ``error``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from astrbot.api import FunctionTool, logger
from astrbot.core.agent.run_context import ContextWrapper
from astrbot.core.astr_agent_context import AstrAgentContext
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import ENDS, error_text
from ..core.turn.events import Said, TurnNotes, notes_of
from ..llm_memory import EngineClosed

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


@dataclass(frozen=True, slots=True)
class Call:
    """Who calls, and where."""

    plugin: PluginContext
    said: Said
    notes: TurnNotes

    def say(self, code: str, /, **params: object) -> str:
        return self.plugin.texts.say(code, **params)

    def note(self, what: Literal["stored", "forgot", "recalled"], *ids: str) -> None:
        """Note with the turn which memories the tool stored, forgot or showed."""
        self.notes[what] = (*self.notes.get(what, ()), *ids)


class MemoryTool(FunctionTool[AstrAgentContext]):
    """A function as a tool. Its name, its docstring and its parameters behind the ``Call`` are what
    a model reads in each turn; the parameters also read the arguments that the model passes, which
    are anything. Its answer comes behind ``ok``, and what it raises behind ``error``.

    ``source`` is asked for the plugin at every call. Tools pass the conversation's id on; they know
    no scope.
    """

    def __init__(self, answer: Callable[..., Awaitable[str]], source: Any = None) -> None:
        _, *named = inspect.signature(answer, eval_str=True).parameters.values()
        fields: dict[str, Any] = {
            one.name: (one.annotation, ... if one.default is one.empty else one.default)
            for one in named
        }
        takes = create_model(answer.__name__, __config__=_READING, **fields)
        description = "".join(inspect.cleandoc(answer.__doc__ or "").split("\n"))
        super().__init__(answer.__name__, description, _schema(takes))
        self.takes, self._answer = takes, answer
        self._source: Callable[[], Awaitable[PluginContext | None]] = source

    async def call(self, context: ContextWrapper[AstrAgentContext], **given: Any) -> str:
        """Run the tool. It takes whatever the model passes: AstrBot logs a traceback for a missing
        parameter."""
        event, closed = context.context.event, None
        passed = {name: value for name, value in given.items() if value is not None}
        while (plugin := await self._source()) is not closed and plugin is not None:
            texts = plugin.texts
            try:
                said = await plugin.events.read(event)
                if not said.who.spoke:  # no hook has heard of this agent; what it says is kept, too
                    await plugin.service.view(conversation_id=said.where, history=said.history)
                call = Call(plugin, said, notes_of(event))
                return f"ok {await self._answer(call, **dict(self.takes.model_validate(passed)))}"
            except EngineClosed:
                closed = plugin  # nothing was done; a newer plugin may be there
            except ValidationError as error:
                name, why = first_fault(error)
                return f"error {texts.say('outcome.wrong_argument', name=name, why=why)}"
            except Exception as error:  # noqa: BLE001  (the model gets a word, the owner the rest)
                if not isinstance(error, ENDS):
                    logger.exception(texts.say("log.tool_failed", name=self.name))
                return f"error {error_text(texts, error)}"
        return OFF if closed is None else f"error {closed.texts.say('outcome.reloaded')}"


def tool(answer: Callable[..., Awaitable[str]]) -> Callable[..., MemoryTool]:
    """Returns what makes a tool of the function, given a ``source``."""
    return partial(MemoryTool, answer)


def _schema(takes: type[BaseModel]) -> dict[str, Any]:
    """Returns JSON schema of an object, as a model is told it."""

    def told(one: dict[str, Any]) -> dict[str, Any]:
        return {key: told(one[key]) if key == "items" else one[key] for key in _TOLD if key in one}

    whole = takes.model_json_schema()
    properties = {name: told(one) for name, one in whole["properties"].items()}
    return {"type": "object", "properties": properties, "required": whole.get("required", [])}


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Returns which argument cannot be used, or is none, and why."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = "".join(map(str, first["loc"][:1])) or "-"
    return name[:SHOWN], first["msg"].removeprefix("Value error, ")
