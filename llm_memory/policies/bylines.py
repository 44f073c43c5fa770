"""Who a speaker is, beside a name that anybody can take. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from .text import clean

UNKNOWN: Final = "?"
"""In the place of an account where none is known."""
_TAIL: Final = 4
_HASH: Final = 6
_PLAIN: Final = re.compile("[^0-9A-Za-z]")
_ROLE: Final = re.compile(
    "管理员|群主|主人|系统|官方|机器人|插件|站长|版主|"
    r"\b(?:admin|administrator|owner|system|assistant|moderator|mod|root|bot|official)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def folded_name(name: str) -> str:
    """The name as people read it: without case, width, blanks and what nobody can see."""
    return "".join(unicodedata.normalize("NFKC", clean(name)).casefold().split())


def claims_a_role(name: str) -> bool:
    """True for a nickname that reads like an office: 管理员, system."""
    return _ROLE.search(unicodedata.normalize("NFKC", clean(name))) is not None


def account_mark(person: str, others: Collection[str]) -> str:
    """A short, stable mark of an account: the end of its id, or some digits of a hash where that is
    not plain or another account ends alike.

    Args:
        person: ``<adapter>:<id>``, empty where no account is known.
        others: The accounts from which it has to be told.
    """
    if not person:
        return UNKNOWN
    tail = _tail(person)
    if not tail or any(_tail(other) == tail for other in others):
        return hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return tail


def _tail(person: str) -> str:
    tail = person.partition(":")[2][-_TAIL:]
    return "" if _PLAIN.search(tail) else tail
