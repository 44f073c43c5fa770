"""A question that has to go through another person or thing: 小明的老板爱喝什么. Pure.

The memory 小明的老板是老周 shares 小明的老板 with it; what it says beside, 老周, is put in
its place, and asked next: 老周 爱喝什么.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

MOST_NAMES: Final = 2
"""Of one memory: what says more is a story, not a relation."""
_LONGEST_NAME: Final = 12
_LEAST: Final = 2
"""Characters that a question and a memory have to share."""
_LONGEST_TEXT: Final = 120
_CLAUSE: Final = re.compile(r"[,，。;；:：!！?？、\n()（）“”\"]+|\.(?=\s|$)")
_HAN: Final = "\u3400-\u9fff"
# What stands between two things, and says no thing itself.
_BETWEEN: Final = re.compile(
    r"就是|叫做|叫作|名叫|担任|来自|住在|家住|位于|属于|负责|[是叫姓为在]|"
    r"\b(?:is|was|are|were|called|named|lives? (?:in|at|with)|works? (?:as|at|for|in|with)|"
    r"(?:comes?|came) from|belongs to|in|at|from|of)\b"
)
_BETWEEN_EDGE: Final = re.compile(rf"^(?:{_BETWEEN.pattern})+|(?:{_BETWEEN.pattern})+$")
_EDGE: Final = re.compile(
    r"^(?:[的了也都还就和与跟对给把被由从到去这那个位只有之\W_]|(?:the|a|an|my|our|his|her|their)\b)+"
    r"|(?:[的了呢吧啊呀吗之对由\W_]|'s\b)+$"
)
_EMPTY: Final = re.compile(
    r"[我你您他她它们的是了在吗呢吧啊呀么嘛哪谁什怎样几多少个位叫名字姓有和与跟对给为请问告诉知道记得"
    r"还也都就那这一下\W_]|\b(?:who|what|which|where|when|how|is|are|was|were|do|does|did|the|a|an|of|"
    r"name|named|called|my|your|his|her|their|our|you|i|me|tell|know|remember|s)\b"
)
_WORDS: Final = re.compile(rf"[{_HAN}]+|[a-z0-9][a-z0-9'-]*")


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """What to ask when a memory has told what a question meant. ``source`` is its number, ``names``
    what an answer has to speak of."""

    source: int
    text: str
    names: tuple[str, ...] = ()


def speaks_of(text: str, names: Sequence[str]) -> bool:
    """True if a text holds one of the names."""
    folded = _folded(text)
    return any(name in folded for name in names)


def next_questions(query: str, texts: Sequence[str], most: int) -> list[NextQuestion]:
    """At most ``most`` questions that follow from a question and what memories say of those whom it
    names, in the memories' order. None where nothing is asked beyond what they say."""
    asked = _folded(query)
    found: dict[str, NextQuestion] = {}
    for number, text in enumerate(texts):
        if len(found) >= most:
            break
        normalised = _folded(text)
        if len(normalised) > _LONGEST_TEXT:
            continue
        for clause in _CLAUSE.split(normalised):
            following = _through(asked, clause)
            if following is not None:
                names, question = following
                found.setdefault(question, NextQuestion(number, question, names))
                break
    return list(found.values())[:most]


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


def _through(asked: str, clause: str) -> tuple[tuple[str, ...], str] | None:
    """Names, and the question with the clause's other side in the place of what both name."""
    shared = _shared(asked, clause)
    if not shared:
        return None
    rest = asked
    for piece in shared:
        rest = rest.replace(piece, " ")
    if not _EMPTY.sub("", rest):  # 小明的老板是谁: the memory is the answer
        return None
    for piece in shared:
        clause = clause.replace(piece, "\n")
    if not _BETWEEN.search(clause):  # 图书馆周一闭馆 tells of no second thing
        return None
    names = tuple(name for name in _names(clause) if name not in asked)
    if not names or len(names) > MOST_NAMES:
        return None
    return names, " ".join((*names, *rest.split()))


def _shared(asked: str, clause: str) -> list[str]:
    """What both say: words of Latin letters whole, of Han the longest run, and none that names
    nothing."""
    matcher = SequenceMatcher(None, asked, clause, autojunk=False)
    block = matcher.find_longest_match()
    run = asked[block.a : block.a + block.size].strip(" ")
    if re.search(f"[{_HAN}]", run):
        run = _EDGE.sub("", re.sub(rf"^[^{_HAN}]+|[^{_HAN}]+$", "", run))
        run = _BETWEEN_EDGE.sub("", run)
        return [run] if len(_EMPTY.sub("", run)) >= _LEAST else []
    words = {word for word in _WORDS.findall(clause) if len(word) > _LEAST}
    common = [word for word in _WORDS.findall(asked) if word in words and _EMPTY.sub("", word)]
    return list(dict.fromkeys(common))


def _names(clause: str) -> Iterator[str]:
    """What is left of a clause and may be a name or a place."""
    for part in _BETWEEN.sub("\n", clause).split("\n"):
        name = _EDGE.sub("", _EDGE.sub("", part).strip()).strip()
        if len(name) >= _LEAST and len(name) <= _LONGEST_NAME and _EMPTY.sub("", name):
            yield name
