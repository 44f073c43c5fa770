"""Who talks, and where: people and conversations, of OneBot and Telegram."""

from dataclasses import dataclass
from typing import Literal

ADAPTER = "aiocqhttp"
TELEGRAM = "telegram"
BOT_ID = 10000


@dataclass(frozen=True, slots=True)
class Person:
    """A user; `card` is the name shown in a QQ group, if it differs, or a Telegram username."""

    user_id: int
    nickname: str
    card: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation with the bot: a group, or the private chat of one user."""

    kind: Literal["group", "private"]
    number: int
    adapter: str = ADAPTER
    thread: int = 0
    """The topic of a Telegram group, if any."""

    @property
    def umo(self) -> str:
        """The `unified_msg_origin` that AstrBot gives this conversation."""
        kind = "GroupMessage" if self.kind == "group" else "FriendMessage"
        topic = f"#{self.thread}" if self.thread else ""
        return f"{self.adapter}:{kind}:{self.number}{topic}"


def group(number: int) -> Place:
    return Place("group", number)


def private(person: Person | int) -> Place:
    return Place("private", person if isinstance(person, int) else person.user_id)
