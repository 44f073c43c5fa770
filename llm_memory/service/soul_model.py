"""The model that tries a counted rule: the one that reads turns, within the same day's tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ..errors import ChatFailed
from ..reflection.chat_port import Completion
from ..reflection.model import Model
from ..reflection.rules.forgiving_json import Unreadable, without_thoughts
from ..reflection.rules.prompt import Prompt
from ..runtime.lifecycle import Lifespan
from ..soul.evaluation import ProbeAnswer, Reads


class _Probing(Prompt):
    """What the persona is asked is asked again as it was."""

    def again(self, reply: str, reason: str) -> Prompt:
        return self


@dataclass(eq=False)
class ProbedByReader:
    """The port ProbedModel. A close waits for none of its calls."""

    _model: Model
    _life: Lifespan
    _conversation: str

    async def affords(self, text: str) -> bool:
        asked = Prompt(text, "")
        why = await self._model.resting(asked, conversation=self._conversation, purpose="soul")
        return why != "budget"

    async def ask[T](self, system: str, user: str, reads: Reads[T]) -> T:
        def schema(completion: Completion) -> tuple[T] | Unreadable:
            name = completion.model or self._model.label
            said, _ = without_thoughts(completion.text)
            read = reads(ProbeAnswer(said, completion.tokens or 0, name))
            return Unreadable("no answer to each question") if read is None else (read,)

        call = partial(
            self._model.ask,
            _Probing(system, user),
            schema,
            conversation=self._conversation,
            purpose="soul",
        )
        answered = await self._life.unless_closing(call)
        if answered is None:
            raise ChatFailed("closing")
        return answered[0]
