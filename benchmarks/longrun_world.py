"""People who talk to a bot for some weeks: who, where, when, and what they mention in passing.

The same seed gives the same weeks. Every private scope has a word of its own that is in every
sentence said there and in no other: wherever it turns up elsewhere, something leaked.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import Final

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, ConversationKind

ADAPTER: Final = "aiocqhttp"
MARKS: Final = {
    "家人": "红杉",
    "公司": "白桦",
    "读书会": "银杏",
    "球队": "海棠",
    "邻居": "紫藤",
    "同学": "芦苇",
    "社团": "胡桃",
    "public": "蒲公英",
}
"""By scope: the word of its own."""
_NAMES: Final = """
小明 小红 老王 阿强 李医生 周老师 陈阿姨 表弟 房东 班长 林工 赵师傅
苏姐 阿珍 大刘 小何 阿梅 老马 晓东 佳佳 文文 阿豪 小琴 志远
阿丽 老郑 小岚 建国 阿宝 小雨 老吴 婷婷 阿文 小杰 美玲 老钱
晓燕 阿华 小鹏 秀英
""".split()  # noqa: SIM905
_TOPICS: Final = {
    "早饭": "豆浆 燕麦粥 包子 三明治",
    "牙膏": "薄荷味 茶香味 海盐味 柠檬味",
    "雨伞": "长柄的 折叠的 透明的 格子的",
    "跑鞋": "四十码 四十一码 四十二码 三十九码",
    "书桌": "靠窗那张 松木那张 升降那张 铁架那张",
    "耳机": "头戴式 入耳式 挂脖式 骨传导",
    "咖啡": "美式 拿铁 手冲 澳白",
    "枕头": "荞麦皮 乳胶 羽绒 记忆棉",
    "单车": "公路车 折叠车 山地车 小轮车",
    "闹钟": "六点整 六点半 七点整 七点半",
    "手机壳": "磨砂黑 亮面白 木纹款 透明款",
    "窗帘": "亚麻布 遮光布 竹帘 百叶",
    "水杯": "保温杯 玻璃杯 搪瓷杯 马克杯",
    "输入法": "双拼 五笔 全拼 注音",
    "相机": "胶片机 微单 拍立得 卡片机",
    "琴谱": "简谱 五线谱 六线谱 工尺谱",
    "围巾": "羊毛的 棉线的 丝绸的 针织的",
    "茶叶": "龙井 普洱 铁观音 茉莉花",
    "盆栽": "绿萝 吊兰 文竹 仙人掌",
    "行李箱": "二十寸 二十四寸 二十八寸 登机款",
}
_CHAT: Final = (
    "今天{mark}这边天气真不错",
    "哈哈，{mark}那件事太好笑了",
    "帮我算一下三十六乘以四，{mark}要用",
    "{mark}那边的路又堵了",
    "给我讲个{mark}的笑话吧",
    "周末{mark}有什么安排吗",
    "刚才{mark}停了一会儿电",
)
PER_SCOPE: Final = 6
"""People in a scope. The first of each is also in the next one: people are not scopes."""


class Saying(StrEnum):
    """What a message is for."""

    CHAT = "chat"
    FACT = "fact"
    """Something new is mentioned."""
    AGAIN = "again"
    """Something is mentioned that was mentioned before."""
    CHANGE = "change"
    """Something is not so any more."""
    QUESTION = "question"


_WEIGHTS: Final = {
    Saying.CHAT: 55,
    Saying.QUESTION: 18,
    Saying.FACT: 14,
    Saying.AGAIN: 8,
    Saying.CHANGE: 5,
}


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation and who talks in it."""

    where: ConversationId
    scope: str
    people: tuple[Actor, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """What can be known of somebody in a scope."""

    scope: str
    who: str
    topic: str


@dataclass(frozen=True, slots=True)
class Message:
    """What somebody says to the bot, about which fact, and how that is now."""

    at: datetime
    place: Place
    actor: Actor
    saying: Saying
    text: str
    fact: Fact | None = None
    value: str = ""


type _Words = tuple[Actor, str, Fact | None, str]


@dataclass
class World:
    """``places`` conversations in ``scopes`` of the eight scopes."""

    places: int = 30
    scopes: int = 8
    seed: int = 20_261_122
    facts: dict[Fact, str] = field(default_factory=dict)
    """What holds now, of all that was mentioned."""

    def __post_init__(self) -> None:
        self._said = 0
        self.changes = 0
        """How often something was not so any more."""
        self._chance = random.Random(self.seed)  # noqa: S311  (nobody's secret)
        names = [*list(MARKS)[: self.scopes - 1], "public"]
        self.people = {name: _people(number) for number, name in enumerate(names)}
        self.where = [
            self._place(number, names[number % len(names)]) for number in range(self.places)
        ]
        self._free = {
            name: self._shuffled([(who, topic) for who, topic in product(people, _TOPICS)])
            for name, people in self.people.items()
        }

    @property
    def scope_map(self) -> dict[str, str]:
        """The panel's map; what is public is not in it."""
        return {place.where.umo: place.scope for place in self.where if place.scope != "public"}

    def day(self, midnight: datetime, turns: int) -> list[Message]:
        """A day's messages, in order: sessions of some turns, between eight and midnight, of
        which several go on at once."""
        slots: list[tuple[datetime, Place]] = []
        while len(slots) < turns:
            place = self._chance.choice(self.where)
            at = midnight + timedelta(seconds=self._chance.uniform(8 * 3600, 23.5 * 3600))
            for _ in range(min(self._chance.randint(1, 8), turns - len(slots))):
                slots.append((at, place))
                at += timedelta(seconds=self._chance.uniform(15, 90))
        return [self._message(at, place) for at, place in sorted(slots, key=lambda slot: slot[0])]

    def _message(self, at: datetime, place: Place) -> Message:
        self._said += 1
        saying = self._chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        who, words, fact, value = self._words(saying, place) or self._chat(place)
        text = f"{words}（{self._said}）"  # so that no two messages are the same
        return Message(at, place, who, saying if fact else Saying.CHAT, text, fact, value)

    def _words(self, saying: Saying, place: Place) -> _Words | None:
        match saying:
            case Saying.FACT:
                return self._new(place)
            case Saying.AGAIN | Saying.CHANGE:
                return self._known(saying, place)
            case Saying.QUESTION:
                return self._question(place)
            case Saying.CHAT:
                return None

    def _new(self, place: Place) -> _Words | None:
        free = self._free[place.scope]
        pair = next((pair for pair in free if pair[0] in place.people), None)
        if pair is None:
            return None
        free.remove(pair)
        who, topic = pair
        value = MARKS[place.scope] + self._chance.choice(_TOPICS[topic].split())
        fact = Fact(place.scope, who.name, topic)
        self.facts[fact] = value
        return who, f"对了，我的{topic}一直是{value}。", fact, value

    def _known(self, saying: Saying, place: Place) -> _Words | None:
        people = {actor.name: actor for actor in place.people}
        mine = [fact for fact in self.facts if fact.scope == place.scope and fact.who in people]
        if not mine:
            return None
        fact = self._chance.choice(mine)
        value = self.facts[fact]
        if saying is Saying.AGAIN:
            return people[fact.who], f"我的{fact.topic}嘛，还是{value}。", fact, value
        self.changes += 1
        others = [MARKS[place.scope] + one for one in _TOPICS[fact.topic].split()]
        self.facts[fact] = self._chance.choice([one for one in others if one != value])
        words = f"我的{fact.topic}换成{self.facts[fact]}了。"
        return people[fact.who], words, fact, self.facts[fact]

    def _question(self, place: Place) -> _Words | None:
        known = [fact for fact in self.facts if fact.scope == place.scope]
        if not known:
            return None
        fact = self._chance.choice(known)
        who = self._chance.choice(place.people)
        words = f"{fact.who}的{fact.topic}是哪一种，{MARKS[place.scope]}的人问"
        return who, words, fact, self.facts[fact]

    def _chat(self, place: Place) -> _Words:
        words = self._chance.choice(_CHAT).format(mark=MARKS[place.scope])
        return self._chance.choice(place.people), words, None, ""

    def _place(self, number: int, scope: str) -> Place:
        people = self.people[scope]
        if number % 5 < 2:
            umo = f"{ADAPTER}:GroupMessage:{7000 + number}"
            kind = ConversationKind.GROUP
            where = ConversationId(umo, ADAPTER, ADAPTER, kind, group=str(7000 + number))
            return Place(where, scope, people[:4])
        who = people[number // len(self.people) % len(people)]
        umo = f"{ADAPTER}:FriendMessage:{9000 + number}"
        where = ConversationId(
            umo, ADAPTER, ADAPTER, ConversationKind.PRIVATE, peer=str(9000 + number)
        )
        return Place(where, scope, (who,))

    def _shuffled[T](self, values: list[T]) -> list[T]:
        self._chance.shuffle(values)
        return values


def _people(number: int) -> tuple[Actor, ...]:
    first = number * (PER_SCOPE - 1)
    return tuple(_actor(index % len(_NAMES)) for index in range(first, first + PER_SCOPE))


def _actor(index: int) -> Actor:
    return Actor(f"{ADAPTER}:{10_000 + index}", _NAMES[index])


def marks_of_others(text: str, scope: str) -> Iterator[str]:
    """Words of private scopes that are not this one."""
    for name, mark in MARKS.items():
        if name not in (scope, "public") and mark in text:
            yield mark


def leaks(texts: Sequence[str], scope: str) -> int:
    """How many words of other private scopes are in these texts."""
    return sum(1 for text in texts for _ in marks_of_others(text, scope))
