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
    "(?:(?:下面|以下|接下来|后面|上面|前面|刚才|刚刚|上一?|前一?)?(?:的|我?[说发]的|这|那){0,2}"
    "(?:这?几?(?:句|段|条)话?|话|内容|消息)"
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
_LAST: Final = (
    "我?(?:刚才|刚刚|方才|上面|前面|上一?|前一?)我?(?:的|[说发讲]的)?那?[一几]?"
    "(?:[句条段]话?|话|消息|内容|(?<=[说发讲]的))"
)
_CHINESE_LAST: Final = lazy_pattern(
    rf"(?:^|[^\w]){_LEAD}(?:"
    rf"(?:把|将){_LAST}[你给我都也]{{0,2}}(?:忘|删|抹|清)[了掉除记]{{0,2}}"
    rf"|{_LAST}[请你就也都先给我]{{0,3}}(?:忘掉|忘了吧|删[了掉除]*|作废|当我?没说|不算)"
    rf"|(?:忘|删)[了掉除记]{{1,2}}{_LAST})[吧啊哦呀啦好]{{0,2}}(?=[^\w]|$)",
    re.MULTILINE,
)
_PAST: Final = lazy_pattern("刚才|刚刚|方才|上面|前面|[上前]一?[句条段]")
_LAST_ENGLISH: Final = (
    r"(?:what\si\s(?:just\s)?(?:said|told\syou|wrote|sent)(?:\sjust\snow|\sbefore)?"
    r"|(?:my|the|that)\s(?:last|previous)\s(?:message|line|sentence|part|bit|one|thing))"
)
_ENGLISH: Final = lazy_pattern(
    r"(?:^|[.,;:!?()\-\u2014]\s*)(?:(?:so|but|and|just|please|pls|you|kindly|hey|bot|ok|okay)\b,?\s*){0,3}"
    r"(?:do not|don'?t|never|no need to|you needn'?t)\s(?:please\s)?(?:ever\s)?"
    r"(?:remember|save|store|record|memori[sz]e|log|note(?:\sdown)?|write(?:\sdown)?)\s"
    r"(?:(?:any\sof\s)?(?:this|that|it|these)(?:\s(?:one|message|line|sentence|part|bit))?"
    rf"|what\si(?:'m|\sam)?\s(?:just\s)?(?:say|saying|about\sto\ssay|tell)(?:\syou)?|{_LAST_ENGLISH}"
    r"|the\s(?:following|next\sbit))(?:\s(?:down|please|ok|okay))?(?=\s*(?:[^\w\s]|$))"
    r"|(?:^|[.,;:!?()\-\u2014]\s*|\b(?:this|that|it)(?:'s|\sis|\sstays)\s|\bkeep\s(?:this|that|it)\s)"
    r"(?:(?:strictly\s|all\s)?off[\s-](?:the[\s-])?record|not\s(?:for|on)\sthe\srecord)\b"
    r"(?!\s(?:mean|interview|talk|chat))",
    re.IGNORECASE | re.MULTILINE,
)
_ENGLISH_LAST: Final = lazy_pattern(
    r"(?:^|[.,;:!?()\-\u2014]\s*)(?:(?:please|pls|and|ok|okay|ignore\sand)\b,?\s*){0,3}"
    r"(?:(?:do\snot|don't|never)\s(?:remember|save|store|record|log|keep)"
    rf"|forget|scratch|strike|delete|erase|drop|off[\s-]the[\s-]record,?)\s{_LAST_ENGLISH}"
    r"(?:\s(?:please|ok|okay))?(?=\s*(?:[^\w\s?]|$))",
    re.IGNORECASE | re.MULTILINE,
)


def is_off_the_record(text: str) -> bool:
    """True if the words ask that they, or those before, are not kept."""
    plain = _plain(text)
    return bool(_CHINESE.search(plain) or _ENGLISH.search(plain)) or drops_the_last(text)


def drops_the_last(text: str) -> bool:
    """True if they ask it of what was said just before."""
    plain = _plain(text)
    asked = _CHINESE.search(plain)
    if asked is not None and _PAST.search(asked[0]):
        return True
    return bool(_CHINESE_LAST.search(plain) or _ENGLISH_LAST.search(plain))


def _plain(text: str) -> str:
    return simplified(narrowed(text)).replace("\u2019", "'")


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


_SENTENCES: Final = re.compile(r"(?<=[。！？；!?;\n])|(?<=\.)(?=\s)")


def asks_to_forget(text: str) -> bool:
    """True if the words hold a wish that something is forgotten or deleted."""
    return bool(_WISH.search(_plain(text).casefold()))


def without_forget_wishes(text: str) -> str:
    """Returns the sentences that hold no such wish."""
    return "".join(one for one in _SENTENCES.split(text) if not asks_to_forget(one)).strip()
