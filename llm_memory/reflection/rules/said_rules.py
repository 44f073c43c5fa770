"""Standing instructions that an admin gives the bot in plain talk: 以后你回答不要超过三句话. Pure.

Only the admin's own words are examined, never the model's answer: so no text can manipulate the
model into a rule. A one-time order (你必须马上回答), reported speech, a question, or an attempt to
override existing rules is no rule.
"""

from __future__ import annotations

import re
from typing import Final

from ...remember.rules.gate import order_like
from ...text.stated import SENTENCE

_LONGEST: Final = 120
_LASTING: Final = re.compile(
    r"以后|今后|往后|从现在起|从今|从此|每次|任何时候|永远|一律|不管谁|无论谁|"
    r"\b(?:from now on|always|never|every time|whenever)\b",
    re.IGNORECASE,
)
_REPORTED: Final = re.compile(
    r"[“”「」『』\"]|(?:说|讲|写|规定|要求|告诉我|转告|听说)[：:，,]|(?:他|她|他们|人家|有人|老板|老师|对方)[^，。]{0,4}说|"
    r"\b(?:he|she|they|somebody|someone|who) (?:said|says|told|wrote)\b",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(r"[?？]\s*$|[吗呢么]\W*$|^(?:要是|如果|假如|万一)|\bif\b", re.IGNORECASE)
_BEFORE: Final = re.compile(r"^(?:(?:对了|还有|另外|那个|嗯+|哦|好的?|行|记住|听着)[，,：:\s]*)+")


def rules_said(text: str) -> list[str]:
    """Returns the sentences of an admin's message to the bot that are standing rules, verbatim."""
    found = []
    for sentence in SENTENCE.findall(text):
        words = _BEFORE.sub("", sentence.strip()).strip()
        if _is_rule(words):
            found.append(words.rstrip("。；;.\n "))
    return list(dict.fromkeys(found))


def _is_rule(words: str) -> bool:
    if not 0 < len(words) <= _LONGEST or _LASTING.search(words) is None:
        return False
    if _REPORTED.search(words) or _OPEN.search(words):
        return False
    return order_like(words) == "standing"
