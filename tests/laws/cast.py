"""Who takes part in a story, where, and what is said: each text holds a word that nothing else
holds, so that it is known wherever it turns up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

PUBLIC = "public"
"""The scope that everybody reads."""


@dataclass(frozen=True)
class Person:
    """An account. Accounts of one ``human`` are linked."""

    account: str
    name: str
    human: str
    admin: bool = False
    label: str = ""

    def __repr__(self) -> str:
        return self.label

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(self.label)  # how a failing story is told


@dataclass(frozen=True)
class Place:
    """A conversation. ``keys``: what the owner's map may call it, the most exact first; ``human``:
    whose private chat it is, and ``account`` with which account; empty for a group; ``is_agent``:
    a coding agent's, which no policy gives a scope."""

    umo: str
    keys: tuple[str, ...]
    human: str = ""
    is_agent: bool = False
    label: str = ""
    account: str = ""

    def __repr__(self) -> str:
        return self.label

    def _repr_pretty_(self, printer: Any, _: bool) -> None:
        printer.text(self.label)

    @property
    def is_private(self) -> bool:
        """It is no group."""
        return bool(self.human) or self.is_agent

    @property
    def line(self) -> str:
        """What a pause is noted under: a group that is split by member is paused as a whole."""
        return self.keys[-1]


def _group(session: str, label: str, *, parent: str = "") -> Place:
    keys = tuple(f"aiocqhttp:GroupMessage:{one}" for one in (session, parent) if one)
    return Place(keys[0], keys, label=label)


def _private(umo: str, human: str, label: str) -> Place:
    account = umo.replace("tg:", "telegram:").replace("FriendMessage:", "")
    return Place(umo, (umo,), human, label=label, account=account)


ROOM = _group("1", "ROOM")
SPLIT = _group("2", "SPLIT")
"""A group of which the platform splits off members."""
MEMBER = _group("2#9", "MEMBER", parent="2")
GANG_CHAT = _private("aiocqhttp:FriendMessage:3", "小刚", "GANG_CHAT")
GANG_AWAY = _private("tg:FriendMessage:77", "小刚", "GANG_AWAY")
"""The same person's chat on another platform."""
LI_CHAT = _private("aiocqhttp:FriendMessage:4", "小丽", "LI_CHAT")
BOSS_CHAT = _private("aiocqhttp:FriendMessage:9", "站长", "BOSS_CHAT")
AGENT = Place("mcp:project:shop", ("mcp:project:shop",), is_agent=True, label="AGENT")
PLACES = [ROOM, SPLIT, MEMBER, GANG_CHAT, GANG_AWAY, LI_CHAT, BOSS_CHAT, AGENT]

MING = Person("aiocqhttp:10001", "小明", "小明", label="MING")
GANG = Person("aiocqhttp:3", "小刚", "小刚", label="GANG")
GANG_TOO = Person("telegram:77", "刚哥", "小刚", label="GANG_TOO")
LI = Person("aiocqhttp:4", "小丽", "小丽", label="LI")
BOSS = Person("aiocqhttp:9", "站长", "站长", admin=True, label="BOSS")
OTHER_BOSS = Person("aiocqhttp:8", "老李", "老李", admin=True, label="OTHER_BOSS")
NOBODY = Person("", "", "", label="NOBODY")
"""Who wrote into a file."""
PERSONS = [MING, GANG, GANG_TOO, LI, BOSS, OTHER_BOSS]
ADMINS = [BOSS, OTHER_BOSS]
LINKS = {GANG.account: "小刚", GANG_TOO.account: "小刚"}

NAMES = ["家人", "家", "公司", "public"]
"""Of scopes."""
WRONG = ["", "家 人"]
"""No names of scopes."""

QUERY = "纪事"
"""What every text holds."""
_SENTENCES = (
    "{}把旧钢琴搬到阁楼上，记在纪事里",
    "{}去河边钓了一篓鲫鱼，这是纪事",
    "院子的石榴树被{}修剪过，纪事写着",
    "{}订了两张去厦门的船票，纪事有载",
    "纪事说{}学会了做葱油拌面",
    "厨房水管由{}换了新阀门，纪事一条",
    "{}在旧货市场淘到一台收音机，纪事如此",
    "纪事：{}的自行车后胎又瘪了",
)
_SYLLABLES = ("ba", "do", "fe", "gu", "ka", "lo", "mi", "nu", "pe", "ri", "so", "tu", "va", "zi")


def canary(number: int) -> str:
    """A word that nothing else holds."""
    first, second = divmod(number, len(_SYLLABLES))
    return f"qux{_SYLLABLES[first % len(_SYLLABLES)]}{_SYLLABLES[second]}x"


def text(number: int) -> str:
    """The words number so many of a story."""
    return _SENTENCES[number % len(_SENTENCES)].format(canary(number))


_CANARY = re.compile(rf"qux(?:{'|'.join(_SYLLABLES)}){{2}}x")
MOST_TEXTS = len(_SYLLABLES) ** 2
SAID = 8
"""So many texts are said, perhaps again and again; what is edited gets new words each time."""
TITLES = range(SAID, SAID + 3)
"""Of tasks."""
CANARIES = {canary(number): text(number) for number in range(MOST_TEXTS)}


def words_in(shown: str) -> set[str]:
    """The texts of a story of which the word is in something that was shown."""
    return {CANARIES[mark] for mark in _CANARY.findall(shown) if mark in CANARIES}
