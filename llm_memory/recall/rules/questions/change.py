"""Questions about what has changed: the last time, whether it still holds, how often, how it came
to be so. And statements that say themselves that something changed. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

from ....text.lazy_pattern import LazyPattern


class Wanted(StrEnum):
    """Of several statements of one thing."""

    ANY = "any"
    """The question does not say."""
    NEWEST = "newest"
    """The last of them: what did he say, how often was it."""
    NOW = "now"
    """The last of them, for it is asked how things stand."""
    HISTORY = "history"
    """All of them, in their order."""


_END = re.compile(r"[。！？!?\n]+|\.(?=\s)")
_STORY = 2
"""Sentences: what has more is no short question."""
_HISTORY = LazyPattern(
    r"历史|历来|来龙去脉|变化|变迁|经过|过程|演变|先后|依次|(?:一|总)共(?=.*[过次回趟遍])|前前后后|一直以来|"
    r"(?:之前|以前|原来|原先|本来|起初|当初|最早|最初|一开始|曾经)(?!.*(?:现在|如今|目前|还|改|换|变))|"
    r"\bhistory\b|\bused\sto\b|\boriginally\b|\bformerly\b|\bpreviously\b|\bat\sfirst\b|"
    r"\bover\s(?:time|the\s(?:years|months|weeks))\b|\bin\s(?:what|which)\sorder\b|"
    r"\b(?:how|what)\s.*\bchanged\sover\b|\bin\sthe\spast\b|\ball\sthe\stimes\b|\bin\stotal\b",
    re.IGNORECASE,
)
_NOW = LazyPattern(
    r"现在|如今|目前|眼下|这会儿|这阵子|上次|上一次|上回|最近一次|最新|最后|后来|结果|最终|到底|"
    r"多久没|多长时间没|几天没|第几|几次|几回|几遍|还(?!给|钱|款|书|清|债)|仍|依然|不再|已经|"
    r"了(?:吗|么|没|没有|嘛)|没有?[?？]?\s*$|改(?!错|作业|名)|换|变|挪|推迟|提前|进展|怎么样了|如何了|"
    r"\bnow(?:adays)?\b|\bstill\b|\bany\s?(?:more|longer)\b|\bno\slonger\b|\blast\stime\b|"
    r"\b(?:most\srecent|latest|lately|currently|current|eventually|finally|yet|already|so\sfar)\b|"
    r"\bthese\sdays\b|\bat\sthe\smoment\b|\bin\sthe\send\b|\bsince\swhen\b|\bchanged?\b|"
    r"\bmoved\b|\bnew\b|\bwhen\s(?:did|was)\b.*\blast\b|\bhow\slong\s(?:since|ago)\b|"
    r"^\W*(?:did|has|have)\b",
    re.IGNORECASE,
)
_NEWEST = LazyPattern(
    r"\b(?:did|has|have)\b|\bhow\s(?:long\sis\sit|many\stimes|often)\b", re.IGNORECASE
)
_CHANGE = LazyPattern(
    r"改(?:到|成|为|在|回|由|去|了|用|吃|喝|叫|约|期|口|主意)|换(?:成|到|了|去|回|给|由)|变(?:成|为|了|更|卦)|挪|迁|交(?:给|由|到)|"
    r"转(?:去|到|给|为|由)|调(?:到|成|去|整)|推(?:迟|到|后)|拖(?:到|后|延)|往后|延(?:期|后|长|到)|顺延|提前|提早|取消|作废|作罢|"
    r"[涨升降减](?:到|成|为|价|了)|接(?:手|替|任)|顶(?:替|上)|代替|取代|放弃|反悔|泡汤|黄了|吹了|算了|"
    r"[日号月年周天次期]起(?![床来身飞诉点])|从[^，。！？；]{1,10}(?:起|开始)|以后(?:只|都|改|由|就)|今后|"
    r"决定|选定|敲定|(?<![一固肯必不规])定(?:在|于|为|了|下来)|[只还]剩|"
    r"不再|不(?!得了)[^，。！？；,.!?;]{1,8}了|已经|已(?:还|付|买|修|办)|"
    r"现在|如今|目前|终于|和好|分手|搬(?:到|去|家|了)|辞|离职|还给|还了|[还付两结]清(?![楚晰醒])|好了|完了|"
    r"还[差欠](?!一[点些])(?=[0-9一二两三四五六七八九十百千万几半])|"
    r"\b(?:now|no\slonger|any\s?more|instead|changed?|moved?|switch(?:ed)?|postponed|rescheduled|"
    r"cancell?ed|already|finally|actually|renamed|replaced|quit|stopped|paid|returned|fixed|since|"
    r"made\sup|(?:takes?|took|taken|taking)\sover|(?:gone|goes|went|going)\s(?:up|down)|"
    r"put\s(?:off|back)|pushed\s(?:back|to)|brought\sforward|called\soff|(?:fell|fallen)\sthrough|"
    r"(?:rais|increas|reduc|lower|dropp|bump)ed\s(?:[^.;!?]{1,40}\s)?to|(?:rose|cut)\sto|"
    r"(?:down|(?:is|are)\sup)\sto(?=\s\W?[0-9])|still\s(?:owes?|ha(?:s|ve)(?=\s\W?[0-9]))|"
    r"(?:gave|given)\sup|swapped|off\sthe|"
    r"cho(?:se|sen)|decided|settled\son|went\swith|(?:has|have)\spicked(?!\sup)|"
    r"as\sof|after\sall|from\s(?:now|today|tomorrow|next|[0-9]|[a-z]+day))\b",
    re.IGNORECASE,
)


def what_is_wanted(question: str) -> Wanted:
    """Which of several statements a question is for, by its last sentence: what stands before it
    only leads to it. Who tells a story asks for none."""
    sentences = [one for one in _END.split(question) if one.strip()]
    asked = sentences[-1] if 0 < len(sentences) <= _STORY else ""
    if _HISTORY.search(asked):
        return Wanted.HISTORY
    if _NOW.search(asked):
        return Wanted.NOW
    return Wanted.NEWEST if _NEWEST.search(asked) else Wanted.ANY


def states_a_change(statement: str) -> bool:
    """True for words that say that it was otherwise before: 改到周五, no longer."""
    return _CHANGE.search(statement) is not None
