"""The model that tries a counted rule: the one that reads turns, within the same day's tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import ChatFailed, StateUnavailable
from ..log import logger
from ..models.soul import SoulLine
from ..reflection.model import Completion, Model
from ..reflection.rules.prompt import Prompt
from ..reflection.rules.reply import Unreadable, without_thoughts
from ..soul.evaluation import LEAST_CALLS, Evaluation, SoulEvaluation
from ..soul.rules.soul_text import injected, language_of


@dataclass(eq=False)
class SoulTrials:
    """``persona_prompt`` returns AstrBot's own, ``own_probes`` what stands in the owner's
    ``probes.md``, by the persona's folder. A close ends the night, and a call in it."""

    _model: Model
    _persona_prompt: Callable[[str], Awaitable[str]]
    _own_probes: Callable[[str], str]

    async def evaluate(self, role: str, proposal: SoulLine, old: str) -> SoulEvaluation | None:
        """Returns the verdict on what was counted, over the text in force; None without one, where
        no model is there, or the day's tokens do not suffice, or an answer cannot be read."""
        persona = await self._persona_prompt(role)
        own = await asyncio.to_thread(self._own_probes, role)
        before, after = (f"{persona}{injected(text)}" for text in (old, proposal.text))
        # What is begun and not ended costs the same again in the next night.
        whole = Prompt(after * LEAST_CALLS, "")
        trial = Evaluation(self._ask, before, after, language_of(old))
        try:
            if await self._model.resting(whole, conversation="", purpose="soul"):
                return None
            return await trial.run(proposal.aim, own)
        except (ChatFailed, StateUnavailable) as error:
            logger.warning("soul_unanswered", error=error)
            return None

    async def _ask(self, system: str, user: str, reading: Callable[[str], object]) -> str:
        def understand(completion: Completion) -> str | Unreadable:
            text, _ = without_thoughts(completion.text)
            try:
                reading(text)
            except ChatFailed as failed:
                return Unreadable(failed.detail)
            return text

        prompt = Prompt(system, user)
        return await self._model.ask(prompt, understand, conversation="", purpose="soul")
