"""The port SoulModel, over the calls of the model that reads turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..errors import ChatFailed
from ..models.loop import Resting
from ..reflection.model_calls import ModelCalls
from ..reflection.rules.prompt import Prompt
from ..runtime.lifecycle import Lifespan
from ..soul.model_port import ProbeAnswer


@dataclass(eq=False)
class SoulCalls:
    """The same service, day's tokens and deadline as reading has. Its calls do not count as the
    night's, and a close waits for none."""

    _model_calls: ModelCalls
    _life: Lifespan

    @property
    def label(self) -> str:
        """Returns the model's label, empty where no model reads turns."""
        return self._model_calls.label

    def is_there(self, conversation: str) -> bool:
        """Returns whether a call for this conversation would reach a service now."""
        return self._model_calls.unavailable_reason(conversation) is Resting.NO

    async def affords(self, prompt: str, *, system: str) -> bool:
        """Returns whether today's tokens suffice for this call. Raises StateUnavailable."""
        return await self._model_calls.affords(Prompt(system, prompt))

    async def ask(self, prompt: str, *, system: str, conversation: str) -> ProbeAnswer:
        """Returns one answer. Raises ChatFailed, StateUnavailable."""
        complete = partial(
            self._model_calls.complete,
            Prompt(system, prompt),
            conversation=conversation,
            night=False,
        )
        completion = await self._life.unless_closing(complete)
        if completion is None:
            raise ChatFailed("closing")
        return ProbeAnswer(completion.text, completion.tokens or 0, completion.model)
