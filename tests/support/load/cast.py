"""Fifty conversations over eight scopes, what they say, and who may see it.

The oracle here reads the map by itself and asks nothing of the engine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind

ADAPTER = "aiocqhttp"
PUBLIC = "public"
SCOPES = ("家人", "家", "公司", "公司2", "public-x", "a", "a-a", "大学")
ILLEGAL = "家 人!"
"""A name that no scope may have: its conversation reads public and writes nothing."""
CONVERSATIONS = 50
_MAPPED = 42

_WHO = ("小明", "奶奶", "老王", "会计", "班长", "邻居", "司机", "房东")
_WHAT = (
    "喜欢吃的是苹果",
    "对花生过敏",
    "的车停在三号车位",
    "必须在周五之前交报告",
    "决定改用新的供应商",
    "的电话尾号是四零七",
    "养了一只橘猫",
    "prefers green tea",
    "is responsible for the backup server",
    "下个月要去成都出差",
)
_MARK = re.compile(r"〔([^〕]+)〕(\d+-\d+)")


def conversation(number: int) -> ConversationId:
    """Every third one is a private chat, the others are groups."""
    session = str(1000 + number)
    if number % 3 == 0:
        umo = f"{ADAPTER}:FriendMessage:{session}"
        kind = ConversationKind.PRIVATE
        return ConversationId(umo, ADAPTER, ADAPTER, kind, peer=session, persona="")
    umo = f"{ADAPTER}:GroupMessage:{session}"
    kind = ConversationKind.GROUP
    return ConversationId(umo, ADAPTER, ADAPTER, kind, group=session, persona="")


def speaker(number: int) -> Actor:
    """One person a conversation."""
    return Actor(f"{ADAPTER}:{1000 + number}", f"人{number}")


def base_map() -> dict[str, str]:
    """42 conversations in the eight scopes, one in public by name, one with a mistyped scope; the
    rest stands in no map."""
    mapped = {conversation(n).umo: SCOPES[n % len(SCOPES)] for n in range(_MAPPED)}
    return mapped | {
        conversation(_MAPPED).umo: PUBLIC,
        conversation(_MAPPED + 1).umo: ILLEGAL,
    }


def moved_map(chance: random.Random) -> dict[str, str]:
    """The base map with some conversations in another scope, one taken out, one mistyped."""
    scope_map = base_map()
    *moved, removed, mistyped = chance.sample(sorted(scope_map), 6)
    for umo in moved:
        scope_map[umo] = chance.choice([s for s in (*SCOPES, PUBLIC) if s != scope_map[umo]])
    del scope_map[removed]
    scope_map[mistyped] = ILLEGAL
    return scope_map


def scope_of(umo: str, scope_map: Mapping[str, str]) -> str | None:
    """Where a conversation writes; None if nowhere."""
    scope = scope_map.get(umo, PUBLIC)
    return None if scope == ILLEGAL else scope


def visible_to(umo: str, scope_map: Mapping[str, str]) -> frozenset[str]:
    """What a conversation may see."""
    return frozenset({scope_of(umo, scope_map) or PUBLIC, PUBLIC})


@dataclass(frozen=True, slots=True)
class Mark:
    """What every text carries: the scope it was written in, and a number that it has alone."""

    scope: str
    serial: str

    def on(self, chance: random.Random) -> str:
        """A text that could have been said anywhere, with the mark in front."""
        return f"〔{self.scope}〕{self.serial} {chance.choice(_WHO)}{chance.choice(_WHAT)}"


def marks_in(text: str) -> list[Mark]:
    """The marks of all texts in ``text``, in order."""
    return [Mark(scope, serial) for scope, serial in _MARK.findall(text)]


def question(chance: random.Random) -> str:
    """What somebody might ask anywhere: it fits memories of every scope."""
    return f"{chance.choice(_WHO)}{chance.choice(_WHAT)}？"
