"""Detects that a person says of a message that it is not to be kept, or asks for something to be
forgotten. Pure.

这句别记, don't save this. Reminders (别忘了, 别记错), what others said (老师说不要记) and what else
may be noted (别记账, don't save the file) are no such wish.

忘掉那件事, 把它删了, forget that, get rid of it. Reminders (别忘了带伞) and what somebody has
forgotten (我忘了, I forgot) are no such wish. What is asked for besides is the model's to read.
"""

from __future__ import annotations

import re
from typing import Final

from ...text.lazy_pattern import lazy_pattern
from ...text.numerals import narrowed
from ...text.traditional import simplified

_NOT: Final = "(?:别|不要|不用|不必|不许|不准|请?勿|甭|无需)"
_THIS: Final = (
    "(?:(?:下面|以下|接下来|后面|上面|刚才|刚刚)?(?:的|我?说的|这)?(?:这?几?(?:句|段|条)话?|话|内容|消息)"
    "|这(?:个|些|事|件事)?|此事|(?:我(?:刚才|刚刚)?|刚才|刚刚)说的|它)"
)
_KEEP: Final = (
    "(?:记(?:住|录|下来|下|进去|到?记忆里)?|保存|存(?:下来|起来|档)?|留(?:下)?记录|留底|录下来)"
)
_LEAD: Final = "(?:[请你先就都也可千万麻烦记忆机器人]{0,6})"
_CHINESE: Final = lazy_pattern(
    rf"(?:(?:^|[^\w]){_LEAD}(?:(?:把|将)?{_THIS}{_LEAD})?|{_THIS}(?:话)?[你请就都也先可千万]{{0,4}})"
    rf"{_NOT}(?:再|给我|帮我|替我|把{_THIS}|将{_THIS}){{0,2}}{_KEEP}{_THIS}?"
    r"[了啊哦喔呀吧哈呢嘛啦噢]{0,3}(?=[^\w]|$)",
    re.MULTILINE,
)
_ENGLISH: Final = lazy_pattern(
    r"(?:^|[.,;:!?()\-\u2014]\s*)(?:(?:so|but|and|just|please|pls|you|kindly|hey|bot|ok|okay)\b,?\s*){0,3}"
    r"(?:do not|don'?t|never|no need to|you needn'?t)\s(?:please\s)?(?:ever\s)?"
    r"(?:remember|save|store|record|memori[sz]e|log|note(?:\sdown)?|write(?:\sdown)?)\s"
    r"(?:(?:any\sof\s)?(?:this|that|it|these)(?:\s(?:one|message|line|sentence|part|bit))?"
    r"|what\si(?:'m|\sam)?\s(?:just\s)?(?:said|say|saying|about\sto\ssay|tell|told)(?:\syou)?"
    r"|the\s(?:following|next\sbit))(?:\s(?:down|please|ok|okay))?(?=\s*(?:[^\w\s]|$))"
    r"|(?:^|[.,;:!?()\-\u2014]\s*|\b(?:this|that|it)(?:'s|\sis|\sstays)\s(?:strictly\s|all\s)?"
    r"|\bkeep\s(?:this|that|it)\s)off[\s-]the[\s-]record\b(?!\s(?:mean|interview|talk|chat))",
    re.IGNORECASE | re.MULTILINE,
)


def is_off_the_record(text: str) -> bool:
    """True if the words ask that they are not kept themselves."""
    plain = simplified(narrowed(text)).replace("\u2019", "'")
    return bool(_CHINESE.search(plain) or _ENGLISH.search(plain))


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
