"""A chat model that says what a test wrote down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.reflection.model import Completion


@dataclass(frozen=True)
class Call:
    """What a model was asked."""

    prompt: str
    system: str
    conversation: str


type Reply = str | Completion | ChatFailed | Callable[[Call], str | Completion]


class ScriptedChat:
    """The port ChatModel: one reply a call, in their order; ``otherwise`` once they are used up.

    A reply is a text, a whole ``Completion``, a ``ChatFailed`` to be raised, or a function of the
    call. While ``release`` is not set a call waits for it. ``present`` is False for a service that
    is gone.
    """

    label = "scripted"

    def __init__(self, *replies: Reply, otherwise: Reply = "{}") -> None:
        self._replies = list(replies)
        self.otherwise = otherwise
        self.calls: list[Call] = []
        self.present = True
        self.asked = asyncio.Event()
        self.release = asyncio.Event()
        self.release.set()

    def add(self, *replies: Reply) -> None:
        """Say these next."""
        self._replies += replies

    def say(self, replies: Iterable[Reply]) -> None:
        """Say these, and nothing that was to be said before."""
        self._replies = list(replies)

    def is_there(self, conversation: str) -> bool:
        return self.present

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        if not self.present:
            raise ChatFailed("gone")
        call = Call(prompt, system, conversation)
        self.calls.append(call)
        self.asked.set()
        await self.release.wait()
        reply = self._replies.pop(0) if self._replies else self.otherwise
        if isinstance(reply, ChatFailed):
            raise reply
        said = reply(call) if callable(reply) else reply
        return said if isinstance(said, Completion) else Completion(said)
