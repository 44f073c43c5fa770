"""What a text states, apart from what it asks and supposes. Pure."""

from __future__ import annotations

import re
from typing import Final

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


def stated(text: str) -> str:
    """Returns a text's statements, without questions and conditional clauses."""
    sentences = (_IF.sub("", one) for one in SENTENCE.findall(text))
    clauses = (clause for one in sentences for clause in CLAUSE.findall(one))
    return "".join(clause for clause in clauses if not _ASKED.search(clause))
