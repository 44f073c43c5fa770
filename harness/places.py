"""Who talks, and where: people and conversations of the OneBot world."""

from dataclasses import dataclass
from typing import Literal

ADAPTER = "aiocqhttp"
BOT_ID = 10000


@dataclass(frozen=True, slots=True)
class Person:
    """A QQ user; `card` is the name shown in a group, if it differs."""

    user_id: int
    nickname: str
    card: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation with the bot: a group, or the private chat of one user."""

    kind: Literal["group", "private"]
    number: int

    @property
    def umo(self) -> str:
        """The `unified_msg_origin` that AstrBot gives this conversation."""
        kind = "GroupMessage" if self.kind == "group" else "FriendMessage"
        return f"{ADAPTER}:{kind}:{self.number}"


def group(number: int) -> Place:
    """The group `number`."""
    return Place("group", number)


def private(person: Person | int) -> Place:
    """The private chat of one person."""
    return Place("private", person if isinstance(person, int) else person.user_id)
