"""Which topic file a memory goes to, by its kind and its words."""

from __future__ import annotations

import re
from datetime import datetime

from ...models.data_models import MemoryKind, Topic
from ...text.dates.expressions import Precision, find_times
from .instructions import OrderLike, order_like

# "He always has tea" tells of a habit; "always answer in English" is a rule.
_HABIT = (
    r"(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwe )(?<!\bit )(?<!\bwho )(?<!\bis )(?<!\bar"
    r"e )"
    r"(?<!\bwas )(?<!\bwere )(?<!\bhas )(?<!\bhave )(?<!\bhad )(?<!n't )(?<!\bnot )"
)
_INSTRUCTION = re.compile(
    r"必须|务必|一定要|一律|禁止|严禁|不准|不许|不得|以后都|今后都|每次都|从现在起|从今以后|"
    r"(?:^|[，,。；;：:！!\n]|请|以后|今后|千万|回答|回复|说话|聊天|你|绝对)(?:时|"
    r"的时候)?(?:都)?(?:不要|别(?![人的处墅名称针克])|勿|只能|只用|只许)|"
    rf"\bmust\b|{_HABIT}\b(?:always|never)\b|"
    r"(?:^|[.!?;,:\n]\s*|\bplease )(?:do not|don't|only|make sure|be sure to|remember to)\b|"
    r"\bfrom now on\b",
    re.IGNORECASE,
)
# "is like", "looks like": a likeness, no liking.
_LIKENESS = (
    r"(?<!looks )(?<!look )(?<!looked )(?<!feels )(?<!feel )(?<!felt )(?<!sounds )(?<!sound )(?<!"
    r"seems )(?<!is )"
    r"(?<!are )(?<!was )(?<!were )(?<!just )(?<!more )(?<!something )(?<!tastes )(?<!smells )(?<!"
    r"acts )(?<!things )"
)
_PREFERENCE = re.compile(
    r"喜欢|喜爱|喜好|钟爱|偏爱|偏好|爱好|习惯|讨厌|厌恶|反感|不爱|最爱|爱吃|爱喝|爱看|爱听|爱玩|"
    r"不吃|不喝|只吃|只喝|忌口|忌讳|过敏|受不了|"
    r"宁可|更想|口味|"
    r"\b(?:prefers?|preferred|loves?|loved|hates?|hated|dislikes?|enjoys?|favou?rites?|fond of|"
    r"allergic|allergy|"
    r"allergies|vegetarian|vegan|can't stand|would rather|into)\b|"
    rf"{_LIKENESS}\b(?:likes?|liked)\b(?! (?:this|that|a lot of people)\b)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"决定(?!性|因素|于)|决策|决议|敲定|商定|议定|选定|拍板|达成一致|说好了|约好了?|定下来|改用|"
    r"采用|采纳|一致同意|"
    r"\b(?:decided?|decision|agreed (?:to|on|that)|chose|chosen|settled on|opted|resolved to|"
    r"going with|"
    r"switched to)\b",
    re.IGNORECASE,
)
_PATTERN = re.compile(
    r"规律|发现|总结|诀窍|窍门|技巧|经验是|原来是因为|解决办法|解决方案|解决方法|办法是|做法是|"
    r"步骤|教训|原因是|"
    r"\b(?:solutions?|solved by|workarounds?|patterns?|tricks?|tips?|lessons?|turns out|the fix|"
    r"fixed by|"
    r"rule of thumb|best practice|root cause|how to)\b",
    re.IGNORECASE,
)
# 是 in 但是, 还是, 总是 … joins or asks; "今天是周一" names no thing.
_ENTITY = re.compile(
    r"(?<![但还总就可要于只不若凡老硬或算而都也倒])是(?![否不因在为什怎吗么谁哪])"
    r"(?!周[一二三四五六日天末几]|星期)(?!.{0,3}[？?]\s*$)|"
    r"担任|负责|叫做|名叫|就叫|叫作|生日|住在|家住|来自|毕业于|任职|就职|上班|工作于|职业|位于|"
    r"坐落|属于|"
    r"儿子|女儿|妻子|丈夫|老婆|老公|同事|同学|邻居|的狗|的猫|"
    r"\b(?:(?:is|was|are|were) (?:a|an|the|my|our|his|her|their|your|called|named|from|in charge|"
    r"responsible|born|married|located)|"
    r"[A-Z][\w'-]+ (?:is|was)|works? (?:as|at|for|in)|lives? (?:in|at|on|with)|named|called|"
    r"birthday|born (?:in|on)|"
    r"comes? from|belongs to|my (?:sister|brother|wife|husband|son|daughter|mother|father|mom|"
    r"mum|dad|boss|"
    r"friend|dog|cat|neighbou?r|colleague|grandma|grandpa))\b",
    re.IGNORECASE,
)
_NOT_A_THING = re.compile(
    r"^(?:今天|昨天|明天|前天|后天|现在|今年|去年|明年)是|\b(?:it|there|this|that|what|today|"
    r"yesterday) (?:is|was)\b",
    re.IGNORECASE,
)
_NOBODY = re.compile(
    r"(?:但是|不过|然而|所以|而且|还是|好的|今天|昨天|明天|前天|后天|刚才|刚刚|你)|"
    r"(?:it|there|this|that|what|today|yesterday|but|so|you)\b|.*[?？]\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""Matches how a text begins, or a question ends, that does not describe a person or a thing."""
_SCHEDULE = re.compile(
    r"[每逢](?:年|个?月|[个隔]?(?:周|星期|礼拜)|天|日|[早晚])|"
    r"\b(?:every|each)\s+(?:other\s+)?(?:day|week|weekday|weekend|month|morning|evening|night|"
    r"mon|tues|wednes|thurs|fri|satur|sun)|\bon\s+(?:\w+days|weekends)\b",
    re.IGNORECASE,
)
"""Matches a recurring time."""
_YEAR = re.compile("[0-9]{4}")
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001  (asked is only whether there is a day)
_LONGEST_ORDER, _LONGEST_RULE = 400, 160
"""Characters. A longer text is a forwarded page, which has a 必须 somewhere."""

_BY_SUBJECT = frozenset({Topic.ENTITIES, Topic.PREFERENCES, Topic.DECISIONS, Topic.PATTERNS})
_BY_KIND = {
    MemoryKind.EMOTIONAL: Topic.PREFERENCES,
    MemoryKind.TASK: Topic.TASKS,
    MemoryKind.SKILL: Topic.PATTERNS,
}
_BY_WORDS = (
    (_DECISION, Topic.DECISIONS),
    (_PREFERENCE, Topic.PREFERENCES),
    (_PATTERN, Topic.PATTERNS),
)


def route(kind: MemoryKind, text: str, *, trusted: bool) -> Topic:
    """Returns the topic for a memory. Only a trusted speaker reaches the instructions.

    Tasks, skills and feelings are routed by kind. Events are routed to the journal unless they
    state a decision or a recurring time. Knowledge is routed by its words; without a more specific
    word it describes a person or a thing and is routed to the entities, unless it has a day. A text
    that would override existing rules is no rule, with any speaker.
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind is MemoryKind.EVENT:
        if _DECISION.search(text):
            return Topic.DECISIONS
        return Topic.ENTITIES if _SCHEDULE.search(text) else Topic.JOURNAL
    if trusted and _is_rule(text):
        return Topic.INSTRUCTIONS
    for words, topic in _BY_WORDS:
        if words.search(text):
            return topic
    return Topic.ENTITIES if _names_a_thing(text) or _is_lasting(text) else Topic.JOURNAL


def beside(
    former: Topic | None,
    kind: MemoryKind,
    text: str,
    *,
    trusted: bool,
    wanted: Topic | None = None,
) -> Topic:
    """Returns the topic for an entry's replacement: the former topic if it is one by subject. A
    done task is no longer a task; a journal belongs to its day. ``wanted`` decides in place of the
    words, but leads only a trusted speaker to the instructions."""
    refused = wanted is Topic.INSTRUCTIONS and not trusted
    own = route(kind, text, trusted=trusted) if wanted is None or refused else wanted
    stays = former in _BY_SUBJECT and own not in (Topic.INSTRUCTIONS, Topic.TASKS)
    return former if former is not None and stays else own


def _is_rule(text: str) -> bool:
    like = order_like(text)
    if like is OrderLike.TAKEOVER or len(text) > _LONGEST_ORDER:
        return False
    if like is OrderLike.STANDING:
        return True
    asks = "?" in text or "？" in text
    return not asks and len(text) <= _LONGEST_RULE and _INSTRUCTION.search(text) is not None


def _names_a_thing(text: str) -> bool:
    return _ENTITY.search(_NOT_A_THING.sub(" ", text)) is not None


def _is_lasting(text: str) -> bool:
    """Returns whether a text describes a lasting state of a person or a thing, not an event."""
    if not text.strip() or len(text) > _LONGEST_RULE or order_like(text) is OrderLike.TAKEOVER:
        return False
    return _NOBODY.match(text) is None and not _has_day(text)


def _has_day(text: str) -> bool:
    spans = find_times(text, _ANY_TIME)
    return any(
        span.precision is Precision.DAY and (span.relative or _YEAR.search(span.words))
        for span in spans
    )
