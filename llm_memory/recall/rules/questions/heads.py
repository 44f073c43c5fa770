"""What a message asks for: what is left of it without times, small words and a head noun. Pure.

任务 in 还有哪些任务没做, "preferences" in "what are my preferences": where nothing is left beside
such a noun, all that it names is asked for. Where something is left (任务栏, the rules of chess),
the message is a question as any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Final

from ....models.data_models import Topic
from ....text.scripts import fold
from ....text.stop_words import CHINESE, ENGLISH
from ....text.traditional import simplified

_NEGATED: Final = re.compile(r"[没未不]|\bnot?\b|n't\b|\b(?:left|open|pending|unfinished)\b")
_OPEN: Final = re.compile(
    r"\b(?:left|have|has|needs?|got|want) to (?:do|be done|get done)\b|"
    r"\b(?:what(?:'s| is)|anything|everything)(?: still)? open\b|\bto do(?= list\b)"
)
"""What asks in several words for what is to be done."""
_OF_US: Final = "team|family|house(?:hold)?|group|office|class|home"
_EACH: Final = re.compile(
    "谁(?:都|会)?(?:[有对]|[^是]{1,6}$)|有(?:没有)?人|(?:家里|我们家|群里|大家)人?.{0,2}[有对]|"
    r"\b(?:who|(?:any|some|every)(?:one|body))(?: else)? (?:has|have|with)\b|"
    r"\b(?:has|have|is|does) (?:any|some)(?:one|body)\b|"
    rf"\bany\b.*\b(?:in|on|at|of) (?:the|our|this) (?:{_OF_US})\b"
)
"""What asks who of all people has or is something."""
_TO_THE_BOT: Final = re.compile(r"[你您]|\byou\b")
OWN: Final = re.compile(r"[我咱俺]|\b(?:i|me|my|myself|we|us|our)\b")
_OF_OTHERS: Final = re.compile(r"[他她它]|\b(?:he|him|his|she|hers?|its?|they|them|their)\b")
_WORD: Final = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")
_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
PLANS: Final = "days"
"""The kind of words that ask for what lies on days."""
_LONGEST: Final = 80
"""Characters: who asks for all of something asks shortly."""
_LONGEST_NAME, _NAME_WORDS = 8, 3

_CHINESE: Final[dict[Topic | str, str]] = {
    Topic.TASKS: "待办 待办事项 待办清单 任务 任务清单 计划 打算 没做 没做完 没完成 没办 未完成 "
    "要做 要办 要准备 要处理",
    Topic.PREFERENCES: "偏好 喜好 爱好 口味 忌口 习惯 兴趣 喜欢 讨厌",
    Topic.INSTRUCTIONS: "规矩 规则 规定 约定 守则 指令 禁忌 遵守",
    Topic.DECISIONS: "决定 决策",
    "person": "知道 记得 了解 认识 认得 介绍 介绍一下 印象 谁 什么样的人 说说 讲讲",
    "done": "完成 做完 办完",
    PLANS: "安排 怎么安排 日程 日程表 行程 行程表 活动 节目 事 事情 有事 有空 没空 有没有空 空不空 "
    "空吗 有时间 有没有时间 忙不忙 忙吗 忙么 忙什么 忙啥 要忙 干嘛 干吗 干什么 干点什么 干啥 "
    "干点啥 做什么 做啥 做些什么 去哪 去哪里 去哪儿 去哪玩 去哪里玩 去哪儿玩 "
    "哪里玩 哪儿玩 怎么过 有约 约吗 预约 预定 约了谁 约了 出门 "
    "局 饭局 聚会 聚餐 开会 开什么会 开啥会 来人 来客人",
    "": "定 立 下 守 必须 需要 列出 列 看看 看一下 总结 总结一下 汇总 全部 所有 清单 "
    "手头 记着 人 情况 家里 家里人 我们家 有人 "
    "早上 上午 中午 下午 傍晚 晚上 夜里 凌晨 日子 那天 当天",
}
_ENGLISH: Final[dict[Topic | str, str]] = {
    Topic.TASKS: "task tasks todo todos to-do to-dos plan plans",
    Topic.PREFERENCES: "preference preferences like likes dislike dislikes hobby hobbies "
    "habits hate",
    Topic.INSTRUCTIONS: "rule rules instruction instructions",
    Topic.DECISIONS: "decision decisions decide decided",
    "person": "know about remember who who's introduce describe",
    "done": "done finished completed",
    PLANS: "schedule scheduled agenda calendar itinerary appointment appointments event "
    "events activities free busy available happen happens happening planned booked doing coming "
    "upcoming due prepare clear commitments meetings deadlines here away off",
    "": "list show open pending left unfinished set give gave given agreed follow apply far what's "
    "everything anybody everybody please team family house household group office class "
    "morning afternoon evening night",
}
"""The head nouns of each topic, the verbs that ask for a person, and what says nothing beside
them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, whole.

    Attributes:
        topic: Its file is read; None for all that is known of a person.
        done: Of tasks those that are done, in the place of those that are not.
        name: Folded, of the person it is asked about; empty for the asker, or nobody.
        each: Where nobody has the name: each who has or is what it says, 谁有过敏.
    """

    topic: Topic | None
    done: bool = False
    name: str = ""
    each: bool = False


def asked_for(subject: str) -> Asked | None:
    """What a message asks for, given without the times that it names; None where it asks for
    something of its own. Of a name it is not known here whether anybody has it."""
    text = simplified(fold(subject)).replace("’", "'").strip()
    if not text or len(text) > _LONGEST:
        return None
    found, left = parted(text)
    name = _name(left)
    if name is None:
        return None
    own = OWN.search(text) is not None
    if (not name and _OF_OTHERS.search(text)) or (name and own and "person" not in found):
        return None
    topics = [one for one in found if isinstance(one, Topic)]
    if len(topics) == 1:
        if not (name or own) and (
            topics[0] is Topic.PREFERENCES
            or (topics[0] is Topic.TASKS and _TO_THE_BOT.search(text))
        ):
            return None
        return Asked(topics[0], done=is_done(found, text), name=name)
    each = bool(name) and _EACH.search(text) is not None
    if topics or not (each or "person" in found) or not (name or own) or _NEGATED.search(text):
        return None
    return Asked(None, name=name, each=each)


def parted(text: str) -> tuple[set[Topic | str], list[str]]:
    """The kinds of the words that ask, of a folded text, and its other words but small ones."""
    chinese = _chinese()
    text = _OPEN.sub(" todo open ", text)
    found: set[Topic | str] = {chinese.get(word, "") for word in _small().findall(text)}
    left: list[str] = []
    for word in _WORD.findall(_small().sub(" ", text)):
        kind = _english().get(word)
        if kind is not None:
            found.add(kind)
        elif word not in ENGLISH and word.partition("'")[0] not in ENGLISH:
            left.append(word.removesuffix("'s"))
    return found, left


def is_done(found: Collection[Topic | str], text: str) -> bool:
    """Whether tasks are asked for that are done."""
    open_ones = _NEGATED.search(text) or _OPEN.search(text)
    return Topic.TASKS in found and "done" in found and not open_ones


def _name(left: list[str]) -> str | None:
    """What may be a name; None for what is none."""
    if not left:
        return ""
    name = " ".join(left)
    if _HAN.search(name):
        return name if len(left) == 1 and len(name) <= _LONGEST_NAME else None
    return name if len(left) <= _NAME_WORDS else None


@cache
def _chinese() -> dict[str, Topic | str]:
    return {word: kind for kind, words in _CHINESE.items() for word in words.split()}


@cache
def _english() -> dict[str, Topic | str]:
    return {word: kind for kind, words in _ENGLISH.items() for word in words.split()}


@cache
def _small() -> re.Pattern[str]:
    """Small words and heads, the longest first; of 你知道 and 吃什么 the verb is heard."""
    heads = _chinese()
    small = (word for word in CHINESE if not any(head in word for head in heads))
    words = sorted({*heads, *small} - {"吃什么"}, key=len, reverse=True)
    # 过敏 and 过期 are words of their own.
    return re.compile("|".join(map(re.escape, words)).replace("|过|", "|过(?![敏期年节户程])|"))
