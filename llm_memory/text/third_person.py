"""Tells in the third person what a speaker said of himself. Pure.

What may be somebody else's 我 stays, and so does what English would have to say otherwise.
"""

from __future__ import annotations

import re
from typing import Final

from .safe_text import shown_name
from .same_meaning import PERSONS
from .scripts import simplified

_KIN: Final = "|".join(("妈", "爸", "朋友", "男朋友", "女朋友", *sorted(PERSONS)))
_APART: Final = re.compile(
    r"“[^”]*”|「[^」]*」|『[^』]*』|《[^》]*》|\"[^\"]*\"|`[^`]*`|[自忘无]我|我(?:国(?!庆)|方|军)"
)
"""Words of others, titles, and words in which 我 is no person."""
_LEFT: Final = re.compile(
    r"我们(?!家)|俺们|咱|[我俺][俩仨辈]|[你您“”「」『』《》\"`]|(?<!\d)[:：][^。！？!?\n]*[我俺]|"
    r"(?<![我俺小])(?:说(?![话明服])|问|讲|告诉|表示|回答|叫|喊)[^。！？!?；;\n]*[我俺]|"
    r"\b(?:we|us|ours?|yours?|you|myself|i['’]d|sa(?:ys?|id)|tells?|told|ask(?:s|ed)?|writes?|"
    r"wrote|thinks?|thought|and i)\b",
    re.IGNORECASE,
)
"""May be said by somebody else, or of more people than the speaker."""
_OWN: Final = re.compile(
    rf"(?P<han>[我俺](?:们(?=家))?)(?P<kin>(?={_KIN}))?|\b(?P<my>my)\b|"
    r"\b(?:is|are|was|were|of)\s+(?P<mine>mine)\b|"
    r"\b(?:about|by|call|for|from|gave|give|lets?|of|remind|suits|than|to|with)\s+(?P<me>me)\b|"
    r"(?:^|[.!?;,]\s*|\b(?:after|because|before|if|since|so|that|until|what|when|where|while)\s+)"
    r"(?P<i>i)(?P<adverb>(?:\s+(?:also|always|never|often|only|really|still|usually))?)\s*"
    r"(?P<verb>['’](?:m|ve|ll)|\b\w+?(?:n['’]t)?)\b(?!['’])",
    re.IGNORECASE,
)
_ANY: Final = re.compile(r"[我俺]|\b(?:i|my|me|mine)\b", re.IGNORECASE)
_AND: Final = re.compile(r"\b(?:and|but|or|then)\b|&", re.IGNORECASE)
_OTHERWISE: Final = {
    "am": "is", "'m": "is", "have": "has", "'ve": "has", "haven't": "hasn't", "do": "does",
    "don't": "doesn't",
} | {
    verb: f"{verb}s"
    for verb in (
        "believe", "collect", "commute", "drink", "drive", "eat", "hate", "hope", "keep", "know",
        "like", "live", "love", "need", "own", "plan", "play", "prefer", "sleep", "speak", "take",
        "use", "walk", "want", "work",
    )
}  # fmt: skip
_ALIKE: Final = re.compile(
    r"(?:will|would|ca|could|should|must|may|might|was|had|did|wo|have)?n't|will|would|can|"
    r"cannot|could|should|must|may|might|was|had|did|ate|began|bought|broke|came|drank|forgot|"
    r"found|gave|got|kept|left|lost|made|met|paid|ran|saw|sent|slept|sold|took|went|won|\w+[^e\W]ed"
)
"""Verbs that are the same of another person."""


def third_person(text: str, who: str) -> str:
    """Returns what a speaker said with his name for the first person, or the text as it is."""
    name = shown_name(who)
    plain = _APART.sub(lambda apart: " " * len(apart[0]), simplified(text))
    found = list(_OWN.finditer(plain))
    if not found or not name or simplified(name) in simplified(text) or _LEFT.search(plain):
        return text
    forms = {form for own in found for form, word in own.groupdict().items() if word}
    if _ANY.search(_OWN.sub("", plain)) or ("i" in forms and forms & {"my", "mine", "me"}):
        return text
    parts, end = [], 0
    for own in found:
        first = max(map(own.start, ("han", "my", "mine", "me", "i")))
        told = _with_verb(name, own, joined=_AND.search(plain) is not None)
        if not told:
            return text
        parts += [text[end:first], told]
        end = own.end()
    return "".join([*parts, text[end:]])


def _with_verb(name: str, own: re.Match[str], *, joined: bool) -> str:
    """Returns the name with what stands behind it; empty where the verb, or one that is joined to
    it, may have to be another one."""
    if not own["i"]:
        if own["my"] or own["mine"]:
            return f"{name}'s"
        return name if own["kin"] is None else f"{name}的"
    verb = own["verb"].lower().replace("’", "'").replace("'ll", "will")
    if not _ALIKE.fullmatch(verb):
        verb = "" if joined else _OTHERWISE.get(verb, "")
    return verb and f"{name}{own['adverb']} {verb}"
