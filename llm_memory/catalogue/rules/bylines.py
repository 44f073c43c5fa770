"""Identifies a speaker beyond a display name, which is free to choose. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from ...models.recall import UNKNOWN
from ...text.normalising import one_line
from ...text.safe_text import BLANKS
from ...text.scripts import WIDE, fold

_TAIL: Final = 4
_HASH: Final = 6
_READ: Final = 300
"""Characters of a question: names stand in the talk before it, too."""
_LONGEST: Final = 16
_PLAIN: Final = re.compile("[^0-9A-Za-z]")
_ROLE: Final = re.compile(
    "管理员|超管|群主|主人|系统|官方|机器人|插件|站长|版主|"
    "(?<![a-z])(?:admin|administrator|owner|system|assistant|moderator|mod|root|bot|official)"
    "(?![a-z])"
)
_UNSEEN: Final = "CMZ"
"""First letters of the Unicode categories of invisible characters: controls and formats, combining
marks, separators."""


@lru_cache(maxsize=4096)
def folded_name(name: str) -> str:
    """Returns the name as people read it: without case, width, blanks and invisible characters."""
    return _as_read(name).replace(" ", "")


def names_in(text: str) -> Iterator[str]:
    """Returns whatever in a folded text may be a name: two characters and more, words whole."""
    text = text[:_READ]
    begins = [at for at in range(len(text)) if _may_part(text[:at][-1:], text[at])]
    ends = [at for at in range(1, len(text) + 1) if _may_part(text[at : at + 1], text[at - 1])]
    for first in begins:
        for last in ends[bisect_left(ends, first + 2) :]:
            if last - first > _LONGEST:
                break
            yield text[first:last]


def _may_part(beside: str, end: str) -> bool:
    return end.isalnum() and (WIDE.match(end) is not None or not beside.isalnum())


def claims_a_role(name: str) -> bool:
    """True for a nickname that reads like an office: 管理员, system."""
    read = _as_read(name)
    letters = "".join(filter(str.isalnum, read))  # 管·理·员
    return any(map(_ROLE.search, (read, letters)))


def account_mark(person: str, others: Collection[str]) -> str:
    """Returns a short, stable mark of an account: the end of its id, or some digits of a hash where
    that end is not plain or another account shares it.

    Args:
        person: ``<adapter>:<id>``, empty where no account is known.
        others: The accounts from which the mark must differ.
    """
    if not person:
        return UNKNOWN
    tail = _tail(person)
    if not tail or any(_tail(other) == tail for other in others):
        return hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return tail


def _as_read(name: str) -> str:
    """Returns the name with single spaces and without invisible characters."""
    plain = fold(name)
    seen = (" " if one.isspace() or one in BLANKS else one for one in plain)
    kept = (one for one in seen if one == " " or unicodedata.category(one)[0] not in _UNSEEN)
    return one_line("".join(kept))


def _tail(person: str) -> str:
    tail = person.partition(":")[2][-_TAIL:]
    return "" if _PLAIN.search(tail) else tail
