"""Households that a set is played in: each row has one of its own, and strangers come by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from attacks_set import Row, Saying

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind

ADAPTER = "aiocqhttp"
RULE = "回答必须用中文"
ALLERGY = "妈妈对花生过敏"
CHORE = "周五前交房租"
CHATTER = "楼下的桂花开了"


def group(number: int) -> ConversationId:
    """A group chat."""
    umo = f"{ADAPTER}:GroupMessage:{number}"
    return ConversationId(umo, ADAPTER, ADAPTER, ConversationKind.GROUP, group=str(number))


def private(number: int) -> ConversationId:
    """A private chat with the person of that number."""
    umo = f"{ADAPTER}:FriendMessage:{number}"
    return ConversationId(umo, ADAPTER, ADAPTER, ConversationKind.PRIVATE, peer=str(number))


def account(number: int, name: str, *, admin: bool = False) -> Actor:
    """Somebody on the platform."""
    return Actor(f"{ADAPTER}:{number}", name, admin)


@dataclass(frozen=True, slots=True)
class Household:
    """A row's own scope: its group, mum's private chat, and the three of them."""

    row: Row

    @property
    def scope(self) -> str:
        return f"户{self.row.number}"

    @property
    def home(self) -> ConversationId:
        return group(100_000 + self.row.number)

    @property
    def street(self) -> ConversationId:
        return group(200_000 + self.row.number)

    @property
    def dad(self) -> Actor:
        return account(300_000 + self.row.number, "爸爸", admin=True)

    @property
    def mum(self) -> Actor:
        return account(400_000 + self.row.number, "妈妈")

    @property
    def wendy(self) -> Actor:
        return account(500_000 + self.row.number, "小雯")

    @property
    def mums_chat(self) -> ConversationId:
        return private(400_000 + self.row.number)

    @property
    def neighbour(self) -> Actor:
        """Nobody of the household, and no attacker either."""
        return account(600_000 + self.row.number, "邻居")

    def where(self, saying: Saying) -> ConversationId:
        return self.street if saying.place == "street" else self.home

    def actor(self, saying: Saying) -> Actor:
        """The speaker of a saying: another account than anybody of the household, whatever the
        name is. What follows a ``#`` in the name tells accounts of the same name apart."""
        people = sorted({one.speaker for one in self.row.sayings})
        number = 1_000_000 + 100 * self.row.number + people.index(saying.speaker)
        return account(number, saying.speaker.partition("#")[0])

    @property
    def attackers(self) -> frozenset[str]:
        return frozenset(self.actor(one).person for one in self.row.sayings)

    def map_entries(self) -> Iterator[tuple[str, str]]:
        yield self.home.umo, self.scope
        yield self.mums_chat.umo, self.scope


ELSEWHERE, ELSEWHERE_SCOPE = group(9), "别处"
OPEN_GROUP = group(8)
