"""Where a thing is: it is in one place, wherever others saw it before. Pure.

Two people may each tell where the ladder is, in hardly a word that both use; the one who said it
last knows best.
"""

from __future__ import annotations

import re
from typing import Final

from .same_fact import OF_SPEAKER

_PREPOSITIONS: Final = (
    "(?:in|on|at|under|behind|with|inside|above|below|near|next to|beside|by|to|into|upstairs|"
    "downstairs)"
)
_ASKED: Final = re.compile(
    r"\bwhere(?:'s|\sis|\sare)\s(?:the|our)\s(?P<thing>[a-z][a-z -]{1,40}?)"
    r"(?:\s(?:now|going|going\sto\sgo|kept|stored))*\s?\?*$|"
    "^(?P<wide>[\u4e00-\u9fff]{2,10}?)(?:现在|目前|如今)?[放搁收存]?在"
    "(?:哪[里儿]?|谁(?:那[里儿]?|手[里上]|家)?)[呢啊呀]?[？?]*$",
    re.IGNORECASE,
)
_NARROW_PLACE: Final = (
    r"\s(?:(?:is|are|will|go|goes|going|has|have|been|be|now|moved|kept|stored|put|live|lives|"
    rf"stays?|belongs?|back)\s){{1,4}}{_PREPOSITIONS}\b"
)
_WIDE_PLACE: Final = (
    "(?:(?:现在|已经?|都|就|先|改|还是?)?(?:[在放搁挪搬]|[收存]在)"
    "|[\u4e00-\u9fff]{0,4}?(?:交|还|借|拿|带)?给(?=[^我]|我了))"
)
_LONGER: Final = re.compile(r"^[a-z-]+\s(?=[a-z])|^.*", re.IGNORECASE)
"""What a thing's name may be without, later: its first word, if there is another."""
_CLAUSE: Final = "(?:^|[，,。；;！!？?.\n])"
_OF_ALL: Final = "[里上]的?|[队组班团社店厂校院系部室]的|(?:公司|宿舍|教室)的?"
_WHICH: Final = f"(?P<which>[\u4e00-\u9fff]{{0,4}}(?:{_OF_ALL}))?"
"""店里的备用钥匙 or 公司备用钥匙 of before is 备用钥匙 of now; 小鹿的备用钥匙 need not be."""


def tells_a_later_place(old: str, new: str, question: str) -> bool:
    """Whether the question is where one thing is, and both say it of that thing: ``new`` names none
    that ``old`` does not."""
    asked = _ASKED.search(question.strip().replace("’", "'"))
    if asked is None:
        return False
    thing = asked[asked.lastgroup or 0]
    if OF_SPEAKER.search(thing):
        return False
    before, after = _place_of(thing, old), _place_of(thing, new)
    if after is None and (rest := _LONGER.sub("", thing)):  # the spare keys, the keys
        after = _place_of(rest, new)
    if before is None or after is None:
        return False
    return not after["which"] or after["which"] == before["which"]


def _place_of(thing: str, text: str) -> re.Match[str] | None:
    """What says where the thing is."""
    name = re.escape(thing)
    narrow = rf"{_CLAUSE}\s?(?P<which>)(?:(?:the|our)\s)?{name}{_NARROW_PLACE}"
    wide = f"{_CLAUSE}\\s?{_WHICH}{name}{_WIDE_PLACE}"
    return re.search(narrow if thing.isascii() else wide, text, re.IGNORECASE)
