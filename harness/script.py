"""What the scripted model answers: rules over the user's own words, and a view of a request."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

type JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of the model; `arguments` as text is sent as it is, valid JSON or not."""

    name: str
    arguments: Mapping[str, object] | str


def call(name: str, arguments: Mapping[str, object] | str) -> ToolCall:
    return ToolCall(name, arguments)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One logged chat request, with the parts that tests ask about."""

    body: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        messages: list[JsonObject] = self.body.get("messages", [])
        return messages

    @property
    def system(self) -> str:
        """The system prompt, byte for byte."""
        return "\n".join("\n".join(_texts(m)) for m in self.messages if m.get("role") == "system")

    @property
    def turn(self) -> list[JsonObject]:
        """The last user message and what follows it (tool calls and results)."""
        for index in range(len(self.messages) - 1, -1, -1):
            if self.messages[index].get("role") == "user":
                return self.messages[index:]
        return []

    @property
    def user_parts(self) -> list[str]:
        return _texts(self.turn[0]) if self.turn else []

    @property
    def user_text(self) -> str:
        """The user's own words: the first text part."""
        return self.user_parts[0] if self.user_parts else ""

    @property
    def injected(self) -> list[str]:
        """The text parts that somebody added behind the user's words."""
        return self.user_parts[1:]

    @property
    def tool_results(self) -> list[str]:
        """Results of this turn's tools so far."""
        return ["\n".join(_texts(m)) for m in self.turn if m.get("role") == "tool"]

    @property
    def tool_rounds(self) -> int:
        """How many times the model has called tools in this turn so far."""
        return sum(1 for m in self.turn if m.get("role") == "assistant" and m.get("tool_calls"))

    @property
    def tool_names(self) -> set[str]:
        return {tool["function"]["name"] for tool in self.body.get("tools") or []}

    def id_of(self, words: str) -> str:
        """The memory whose line contains `words`, where memories are shown to a reader of turns."""
        line = next(line for line in self.everything.splitlines() if words in line and "m-" in line)
        found = re.search(r"\bm-[0-9a-z]{16,}", line)
        assert found is not None, line
        return found[0]

    @property
    def everything(self) -> str:
        """All message texts and tool arguments in one string, for "appears nowhere" checks."""
        pieces: list[str] = []
        for message in self.messages:
            pieces += _texts(message)
            pieces += [c["function"]["arguments"] for c in message.get("tool_calls") or []]
        return "\n".join(pieces)


@dataclass(frozen=True, slots=True)
class Failure:
    """The service answers with this status, and with no words of a model."""

    status: int


type Answer = str | Callable[[ModelRequest], str]
type Reading = JsonObject | Failure | Callable[[ModelRequest], JsonObject | str]

_READER = "整理长期记忆"
"""How the memory's own calls begin their system prompt: no person talks in them."""


def is_reading(request: ModelRequest) -> bool:
    """Whether the memory asks what turns teach; else it is a turn of a chat."""
    return _READER in request.system


@dataclass(frozen=True, slots=True)
class Rule:
    """If the user's words contain `contains`: one round of calls after the other, then `then`."""

    contains: str
    rounds: tuple[tuple[ToolCall, ...], ...]
    then: Answer

    def answer(self, request: ModelRequest) -> tuple[ToolCall, ...] | str:
        if request.tool_rounds < len(self.rounds):
            return self.rounds[request.tool_rounds]
        return self.then if isinstance(self.then, str) else self.then(request)


@dataclass(slots=True)
class Script:
    """Rules, the newest first; without one, a short echo, and for readers that nothing is new."""

    rules: list[Rule] = field(default_factory=list)
    readings: list[tuple[str, Reading]] = field(default_factory=list)

    def read(self, request: ModelRequest) -> str | Failure:
        text = request.everything
        for index, (words, reply) in enumerate(self.readings):
            if words in text:
                del self.readings[index]
                said = reply(request) if callable(reply) else reply
                if isinstance(said, str | Failure):
                    return said
                return json.dumps(said, ensure_ascii=False)
        return "{}"

    def answer(self, request: ModelRequest) -> tuple[ToolCall, ...] | str:
        for rule in self.rules:
            if rule.contains in request.user_text:
                return rule.answer(request)
        return f"收到：{request.user_text[:40]}"


def _texts(message: JsonObject) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [str(part.get("text", "")) for part in content if part.get("type") == "text"]
    return []
