"""Port for a host's chat model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer. ``tokens`` are those of prompt and answer together, as the service counted
    them; None if it does not say. ``model`` is who has answered, where the label does not tell."""

    text: str
    tokens: int | None = None
    model: str = ""


class ChatModel(Protocol):
    """``label`` is its name in the status: a provider's id, or ``auto`` for the conversation's
    own."""

    @property
    def label(self) -> str: ...

    def is_there(self, conversation: str) -> bool:
        """Returns whether a call for this conversation (empty: for any) would reach a service
        now."""
        ...

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """Returns one answer, without tools and history. ``conversation`` is a umo, and selects the
        service if the owner configured none. Callers set a deadline.

        Raises ChatFailed for every failure.
        """
        ...
