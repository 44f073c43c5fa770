"""What every verb of the front door begins with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate

from ..runtime.lifecycle import Lifespan
from ..scopes.access import Gate


@dataclass(eq=False)
class Door:
    """A verb takes a ConversationId, opens the gate once, and does what is asked inside the view
    that it gets."""

    _life: Lifespan
    _gate: Gate


type _Verb[D, **P, T] = Callable[Concatenate[D, P], Coroutine[Any, Any, T]]


def deed[D: Door, **P, T](verb: _Verb[D, P, T]) -> _Verb[D, P, T]:
    """Of a verb that changes something: once it has begun it comes to its end, also if its caller
    is cancelled or a close begins. Raises EngineClosed, and then it has not begun."""

    @wraps(verb)
    def begin(door: D, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return door._life.finish(partial(verb, door, *args, **kwargs))

    return begin
