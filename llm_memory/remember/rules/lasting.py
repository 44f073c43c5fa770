"""Tells what will not last: a guess, an open dispute, what holds for a few days.

A rule names a kind of phrase, never a subject: "if reviewers disagree" and "未定义" speak of no
dispute, "the field may be empty" of no guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from ...models.data_models import RejectReason
from ...text.dates.expressions import find_times
from ...text.dates.spans import TimeSpan
from .quality import flaw

_MENTIONED: Final = re.compile(r"“[^”]*”|「[^」]*」|\"[^\"]*\"|`[^`]*`")
"""Words that are spoken of, not said."""
_BEGIN: Final = r"(?:^|[，。；：、,.;:(（]\s*)"
_HERE: Final = r"[^，。；,.;]"
"""A character of the same clause."""

_DISPUTE: Final = re.compile(
    # Negated: to settle, to agree.
    r"(?:没|未|没有|未能|尚未|还没有?)[\u4e00-\u9fff]{0,3}?"
    r"(?:定下来|定(?!义|期|位|时|制|额|向|量|性)|决定|敲定|拍板|[谈讲说商](?:拢|妥|好|定)|想好|"
    r"共识|一致|统一(?!码)|达成|结论)|"
    rf"(?:投票|表决|讨论|商量|争论|评审|谈){_HERE}{{0,12}}[，,]?没有?结果|"
    r"待[定议]|[再另][议定](?!义|位)|再(?:商量|讨论|谈谈?|想想|研究|说吧)|"
    r"有争议|分歧|争论|争执|各执|各说各|悬而未决|意见不[一统]|举棋不定|"
    r"还在(?:讨论|商量|争|谈|吵|犹豫|纠结)|"
    r"\bTB[DC]\b|\bto be (?:decided|discussed|determined)\b|"
    r"\b(?:undecided|unsettled|unresolved|open question|disput(?:e|ed)|disagree(?:s|d|ments?)?|"
    r"up in the air|torn between|(?:no|any) (?:consensus|agreement|decision|conclusion))\b|"
    r"(?:\bnot|n['’]t|\bnever)(?: (?:yet|been|be|able|to|quite|fully|really|finally))*"
    r" (?:agree|agreed|decide|decided|settle|settled|finali[sz]ed?|made up)\b|"
    r"\b(?:still|being|under)(?: being)?"
    r" (?:discuss(?:ed|ing|ion)|debat(?:ed|ing|e)|arguing|open)\b|"
    r"\bargu(?:ed|ing) (?:about|over)\b|"
    r"\b(?:team|we|opinions?|reviewers|people|everybody|everyone)(?: is| are|['’]re)"
    r" (?:split|divided|torn)\b|"
    r"[?？]\s*\Z",
    re.IGNORECASE,
)
_CLAUSE: Final = 80
"""Characters in which a condition is looked for, before what it is said of."""
_IF: Final = re.compile(
    rf"(?:如果|若|当|\b(?:if|when|whenever|unless|until)\b){_HERE}{{0,80}}\Z", re.I
)
_OF_A_KIND: Final = re.compile(r"[致定]?(?:的(?!$|[，。；])|时|之?前|之?后)")
"""Behind a phrase: it names a kind of case, as "有争议的" does."""

_HUNCH: Final = re.compile(
    # The speaker's mind.
    r"我猜|猜测|瞎猜|好像|似乎|也许|或许|说不定|没准|多半|恐怕|十有八九|想必|看样子|看来|据说|"
    r"可能是(?!否)|大概(?!\s*[\d一二三四五六七八九十百千半两几])|八成(?=是|会|又|因|没|在)|"
    rf"估计(?=[能会是要得也就不没有可快慢])|(?:{_BEGIN}|我们?|总|都)(?:感觉|觉得)(?!到)|"
    # A cause that is not known.
    rf"(?:应该|怀疑|可能){_HERE}{{0,40}}(?:问题|原因|造成|导致|引起|的锅|错了?(?!误)|出在)|"
    rf"(?:问题|原因|毛病){_HERE}{{0,6}}可能|"
    r"\b(?:probably|presumably|perhaps|possibly|maybe|apparently|supposedly|hunch|"
    r"(?:i|we) (?:think|guess|believe|suppose|suspect|bet)|i(?:['’]d| would) (?:say|guess|bet)|"
    r"my (?:guess|bet|feeling)|(?:a|the) feeling that|no idea|"
    r"it (?:seems|appears|looks)|(?<!that )seems (?:to|like|that)|(?<!how )likely|"
    r"(?:might|could|must) be (?:the|due|caused|because|related)|"
    r"(?:might|could|may) have (?:been|to do))\b|"
    rf"{_BEGIN}(?:might|could|may) be\b|{_BEGIN}(?:looks|seems|sounds) like\b",
    re.IGNORECASE,
)
_EVIDENCE: Final = re.compile(
    r"风险|\brisks?\b|#\d|https?://|因为|由于|"
    r"(?<![没未])(?<!没有)(?:日志|显示|火焰图|压测|实测|测得|复现|抓包|证实|确认|统计)|"
    r"(?<!not )\b(?:because|shows?|showed|measured|reproduced|confirmed|profiled|benchmarked)\b",
    re.IGNORECASE,
)
"""What a guess rests on; and a risk is one by its nature."""

_VERB: Final = "[关停用改放换禁开绕加把由借顶调撤切跑写搬存移降升让屏取采先]"
_FOR_NOW: Final = re.compile(
    rf"暂时|临时(?={_VERB}|方案|措施|办法|补丁|处理|安排|替代)|这几天|"
    rf"(?:目前|现在|眼下|此刻|这会儿)(?:先|{_HERE}{{0,12}}(?:正|在跑|占|卡|挂|坏|断|红|故障))|"
    rf"此刻|先(?:停|关|用|放|跳过|凑合|不合并|不动|这样)(?!{_HERE}{{0,40}}[，,]?(?:再|然后|后))|"
    rf"(?:{_BEGIN}|要|得|还在|先|正在?)等(?:待)?(?![于级价幂号同]){_HERE}{{1,15}}"
    r"(?:回来|恢复|重启|回[复应]|反馈|评审|意见|审批|通知|修好)(?!之?后|以后|再|才)|"
    rf"正在?[\u4e00-\u9fff]{{1,4}}(?:$|[，。；])|"
    r"\b(?:for now|temporarily|for the time being|right now|at the moment|at present)\b|"
    r"\btemporary (?:fix|workaround|measure|solution|hack|patch)\b|\b(?:is|are) temporary\b|"
    r"\bcurrently (?:waiting|down|broken|blocked|failing|red|offline|unavailable|in use|using)\b|"
    rf"(?:{_BEGIN}|\b(?:is|are|am|still|currently)\s+)(?:waiting|blocked) (?:for|on|by)\b",
    re.IGNORECASE,
)
_SOON: Final = timedelta(days=7)
_YEAR: Final = re.compile(r"\d{4}")
_FROM: Final = re.compile(
    r"(?:自|从|\b(?:from|since|starting|effective|as of))\s*\Z", re.IGNORECASE
)
_ON: Final = re.compile(r"\s*(?:起|开始|以后|onwards?\b)", re.IGNORECASE)
_UNTIL: Final = re.compile(r"(?:到|至|\b(?:until|till))\s*\Z", re.IGNORECASE)


def passing(text: str, now: datetime, *, diary: bool = False) -> Iterator[tuple[str, str]]:
    """Yields why a text will not last, ``guess``, ``dispute`` or ``stale``, and the words that say
    so. Blocks for as long as its dates take to read.

    Args:
        text: One statement.
        now: When it was said.
        diary: It tells of a day's work: "today" is a part of it.
    """
    said = _MENTIONED.sub("", text)
    if flaw(said) is RejectReason.SPECULATION or (
        _HUNCH.search(said) and not _EVIDENCE.search(said)
    ):
        yield "guess", text
    if (found := next(filter(_stands, _DISPUTE.finditer(said)), None)) is not None:
        yield "dispute", found[0]
    if (found := _FOR_NOW.search(said)) is not None:
        yield "stale", found[0].strip("，。；：、,.;:(（ ")
    elif soon := _soon(said, now, diary=diary):
        yield "stale", soon


def _stands(found: re.Match[str]) -> bool:
    """False where the words are said of any such case."""
    text = found.string
    before = text[max(0, found.start() - _CLAUSE) : found.start()]
    return not (_IF.search(before) or _OF_A_KIND.match(text, found.end()))


def _soon(text: str, now: datetime, *, diary: bool) -> str:
    """Returns the words for a day close by, empty for none."""
    today = now.date()
    for span in find_times(text, now):
        near = abs(span.start - today) <= _SOON and not span.vague
        if near and _names_a_day(text, span) and (not diary or span.start > today):
            return span.words
        if near and not span.relative and _UNTIL.search(text[: span.first]):
            return span.words  # a weekday: until Friday
    return ""


def _names_a_day(text: str, span: TimeSpan) -> bool:
    """False for "the first Monday of a quarter", and for a day from which something lasts."""
    if _FROM.search(text[: span.first]) or _ON.match(text, span.last):
        return False
    return span.relative or _YEAR.search(span.words) is not None
