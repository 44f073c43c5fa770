"""What a message asks for, by its words alone: all of something, what lies on days, several things,
or nothing. Pure.

What is left of it without times, small words and a head noun: 任务 in 还有哪些任务没做,
"preferences" in "what are my preferences". Where nothing is left beside such a noun, all that it
names is asked for. Where something is left (任务栏, the rules of chess), the message is a question
as any other. 明天有什么安排, 周五忙不忙, "what's on tomorrow" ask for all that lies on a day;
1号要交什么 for what holds a word of the question, too; 明天见 and 今天好累 for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Final

from ...models.data_models import Topic
from ...text.scripts import fold
from ...text.stated import asks
from ...text.stop_words import CHINESE, ENGLISH
from ...text.traditional import simplified
from ..asked_words import HEADS

_EMPTY = re.compile(
    "[\\s\\W_]|[那当这](?:一|几)?天|那(?:几)?个?(?:周|星期|月)|大家|群[里聊]|聊天|日记|回顾|帮我|"
    "忙(?=[了些什啥着])|写(?=[了过些什啥的])|早上|上午|中午|下午|傍晚|晚上|夜里|凌晨|"
    "[我你您他她它们咱的了是在吗呢吧啊呀么嘛都就还也又跟和与对给把被有没无过着"
    "说聊谈讲问提到做干发生什怎样哪些谁几多少事情件啥儿内容话题里边上那这个一下请告诉记得"
    "回忆看想起来所及总结]"
    r"|\b(?:what|did|do|does|was|were|is|are|we|you|i|me|us|they|he|she|it|talk|talked|say|said|"
    r"discuss|discussed|happen|happened|about|the|a|an|on|in|at|of|to|and|any|anything|something|"
    r"things?|news|up|tell|remember|recall|have|has|had|been|going|summari[sz]e|can|could|please|"
    r"remind|our|were|doing|done|journal|diary|day|that|this|chat|conversations?|summary|recap|"
    r"morning|afternoon|evening|night)\b",
    re.IGNORECASE,
)
_CONNECTING = re.compile(
    "为(?:什么|何|啥)|怎么[样办]?|如何|咋|后来|然后|之后|接着|结果|还有|其[他它]|别的|另外?|现在|"
    "目前|[0-9一二两三四五六七八九十]{1,3}点[半钟]?|嗯|噢|喔|唉|诶|欸|那么|以后|所以|可是|但是|不过|以前|[里边儿位次只条些本部年段种句时候久少大远长最最近近样为何]|"
    r"\b(?:why|when|where|who|whose|which|how|what|him|his|her|hers|its|their|theirs|them|those|"
    r"these|there|then|others?|else|so|but|or|now|s|re|come|him|no|not|yes)\b",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    "^\\W*(?:[真是对好行可]的?(?:以|吗|么)+|怎么[了啦]|干嘛|什么呀?|啥|哈+|谁知道(?:呢)?|那怎么行|"
    "现在是?(?:几[点号]钟?|星期几|周几).?|(?:都|已经)?(?:几[点号]钟?|星期几|周几)[了啦].?|"
    "(?:really|what|huh|is it|is that so|ok(?:ay)?|right|what an?\\s.*)|"
    "what'?s (?:up|new)|how'?s it going|"
    "(?:what(?:'s| is) the (?:time|date|day)|what (?:time|date|day|year) is it)(?:\\s.*)?)\\W*$",
    re.IGNORECASE,
)
"""Who asks a clock asks no memory either."""
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
_OF_THE_BOT: Final = re.compile(
    r"[你您](?!们|知道|记得|看|查|帮|说|告诉|能|可)|\byou\b(?!\s(?:know|tell|check|remember|see|show|list))"
    r"|\byour\b"
)
_ASKS: Final = re.compile(
    "什么|啥|哪|谁|有没有|有[^，。]{0,4}[吗么没]|干[嘛吗]|"
    r"\b(?:what|which|who|where|any|anything|(?:am|do|have) (?:i|we)|there)\b"
)
_NOUN: Final = re.compile(
    r"(?!.*(?:[有没]|\b(?:have|has|got|no|not)\b|n't)).*(?:"
    r"(?:安排|[日行]程表?|计划|待办|日记|总结|回顾)(?:[说讲看查发报]?(?:一下|下|给我))?"
    r"|\b(?:schedule|agenda|calendar|itinerary|plans|summary|recap|journal|diary)"
    r"(?:\s(?:for|on|of|the))*)\W*$|.*干[嘛吗](?:来着)?\W*$"
)
"""What asks by a noun alone, 明天的日程, "my schedule for Monday", or without a form: 要干嘛."""
_NO_PLANS: Final = re.compile(
    r"几[号点月]|(?:周|星期|礼拜)几|没(?:什么|啥)|\b(?:date|time|weekday|day is it)\b"
)
_WHOSE: Final = 2
"""Words that may say whose days are asked for."""
MOST: Final = 3
"""Things of one message: each costs a recall of its own."""
_CUTS: Final = re.compile(
    r"(?<=[，。！!？?；;\n])|(?<=[\u4e00-\u9fff],)|(?=还有|以及|另外)"
    r"|(?=\band\s+(?:wh\w+|how|is|are|do|does|did)\b)",
    re.IGNORECASE,
)
"""In English a comma parts a clause from what it belongs to: When I was ill, who helped me?"""
_SENTENCES: Final = re.compile(r"(?<=[。！!？?；;\n])")


def is_about_time_alone(subject: str) -> bool:
    """True for what is left of 昨天聊了什么 without the time: nothing that an entry could hold."""
    return not _EMPTY.sub("", subject)


def is_small_talk(text: str) -> bool:
    """Whether a text in the form of a question asks for nothing."""
    return _SMALL_TALK.match(text) is not None


def is_empty(text: str) -> bool:
    """True for a message that names nothing: only words that point, ask or connect."""
    return is_about_time_alone(text) or is_about_time_alone(_CONNECTING.sub("", text))


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
    chinese = _heads("zh")
    text = _OPEN.sub(" todo open ", text)
    found: set[Topic | str] = {chinese.get(word, "") for word in _small().findall(text)}
    left: list[str] = []
    for word in _WORD.findall(_small().sub(" ", text)):
        kind = _heads("en").get(word)
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
def _heads(language: str) -> dict[str, Topic | str]:
    """The kind of each head noun: its topic, ``PLANS``, "person", "done", empty for what says
    nothing beside them."""
    topics: dict[str, Topic] = {one.value: one for one in Topic}
    named = ((topics.get(kind, kind), words) for kind, words in HEADS[language].items())
    return {word: kind for kind, words in named for word in words.split()}


@cache
def _small() -> re.Pattern[str]:
    """Small words and heads, the longest first; of 你知道 and 吃什么 the verb is heard."""
    heads = _heads("zh")
    small = (word for word in CHINESE if not any(head in word for head in heads))
    words = sorted({*heads, *small} - {"吃什么"}, key=len, reverse=True)
    # 过敏 and 过期 are words of their own.
    return re.compile("|".join(map(re.escape, words)).replace("|过|", "|过(?![敏期年节户程])|"))


@dataclass(frozen=True, slots=True)
class OfDays:
    """What is asked of the days.

    Attributes:
        all: All that lies on them; else what holds a word of ``left``.
        left: The words beside those that ask, folded and simplified: whose days, or what.
        own: The asker asks of his own days: whatever lies on the very day may matter.
    """

    all: bool
    left: tuple[str, ...]
    own: bool = False

    def holds(self, text: str) -> bool:
        """Whether a text, folded and simplified, holds one of the words, or a part of one where
        not all is asked for."""
        parts = self.left if self.all else (part for word in self.left for part in _parts(word))
        return any(
            re.search(rf"(?<![^\W_]){re.escape(part)}", text) if part.isascii() else part in text
            for part in parts
        )


EVERYTHING: Final = OfDays(all=True, left=())


def asked_of_days(
    subject: str, *, asks: bool, ahead: bool = False, past: bool = False
) -> OfDays | None:
    """What a message asks of the days it names, given without them; None where it asks nothing of
    them.

    Args:
        asks: Its form is a question's, or it was looked for.
        ahead: The days are to come, and nobody greets with them.
        past: They are over: who says more than a day asks what was, not for all that was.
    """
    text = simplified(fold(subject)).replace("’", "'").strip()
    found, left = parted(text)
    if not (asks or _NOUN.match(text)) or _NO_PLANS.search(text):
        return None
    if is_small_talk(text) and not (ahead and _ASKS.search(text)):
        return None
    if is_about_time_alone(text):
        return EVERYTHING
    if is_done(found, text) or (_OF_THE_BOT.search(text) and not (OWN.search(text) or left)):
        return None
    # Beside what asks for days to come stands whose they are, and little else.
    few = len(left) <= (0 if past else _WHOSE)
    plans = few and bool(found & {PLANS, Topic.TASKS})
    everything = plans or (not left and _ASKS.search(text) is not None)
    own = few and OWN.search(text) is not None
    return OfDays(everything, tuple(left), own) if everything or left else None


def _parts(word: str) -> tuple[str, ...]:
    return (word[:4],) if word.isascii() else tuple(word)


def parts_of(message: str) -> tuple[str, ...]:
    """Several where the message asks for several things that it names, else the message alone.

    A clause that asks for nothing belongs to the one before it, or to the first.
    """
    parts: list[str] = []
    before = ""
    for clause in _CUTS.split(message):
        if not clause.strip():
            continue
        if len(parts) < MOST and asks(clause) and not is_empty(clause):
            parts.append((before + clause).strip())
            before = ""
        elif parts:
            parts[-1] += clause
        else:
            before += clause
    return tuple(parts) if len(parts) > 1 else (message,)


def only_asks(text: str) -> bool:
    """True where every sentence asks for something: it is no answer to a question."""
    return all(asks(one) for one in _SENTENCES.split(text) if one.strip())
