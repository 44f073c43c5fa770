"""What a foreign error says of a service, by a code and a number. Pure."""

from __future__ import annotations

import re
from typing import Final

from ...errors import EmbeddingFailed

OF_THE_TEXT: Final = frozenset({"rejected", "encoding_failed", "no_vector"})
"""Codes that tell of a text, and not of the embedder's health."""
AT_REST: Final = frozenset({"denied", "quota"})
"""Codes that no second try changes: somebody has to pay, or to give another key."""
OUTAGES: Final = AT_REST | {"busy", "timeout", "error", "died", "native"}
"""Codes after which an embedder is asked less often: each call costs a wait, or counts."""

_QUOTED: Final = 300
"""Characters behind which the words of an error may quote what was asked."""
_OF_STATUS: Final = {
    **dict.fromkeys(("400", "413", "422", "451"), ("rejected", ("denied",))),
    **dict.fromkeys(("401", "407"), ("denied", ())),
    "402": ("quota", ()),
    "403": ("denied", ("quota",)),
    **dict.fromkeys(("404", "405", "410"), ("not_found", ())),
    **dict.fromkeys(("301", "302", "303", "307", "308"), ("redirected", ())),
    "429": ("busy", ("quota",)),
    **dict.fromkeys(("408", "504"), ("timeout", ())),
}
"""By the number, and which other codes the words beside it may say."""
_SAYS: Final = {
    "quota": re.compile(r"quota|balance|billing|arrear|overdue|payment|余额|欠费|额度", re.I),
    "denied": re.compile(r"api.?key|unauthori[sz]ed|authenticat|密钥|鉴权|未授权", re.I),
    "timeout": re.compile(r"time.?d? ?out|超时", re.I),
}


def failure_of(error: BaseException) -> EmbeddingFailed:
    """Its kind, the number that a service answered with, and nothing of its words: they may quote
    a key, or a text."""
    kind, said = type(error).__name__, str(error)[:_QUOTED]
    number = getattr(error, "status_code", None)  # of openai's errors, and of httpx' alike
    status = str(number or "".join(re.findall(r"(?<!\d)[45]\d\d(?!\d)", said)[:1]))
    code = code_of(status, f"{kind} {said}")
    return EmbeddingFailed(f"{code}: HTTP {status} ({kind})" if status else f"{code}: {kind}")


def code_of(status: str, said: str) -> str:
    """By the number, empty if none is known, and by the words beside it."""
    code, others = _OF_STATUS.get(status, ("error", tuple(_SAYS)))
    return next((one for one in others if _SAYS[one].search(said[:_QUOTED])), code)
