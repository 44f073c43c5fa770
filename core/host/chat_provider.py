"""AstrBot's chat providers as the engine's reader of finished turns."""

from __future__ import annotations

import re
from typing import Any

from ...llm_memory.errors import ChatFailed
from ...llm_memory.reflection.chat_port import Completion
from ..config import PluginConfig
from .providers import loaded_provider

AUTO = "auto"
_CHAT = "chat_completion"
"""AstrBot's ``ProviderType.CHAT_COMPLETION``."""
_STATUS = re.compile(r"(?<!\d)(?:4\d\d|5\d\d)(?!\d)")
_REFUSED = "429"
_EMPTY = "EmptyModelOutputError"


class AstrBotChat:
    """For the port ChatModel: the conversation's own model, or the one that the setting names.

    Looked up at every call: providers come after plugins, and a reload replaces the object, or
    takes it away. One that is named is never replaced by another, for that would be paid, too.
    No hook fires, no history is read or written, and AstrBot does not try a failed call again:
    how often is asked is up to the caller.
    """

    def __init__(self, context: Any, provider_id: str) -> None:
        self._context = context
        self.label = provider_id

    def is_there(self, conversation: str) -> bool:
        if self.label != AUTO:
            return loaded_provider(self._context, self.label, _CHAT) is not None
        if not self._context.provider_manager.provider_insts:
            return False
        return not conversation or answers_itself(self._context, conversation)

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        if not self.is_there(conversation):
            raise ChatFailed("gone")
        try:
            chosen = self.label
            if chosen == AUTO:
                chosen = await self._context.get_current_chat_provider_id(umo=conversation)
            response = await self._context.llm_generate(
                chat_provider_id=chosen,
                prompt=prompt,
                system_prompt=system,
                request_max_retries=1,
            )
        except Exception as error:
            raise _translated(error) from error
        if response.role == "err":
            raise ChatFailed("failed: err")
        usage = response.usage
        tokens = usage.total if usage is not None else None
        return Completion(response.completion_text or "", tokens, model=chosen)


def answers_itself(context: Any, umo: str) -> bool:
    """Returns True where a model of AstrBot answers. A third-party runner has a model of its own,
    and gets the prompt and nothing beside it."""
    runner = context.get_config(umo=umo).get("agent_runner") or {}
    return bool(runner.get("runner_type", "local") == "local")


def choose_chat(context: Any, config: PluginConfig) -> AstrBotChat | None:
    """The model that reads turns, loaded or not; None where the owner has switched reading off."""
    if not config.engine.loop.reads_turns:
        return None
    return AstrBotChat(context, config.reflection_provider)


def _translated(error: Exception) -> ChatFailed:
    """By kind and number alone: a service's own words may quote a key, or what was asked."""
    kind = type(error).__name__
    found = _STATUS.search(str(error))
    status = found[0] if found else ""
    if kind == _EMPTY:
        return ChatFailed("empty")
    if isinstance(error, TimeoutError) or "Timeout" in kind:
        return ChatFailed(f"timeout: {kind}")
    code = "refused" if status == _REFUSED else "failed"
    return ChatFailed(f"{code}: {kind} {status}".rstrip())
