"""Port for the chat model that answers probes and judges the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a model answered. ``tokens`` were booked on the day's budget for it; ``model`` is which
    one it was, empty where the label tells."""

    text: str
    tokens: int
    model: str = ""


class SoulModel(Protocol):
    """The model that reads finished turns, within the same day's tokens."""

    @property
    def label(self) -> str:
        """Returns the model's name, empty where the owner wants none."""
        ...

    def is_there(self, conversation: str) -> bool:
        """Returns whether a call for this conversation would reach a service now."""
        ...

    async def affords(self, prompt: str, *, system: str) -> bool:
        """Returns whether today's tokens suffice for this call. Raises StateUnavailable."""
        ...

    async def ask(self, prompt: str, *, system: str, conversation: str) -> ProbeAnswer:
        """Returns one answer, without history. Books it, a failed one as well.

        Raises ChatFailed, StateUnavailable.
        """
        ...


def reachable(model: SoulModel | None, conversation: str) -> SoulModel | None:
    """Returns the model if the owner wants one, and it can be asked now."""
    if model is None or not model.label or not model.is_there(conversation):
        return None
    return model
