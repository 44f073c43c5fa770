"""The frame of an English question: what it asks for: what name, which company, how many. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .lazy_pattern import lazy_pattern

Span = tuple[int, int]

_HELP: Final = (
    r"(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|should|shall|may|might|must"
    r"|am)(?:n['’]?t)?\b|can't|won't|cannot\b"
)
"""Verbs that stand before the subject of a question, behind the noun that is asked for."""
_KIND_OF: Final = (
    r"(?:(?:kind|sort|type|brand|make|model|style|colou?r|size|amount|number|part|year|day|time)s?"
    r"\sof\s(?:an?\s|the\s)?)?"
)
_KINDS: Final = (
    r"(?:(?:full\s|first\s|last\s|middle\s|new\s|old\s|phone\s|exact\s)?(?:time|times|day|days|date|"
    r"weekday|week|month|year|season|hour|minute|name|nickname|surname|address|number|email|colou?r|"
    r"size|shape|kind|type|sort|brand|make|model|company|firm|employer|business|job|position|role|"
    r"profession|occupation|industry|department|school|college|university|major|place|spot|city|"
    r"town|village|country|state|street|district|neighbou?rhood|floor|room|seat|train|flight|bus|"
    r"platform|gate|station|price|cost|fee|age|height|weight|title|topic|subject|theme|reason|"
    r"way|ways|method|relationship|status|amount|money|people|person|thing|things|one)s?)"
)
"""Nouns that name a kind of answer, whatever was spoken of."""
_KIND = re.compile(rf"(?:{_KIND_OF}\s?)?(?:{_KINDS})?", re.IGNORECASE)
_NO_NOUN: Final = (
    rf"(?!(?:{_HELP}|(?:happen(?:ed|s)|about|if|else|ever|exactly|a|an|the|to|for|of|all|in|on|at|"
    r"i|you|we|he|she|it|they|my|our|his|her|their|your|that|this|these|those|makes?|made|goes|"
    r"went|came|comes|gives?|gave|causes?|caused|keeps?|kept|helps?|worked|now|next|then|so|not)\b))"
)
_WORD: Final = r"[a-z][a-z'’-]*"
_ASKED = lazy_pattern(
    rf"\b(?:[Ww]hat|[Ww]hich|[Ww]hose|[Hh]ow\s(?:many|much))(?:\s[A-Z][\w'’-]*)?\s{_NO_NOUN}"
    rf"(?P<kind>{_KIND_OF}{_WORD}(?:\s{_WORD}){{0,2}}?)(?=\s(?:{_HELP}))"
)
"""What day do we ...: all before the verb."""
_FIRST = lazy_pattern(
    rf"(?:^|[.!?;:,]\s*|\b(?:and|so|in|at|on|to|from|for|with|by|of)\s)"
    rf"(?:[Ww]hich|[Ww]hat|[Hh]ow\s(?:many|much))\s{_NO_NOUN}"
    rf"(?![a-z]{{3,}}ed\s)(?P<kind>{_KIND_OF}{_WORD})"
)
"""Which train leaves at nine: the verb itself comes next."""
_MEASURE = lazy_pattern(
    r"\b[Hh]ow\s(?P<kind>long(?:\sago)?|old|tall|often|far|big|large|high|fast|late|early|heavy|deep"
    r"|wide|soon|expensive|many\stimes|much\stime)\b"
)
_EMBEDDED = lazy_pattern(rf"\b(?:what|which)\s(?P<kind>{_KIND_OF}{_KINDS})\b")
"""Do you know what time the gig starts."""
_IS: Final = r"(?:\s(?:is|are|was|were|will\sbe)|['’]s|['’]re)\s"
_ATTRIBUTE_OF = lazy_pattern(
    rf"\b(?:[Ww]hat|[Ww]ho|[Ww]hen|[Ww]here){_IS}(?:the|our|my|your)\s"
    rf"(?P<kind>{_WORD}(?:\s{_WORD}){{0,2}}?)\s(?:of|for)\b"
)
"""What is the name of ..., who is the owner of ..."""
_ATTRIBUTE = lazy_pattern(
    rf"\b(?:[Ww]hat|[Ww]ho){_IS}(?:(?!(?:of|for)\s)\S+\s){{0,3}}?[\w-]+(?:['’]s|s['’])\s"
    rf"(?P<kind>{_WORD}(?:\s{_WORD}){{0,2}}?)"
    r"(?=\s(?:now|again|called|these\sdays|today)\b|[?.!]|\s*$)"
)
"""What is Tess's favourite colour; who is Kofi's employer."""
_TOLD = lazy_pattern(
    r"\b(?:tell\sme|(?:do|can|could)\syou\s(?:still\s)?(?:remember|know|recall)|remind\sme\sof|"
    r"i\sforgot)\b"
    r"[^.!?]*?"
    rf"\b(?:the\s(?P<kind>{_KINDS})\sof|(?:['’]s|s['’])\s(?P<owned>{_KINDS})\s*(?:[?.!]|$))",
    re.IGNORECASE,
)
_NAMED = lazy_pattern(
    r"\b(?:what|which|how)\b[^.!?]*?\b(?P<kind>called|named|name|call)\s*"
    r"(?:now|again|these\sdays|it|him|her|them)?\s*(?:[?.!]|$)"
    r"|\bwhat\s(?:did|do|does|have|has|had|should)\s\w+\s(?P<names>name|call|named|called)\b",
    re.IGNORECASE,
)
_PLACED = lazy_pattern(
    r"\b(?:where|(?:what|which)\s(?:company|firm|place|city|town|country|school|office|shop))"
    r"\s(?:do|does|did|is|are|was|were)\b[^.!?]*?"
    r"\b(?P<kind>work(?:s|ed|ing)?|liv(?:e|es|ed|ing)|located|based|employed)\b",
    re.IGNORECASE,
)
_PATTERNS: Final = (
    _ASKED, _FIRST, _MEASURE, _EMBEDDED, _ATTRIBUTE_OF, _ATTRIBUTE, _TOLD, _NAMED, _PLACED,
)  # fmt: skip
_BARE: Final = frozenset((_MEASURE, _EMBEDDED, _TOLD, _NAMED, _PLACED))


def english_frame(text: str) -> Iterator[tuple[Span, bool]]:
    """Where the frame stands in a text; and whether that part of it says nothing but the kind of
    answer."""
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            for name in pattern.groupindex:
                if match[name]:
                    bare = pattern in _BARE or _KIND.fullmatch(match[name]) is not None
                    yield match.span(name), bare
