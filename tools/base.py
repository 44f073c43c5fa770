"""What the tools share: find the living plugin, check arguments, answer ``ok`` or ``error``."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from typing import Any, ClassVar

from astrbot.api import FunctionTool, logger
from astrbot.api.event import AstrMessageEvent
from astrbot.core.agent.run_context import ContextWrapper
from astrbot.core.astr_agent_context import AstrAgentContext
from pydantic import Field
from pydantic.dataclasses import dataclass

from ..core.plugin_context import PluginContext
from ..core.replies.outcome_text import error_text
from ..core.turn.events import Said, notes_of
from ..llm_memory import CognitiveService, ConversationId, EngineClosed, ScopedMemoryError
from .arguments import Arguments, Wrong

_POINTED = re.compile(r"#([mn]-[0-9a-z]+)\]")
OFF = "error 记忆插件没有在运行，请稍后再试 / memory is not running, try again later"


@plain_dataclass(frozen=True, slots=True)
class Call:
    """Who calls, and where. ``stored`` and ``forgot`` are for the ids of what the tool stores,
    forgets."""

    plugin: PluginContext
    said: Said
    stored: list[str] = field(default_factory=list)
    forgot: list[str] = field(default_factory=list)

    @property
    def service(self) -> CognitiveService:
        return self.plugin.service

    @property
    def where(self) -> ConversationId:
        return self.said.where

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
    takes: ClassVar[type[Arguments]] = Arguments
    shows_memories: ClassVar[bool] = False
    """Whether the answer holds memories, each behind its pointer in brackets."""
    answer: ClassVar[Callable[..., Awaitable[str]]]
    """A method: what the tool does for a ``Call``, with what it ``takes`` by name. Tools pass the
    conversation's id on; they know no scope. Raises Wrong."""

    def __post_init__(self) -> None:
        self.parameters = self.takes.schema_told()

    async def call(self, context: ContextWrapper[AstrAgentContext], **given: Any) -> str:
        """Run the tool. The first word of the answer is ``ok`` or ``error``."""
        source: Callable[[], Awaitable[PluginContext | None]] = self.source
        closed: PluginContext | None = None
        while (plugin := await source()) is not closed and plugin is not None:
            say = plugin.texts.say
            try:
                return await self._run(plugin, context.context.event, given)
            except EngineClosed:
                closed = plugin  # nothing was done; a newer plugin may be there
            except Wrong as wrong:
                return f"error {say('outcome.wrong_argument', name=wrong.name, why=wrong.why)}"
            except ScopedMemoryError as error:
                return f"error {error_text(plugin.texts, error)}"
            except Exception as error:  # noqa: BLE001  (the model gets a word, the owner the rest)
                logger.exception(say("log.tool_failed", name=self.name))
                return f"error {say('outcome.failed', detail=type(error).__name__)}"
        return OFF if closed is None else f"error {closed.texts.say('outcome.reloaded')}"

    async def _run(
        self, plugin: PluginContext, event: AstrMessageEvent, given: dict[str, Any]
    ) -> str:
        said, notes = await plugin.events.read(event), notes_of(event)
        if not said.who.spoke:  # no hook has heard of this agent, and what it says is kept, too
            await plugin.service.view(conversation_id=said.where, history=said.history.cid)
        call = Call(plugin, said)
        answer = await self.answer(call, **self.takes.read(given))
        notes["stored"] = (*notes.get("stored", ()), *call.stored)
        notes["forgot"] = (*notes.get("forgot", ()), *call.forgot)
        if self.shows_memories:
            notes["recalled"] = (*notes.get("recalled", ()), *_POINTED.findall(answer))
        return answer
