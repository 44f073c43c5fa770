"""Whether a text asks, and what it states apart from what it asks and supposes. Pure."""

from __future__ import annotations

import re
from typing import Final, Literal

from .data import PATTERNS
from .scripts import HAN, simplified

type Mood = Literal["stated", "asked", "supposed", "joked"]

SENTENCE: Final = re.compile(r"[^。！？!?；;\n]+[。！？!?；;\n]?")
CLAUSE: Final = re.compile(
    r"(?:[^，,。！？!?；;\n]|(?<=[0-9]),(?=[0-9]))+(?:[，。！？!?；;\n]|,(?![0-9]))?"
)
_SPACE: Final = re.compile(r"(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")
"""Stands for a comma in chats."""


def _says(kind: str, text: str) -> bool:
    return PATTERNS[kind].search(text) is not None


def asks_what(text: str) -> bool:
    """Returns whether a text has a word for what is asked for: 什么, who."""
    return _says("asks_for", simplified(text))


def asks(text: str) -> bool:
    """Returns whether a message is a question or a request to be told, as far as its form shows."""
    text = simplified(text)
    return any(_says(form, text) for form in ("question", "asks_for", "request"))


def is_yes_or_no(text: str) -> bool:
    """Returns whether a message asks whether something is so, and for nothing else."""
    text = simplified(text)
    others = any(_says(form, text) for form in ("asks_for", "request", "and_how"))
    return _says("question", text) and not others


def stated(text: str) -> str:
    """Returns a text's statements, without what it asks, supposes or says as a joke. Of a question
    what it speaks of is stated: 我明天去北京，要带伞吗？"""
    return "".join(clause for clause, mood in read(text) if mood == "stated")


def supposes(text: str) -> bool:
    """Returns whether a text tells of what may be, and not of what is."""
    return _says("supposed", simplified(text))


def read(text: str) -> list[tuple[str, Mood]]:
    """Returns the pieces of a text, in one script, each with how it is meant."""
    found: list[tuple[str, Mood]] = []
    text = PATTERNS["stop"].sub("\\1\n", _SPACE.sub("，", simplified(text)))
    for sentence in SENTENCE.findall(text):
        if _says("joked", sentence):
            serious = PATTERNS["but"].search(sentence)
            told = sentence[serious.start() :] if serious else ""
            # It is what was said before that was a joke.
            found = [(piece, "joked") for piece, _ in found] + [(sentence, "joked")]
            found += [(told, "stated")] if told and not _says("joked", told) else []
        elif _says("tag", sentence):
            found.append((sentence, "asked"))
        else:
            supposed = PATTERNS["supposed"].search(sentence)
            end = supposed.start() if supposed else len(sentence)
            for clause in CLAUSE.findall(sentence[:end]):
                found += _parted(clause)
            found += _supposed(sentence[end:]) if supposed else []
    return found


def _supposed(text: str) -> list[tuple[str, Mood]]:
    """Returns what a condition is followed by: in English only what would come of it is supposed:
    if anyone has spare gloves, I'm allergic to latex."""
    if HAN.search(text):
        return [(text, "supposed")]
    first, *rest = CLAUSE.findall(text)
    moods: list[Mood] = ["supposed" if _says("then", one) else "stated" for one in rest]
    return [(first, "supposed"), *zip(rest, moods, strict=True)]


def _parted(clause: str) -> list[tuple[str, Mood]]:
    if not _says("asked", clause) or _says("no_question", clause):
        return [(clause, "stated")]
    if not HAN.search(clause):
        kind = "own_thing" if PATTERNS["whether"].match(clause) else "own"
        own: list[tuple[str, Mood]]
        own = [(one[0], "stated") for one in PATTERNS[kind].finditer(clause)]
        return [(clause, "asked"), *own[:1]]
    begins = PATTERNS["from_here"].search(clause)
    first = begins.start() if begins else 0
    told: Mood = "stated" if _says("tells", clause[:first]) else "asked"
    return [(clause[:first], told), (clause[first:], "asked")]
