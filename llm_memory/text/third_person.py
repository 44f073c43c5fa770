"""Tells in the third person what a speaker said of himself. Pure.

What may be somebody else's 我 stays, and so does what English would have to say otherwise.
"""

from __future__ import annotations

import re

from .data import PATTERNS, lines_of
from .safe_text import shown_name
from .scripts import simplified

_OTHERWISE = dict(line.split() for line in lines_of("third_person"))


def third_person(text: str, who: str) -> str:
    """Returns what a speaker said with his name for the first person, or the text as it is."""
    name, plain = shown_name(who), simplified(text)
    known = not name or simplified(name) in plain
    plain = PATTERNS["apart"].sub(lambda apart: " " * len(apart[0]), plain)
    found = list(PATTERNS["first_person"].finditer(plain))
    if known or not found or PATTERNS["left"].search(plain):
        return text
    forms = {form for own in found for form, word in own.groupdict().items() if word}
    others = PATTERNS["any_first_person"].search(PATTERNS["first_person"].sub("", plain))
    if others or ("i" in forms and forms & {"my", "mine", "me"}):
        return text
    joined = PATTERNS["and"].search(plain) is not None
    parts, end = [], 0
    for own in found:
        first = max(map(own.start, ("han", "my", "mine", "me", "i")))
        told = _with_verb(name, own, joined=joined)
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
    if not PATTERNS["alike"].fullmatch(verb):
        verb = "" if joined else _OTHERWISE.get(verb, "")
    return verb and f"{name}{own['adverb']} {verb}"
