"""Whether a text asks, and what it states apart from what it asks and supposes. Pure."""

from __future__ import annotations

import re
from typing import Final

from .traditional import simplified

ASKS_FOR: Final = re.compile(
    "为什么|为何|为啥|怎么[样办]?|如何|谁|哪|什么时候|什么|啥|咋|几|多[少久大远长]|"
    r"\b(?:why|when|where|who|whose|whom|which|how|what)\b",
    re.IGNORECASE,
)
"""Matches the words for what is asked for."""
_QUESTION: Final = re.compile(
    r"[?？]\s*$|(?:[呢吗么]|没有?|(?<![好行对是要得])不)\W*(?:[(（][^()（）]*[)）]\W*)?$|"
    r"([\u4e00-\u9fff])[不没]\1|有没有|是否|[能可会]否|"
    r"好[多久](?![不没了人])|啷个|乜|点解|边[个度位]|係咪|"
    r"^\W*(?:do|does|did|am|is|are|was|were|has|have|had|will|would|can|could|should|may|might)\s",
    re.IGNORECASE,
)
"""By its end, which a remark in brackets may follow, by a choice of yes and no, by what is asked
with far from Beijing, and by the verb in front in English."""
_REQUEST: Final = re.compile(
    "告诉我|说说|讲讲|查(?:一下|查|下)|帮我?(?:查|看|找|想|回忆)|提醒|想(?:知道|问)|问(?:一下|下|问)|"
    "(?:记不(?:得|清|起|住)|想不起)|回忆"
    r"|\b(?:tell|remind|show)\s(?:me|us)\b|\blook\sup\b|\blist\s(?:please|of|my|our|the|all)\b|列(?:一下|出)|\bfind\sout\b|\blet\sme\sknow\b|"
    r"\b(?:want|need|like)\sto\sknow\b|\b(?:can't|cannot|don't)\sremember\b",
    re.IGNORECASE,
)
_AND_HOW: Final = re.compile(r"呢\W*$")
"""那小芳呢 asks for more of what was spoken of."""
SENTENCE: Final = re.compile(r"[^。！？!?；;\n]+[。！？!?；;\n]?")
CLAUSE: Final = re.compile(r"[^，,。！？!?；;\n]+[，,。！？!?；;\n]?")
_IF: Final = re.compile(
    r"(?:要是|如果|假如|万一|除非|倘若|\b(?:if|unless)\b).*", re.IGNORECASE | re.DOTALL
)
_ASKED: Final = re.compile(
    r"[?？]\s*$|吗\W*$|是不是|有没有|是否|[会能要]不[会能要]|"
    r"^\W*(?:is|are|was|were|do|does|did|can|could|would|should)\b",
    re.IGNORECASE,
)
"""Matches a clause that states nothing. ``asks`` would drop too many: 谁 and "when" stand in
statements too."""


def asks(text: str) -> bool:
    """Returns whether a message is a question or a request to be told, as far as its form shows."""
    text = simplified(text)
    return any(form.search(text) for form in (_QUESTION, ASKS_FOR, _REQUEST))


def is_yes_or_no(text: str) -> bool:
    """Returns whether a message asks whether something is so, and for nothing else."""
    text = simplified(text)
    others = ASKS_FOR.search(text) or _REQUEST.search(text) or _AND_HOW.search(text)
    return _QUESTION.search(text) is not None and not others


def stated(text: str) -> str:
    """Returns a text's statements, without questions and conditional clauses."""
    sentences = (_IF.sub("", one) for one in SENTENCE.findall(text))
    clauses = (clause for one in sentences for clause in CLAUSE.findall(one))
    return "".join(clause for clause in clauses if not _ASKED.search(clause))
