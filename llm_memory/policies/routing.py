"""Which topic file a memory goes to, by its kind and its words."""

from __future__ import annotations

import re

from ..models.data_models import MemoryKind, Topic

_INSTRUCTION = re.compile(
    r"必须|务必|一定要|不要|不准|禁止|以后都|每次都|\b(?:always|never|must|do not|don't)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"喜欢|喜爱|偏好|习惯|讨厌|最爱|爱吃|爱喝|不吃|忌口|过敏|"
    r"\b(?:prefers?|likes?|loves?|hates?|dislikes?|favou?rite|allergic|allergy)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"决定|决策|采用|敲定|商定|\b(?:decided?|decision|agreed to)\b", re.IGNORECASE
)
_PATTERN = re.compile(
    r"规律|发现|总结|诀窍|解决办法|解决方案|\b(?:solution|workaround|pattern|trick)\b",
    re.IGNORECASE,
)
_ENTITY = re.compile(
    r"是|担任|负责|叫做|名叫|生日|住在|\b(?:is|are|was|works? (?:as|at)|lives? in|named|called)\b",
    re.IGNORECASE,
)
_BY_KIND = {
    MemoryKind.EMOTIONAL: Topic.PREFERENCES,
    MemoryKind.TASK: Topic.TASKS,
    MemoryKind.SKILL: Topic.PATTERNS,
}
_BY_WORDS = (
    (_PREFERENCE, Topic.PREFERENCES),
    (_DECISION, Topic.DECISIONS),
    (_PATTERN, Topic.PATTERNS),
    (_ENTITY, Topic.ENTITIES),
)


def route(kind: MemoryKind, text: str, *, trusted: bool) -> Topic:
    """The topic for a memory. Nobody but a trusted speaker reaches the instructions.

    Tasks, skills and feelings go by their kind; events go to the journal unless they tell of a
    decision; knowledge goes by its words, and to the journal where no word says more.
    """
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if kind is MemoryKind.EVENT:
        return Topic.DECISIONS if _DECISION.search(text) else Topic.JOURNAL
    if trusted and _INSTRUCTION.search(text):
        return Topic.INSTRUCTIONS
    return next((topic for words, topic in _BY_WORDS if words.search(text)), Topic.JOURNAL)
