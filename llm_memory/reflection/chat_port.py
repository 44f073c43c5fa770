"""A chat model that reads finished turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. ``tokens`` are those of prompt and answer together, as the service
    counted them; None where it does not say."""

    text: str
    tokens: int | None = None


class ChatModel(Protocol):
    """A host's chat service."""

    @property
    def label(self) -> str:
        """What the status calls it: a provider's id, or ``auto`` for the conversation's own."""
        ...

    def is_there(self, conversation: str) -> bool:
        """Whether a call for this conversation would reach any service now. Empty: for any."""
        ...

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        """One answer; no tools, no history. ``conversation`` is a umo, and chooses the service
        where the owner named none.

        Raises ChatFailed, whatever went wrong; it may take as long as the service does, so callers
        bring their own deadline.
        """
        ...
