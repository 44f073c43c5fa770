"""Detects that a person asks for something to be forgotten. Pure.

忘掉那件事, 把它删了, forget that, get rid of it. Reminders (别忘了带伞) and what somebody has
forgotten (我忘了, I forgot) are no such wish. What is asked for besides is the model's to read.
"""

from __future__ import annotations

from typing import Final

from ...text.lazy_pattern import lazy_pattern
from ...text.numerals import narrowed
from ...text.traditional import simplified

_WISH: Final = lazy_pattern(
    r"(?<![别没未勿甭不])(?<!不要|不能|不会|不许|不准|千万|别再|别给)"
    r"(?:(?<![我他她难健])(?<!我又|我都|我也|我刚|我老|我总)忘(?![不带性形年]|恩负)"
    r"|删|抹[掉去除]|清[掉除空]|移除|去掉|划掉)"
    r"|(?:别|不要|不用|不必|不许|甭|无需)(?:再|给我|帮我|替我)*(?:记(?![错得])|提|保存|留着)"
    r"|(?<!not )(?<!n't )(?<!nt )(?<!never )(?<!\bi )\bforget(?:ting)?\b(?!-)"
    r"|(?<!not )(?<!n't )(?<!nt )(?<!never )\b(?:delet|remov|eras)(?:e|ing)\b"
    r"|\b(?:unlearn|wipe|scrub|purge|discard|get rid of|clear out)\b"
    r"|\b(?:stop|don'?t|do not|no longer)\s+(?:remember|keep|stor|sav|record)\w*",
)


def asks_to_forget(text: str) -> bool:
    """True if the words hold a wish that something is forgotten or deleted."""
    plain = simplified(narrowed(text)).replace("\u2019", "'").casefold()
    return bool(_WISH.search(plain))
