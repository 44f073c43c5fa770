"""The model that tries a counted rule: the one that reads turns, within the same day's tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from ..errors import ChatFailed
from ..models.data_models import Refused
from ..models.soul import SoulLine
from ..reflection.model import Completion, Model
from ..reflection.rules.prompt import Prompt
from ..reflection.rules.reply import Unreadable, without_thoughts
from ..runtime.lifecycle import Lifespan
from ..soul.evaluation import Evaluation, ProbeAnswer, Reads, SoulEvaluation


class _Probing(Prompt):
    """What the persona is asked is asked again as it was."""

    def again(self, reply: str, reason: str) -> Prompt:
        return self


@dataclass(eq=False)
class ProbedByReader:
    """The port ProbedModel. A close waits for none of its calls."""

    _model: Model
    _life: Lifespan

    async def affords(self, text: str) -> bool:
        asked = Prompt(text, "")
        why = await self._model.resting(asked, conversation="", purpose="soul")
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
            conversation="",
            purpose="soul",
        )
        answered = await self._life.unless_closing(call)
        if answered is None:
            raise ChatFailed("closing")
        return answered[0]


@dataclass(eq=False)
class SoulTrials:
    """``persona_prompt`` returns AstrBot's own, ``own_probes`` what stands in the owner's
    ``probes.md``, by the persona's folder."""

    _model: Model
    _life: Lifespan
    _persona_prompt: Callable[[str], Awaitable[str]]
    _own_probes: Callable[[str], str]

    async def evaluate(self, role: str, proposal: SoulLine, old: str) -> SoulEvaluation | Refused:
        """Returns the verdict on what was counted, over the text in force."""
        if self._model.unavailable_reason(""):
            return Refused("unjudged")
        prompt = await self._persona_prompt(role)
        own = await asyncio.to_thread(self._own_probes, role)
        model = ProbedByReader(self._model, self._life)
        trial = Evaluation(model, old=old, new=proposal.text, persona_prompt=prompt)
        return await trial.run(proposal.aim, own)
