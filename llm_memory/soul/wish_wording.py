"""One call to a chat model that words a wish which the rules do not understand as it was typed."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ChatFailed, StateUnavailable
from ..log import logger
from .model_port import SoulModel, reachable
from .rules.wording import read_wording, wish_prompt


@dataclass(frozen=True, slots=True)
class Wording:
    """The rule that a model has made of a wish, empty for none; which model, and the tokens that
    were booked for it."""

    rule: str
    model: str
    tokens: int


async def word_wish(
    model: SoulModel | None, text: str, wish: str, *, conversation: str
) -> Wording | None:
    """Returns a wish in a model's words. None where there is no model, where today's tokens do not
    suffice, and where it fails.

    Args:
        text: The text in force.
        conversation: Whose model is asked, if the owner has chosen none.
    """
    if (model := reachable(model, conversation)) is None:
        return None
    system, prompt = wish_prompt(text, wish)
    try:
        if not await model.affords(prompt, system=system):
            return None
        answer = await model.ask(prompt, system=system, conversation=conversation)
    except (ChatFailed, StateUnavailable) as error:
        logger.warning("soul_not_worded", error=error)
        return None
    return Wording(read_wording(answer.text), model.label, answer.tokens)
