"""Whether a question asks for days alone. Pure."""

from __future__ import annotations

import re

_EMPTY = re.compile(
    "[\\s\\W_]|[那当这](?:一|几)?天|那(?:几)?个?(?:周|星期|月)|大家|群[里聊]|聊天|日记|回顾|帮我|"
    "忙(?=[了些什啥着])|写(?=[了过些什啥的])|早上|上午|中午|下午|傍晚|晚上|夜里|凌晨|"
    "[我你您他她它们咱的了是在吗呢吧啊呀么嘛都就还也又跟和与对给把被有没无过着"
    "说聊谈讲问提到做干发生什怎样哪些谁几多少事情件啥儿内容话题里边上那这个一下请告诉记得"
    "回忆看想起来所及总结]"
    r"|\b(?:what|did|do|does|was|were|is|are|we|you|i|me|us|they|he|she|it|talk|talked|say|said|"
    r"discuss|discussed|happen|happened|about|the|a|an|on|in|at|of|to|and|any|anything|something|"
    r"things?|news|up|tell|remember|recall|have|has|had|been|going|summari[sz]e|can|could|please|"
    r"remind|our|were|doing|done|journal|diary|day|that|this|chat|conversations?|summary|recap|"
    r"morning|afternoon|evening|night)\b",
    re.IGNORECASE,
)


def is_about_time_alone(subject: str) -> bool:
    """True for what is left of 昨天聊了什么 without the time: nothing that an entry could hold."""
    return not _EMPTY.sub("", subject)
