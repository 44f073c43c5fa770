"""What a bot says to the people of an account, unread until somebody takes it."""

import asyncio
from collections import defaultdict

from .opened import Opened
from .places import Person, Place
from .waiting import TookTooLong

REPLY_SECONDS = 30.0


class Account(Opened):
    """People talk by `say`, and ask."""

    def __init__(self) -> None:
        self._replies: dict[Place, asyncio.Queue[str]] = defaultdict(asyncio.Queue)

    @property
    def base_url(self) -> str:
        """Where the bot is to look for it."""
        raise NotImplementedError

    async def say(self, place: Place, person: Person, text: str, *, at: bool = True) -> None:
        """A person's message; in a group it begins with @bot unless `at` is false."""
        raise NotImplementedError

    async def reply(self, place: Place, *, within: float = REPLY_SECONDS) -> str:
        """The next unread message of the bot in this conversation, as plain text."""
        try:
            return await asyncio.wait_for(self._replies[place].get(), within)
        except TimeoutError as error:
            raise TookTooLong(f"no reply in {place.umo} within {within:g} seconds") from error

    async def ask(
        self,
        place: Place,
        person: Person,
        text: str,
        *,
        at: bool = True,
        within: float = REPLY_SECONDS,
    ) -> str:
        """Says `text` and gives the bot's next message there; older unread ones are dropped."""
        self.unread(place)
        await self.say(place, person, text, at=at)
        return await self.reply(place, within=within)

    def unread(self, place: Place) -> list[str]:
        """Takes all unread messages of the bot in this conversation."""
        queue = self._replies[place]
        return [queue.get_nowait() for _ in range(queue.qsize())]
