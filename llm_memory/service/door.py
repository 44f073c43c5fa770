"""What every verb of the front door begins with, and the parts that they ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate

if TYPE_CHECKING:
    from .parts import Parts


class Door:
    """A verb takes a ConversationId, opens the gate once, and does what is asked inside the view
    that it gets."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.souls = parts.souls
        """The manner that personas have learned."""


def deed[D: Door, **P, T](
    verb: Callable[Concatenate[D, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[D, P], asyncio.Future[T]]:
    """Of a verb that changes something: it begins with the call, and comes to its end, also if its
    caller is cancelled or a close begins. Raises EngineClosed, and then it has not begun."""

    @wraps(verb)
    def begin(door: D, /, *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        return door.parts.life.finish(partial(verb, door, *args, **kwargs))

    return begin
