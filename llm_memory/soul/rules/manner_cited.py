"""What a rule only cites: faces, words in quotation marks, what the bot is not to sound like.

Nobody can list what people quote ("咋整", 'dear') or compare with (a teacher, a press release). The
words of a citation need not be known, then, but they are judged: none of them is about people,
rights or orders, says no, or admits that something is not known. Each citation is read as a known
word of its kind.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from ...remember.rules.gate import order_like
from ...text.lazy_pattern import lazy_pattern
from .manner_orders import STRANGE, order_in, why_strange
from .manner_reading import clauses_of
from .manner_words import Word

_FACE: Final = lazy_pattern(
    r"[(\uff08][\u00b4\u00af\u00b0\u00b7\u2022\u2190-\u25ff\u2600-\u27bf\u3002\u3003\u30fb\u30ce"
    r"\u30fd\u0300-\u036f\u03b5\u03c3\u03c9\u0414\u0434\u2200-\u22ff\u203f\u2323\ufe4f\uff3e\uff40"
    r"\uff61-\uff9f\uff1b\uff1d\uff1e\uff1c\uff3f\uff65=^_<>*;:~`'.\-oOTQ ]{2,10}[)\uff09]"
    r"|(?<![^\s\u4e00-\u9fff\u201c\u300c\"'(,\uff0c\u3001])"
    r"(?:[:;]-?[()DPp]|\^[_.]?\^|>[_.]<|T[_.]T|QAQ|QwQ|TAT|[xX]D|orz)"
    r"(?![A-Za-z0-9_])"
)
_CITED: Final = lazy_pattern(
    '\u201c([^\u201c\u201d]{1,48})\u201d|「([^「」]{1,48})」|"([^"]{1,48})"'
    "|(?<![a-z0-9])'([^']{1,48})'(?![a-z0-9])"
)
_END: Final = ",.;!?。"
_FORBIDDING: Final = lazy_pattern(
    rf"(?:别|不要|不用|不必|不需要|不再|不准|不许|不想|勿|少|避免|禁止|停止|甭|删掉|去掉)[^{_END}]*$"
    r"|\b(?:not|never|stop|avoid|no|without|skip|drop|less|fewer|quit|instead of|rather than)\b"
    rf"[^{_END}]*$"
)
_LONGEST: Final = 14
_PERSON: Final = lazy_pattern(
    "(?:[老小阿大][\u4e00-\u9fff]|[\u4e00-\u9fff]{1,2}(?:哥|姐|总|爷|叔|姨|老师|师傅)"
    "|[王李张刘陈杨赵黄周吴徐孙胡朱林何郭马罗梁宋郑谢韩唐冯董程曹袁邓许沈曾彭吕苏卢蒋蔡贾丁魏薛叶]"
    "[\u4e00-\u9fff]{1,2})"
)
_NOT_FORBIDDEN: Final = lazy_pattern(
    r"能|可以|行|没办法|没法|无法|帮不|不便|不该|合适|医|药|核实|查|注意|小心|当心|提醒|咨询|报警|"
    r"违|法|知|猜|参考|觉得|认为|个人|估|或许|也许|约|遵|公正|公平|守|慎|清白|客观|中立|推广|广告|据|私|密|劝|拦|管|审|防|反驳|质疑|纠正|怀疑|痕迹|追究|声张|外传|多想|犹豫|深究|当真|揭|"
    r"拒|推|躲|过问|计较|退|帮|救|理会?|道理|真|实|原则|底线|条件|免责|负责|后果|一切|任何|什么(?!都[懂知会])|我(?:只|其实)?是|"
    r"\b(?:not|no|can|unable|will|would|refus|declin|allow|against|check|verif|care|consult|"
    r"doctor|professional|expert|privat|know|far as|heard|think|princip|scrup|conscien|"
    r"vigil|war[yi]|suspic|s[ck]epti|hesita|reluct|rigor|opinion|depend|rough|"
    r"approx|guess|maybe|perhaps|might|likely|probab|possib|around|ad$|sponsor|seems|disclaim|caveat|illegal|"
    r"i a|i an|i am|you should)"
)
"""A boundary, a warning or what the bot is: a rule may not take these from it."""
_MANNERS: Final = frozenset({Word.PLAIN, Word.TOPIC, Word.BAD, Word.STRANGE})
_LIKENED: Final = (
    # What the bot is like; a bad thing, so that only a rule against it passes.
    (
        lazy_pattern(
            rf"((?:像|跟|一副|好像))([^{_END}的]{{1,8}}?)"
            "(?=似的|一样|那样|那种|一般|的样子|的口气|的语气)"
        ),
        "客服",
    ),
    (
        lazy_pattern(
            r"((?<=[别要用必])(?:太|那么|这么|过于|过分|显得|刻意))([\u4e00-\u9fff]{1,4})(?=$|[,.;。了])"
        ),
        "生硬",
    ),
)
_AS_WORD: Final = "口癖"
_AS_FACE: Final = "颜文字"


def without_faces(text: str) -> str:
    """Returns the text with a word in place of each face that is drawn with signs."""
    return _FACE.sub(_AS_FACE, text)


def read_cited(seen: str) -> str:
    """Returns a folded rule with known words in place of what it cites. What is cited and may not
    be stays as it is."""
    left, at = "", 0
    for quoted in _CITED.finditer(seen):
        left += seen[at : quoted.start()]
        at = quoted.end()
        words = next(filter(None, quoted.groups()), "")
        left += _AS_WORD if _may_be_cited(left, words) else quoted[0]
    left += seen[at:]
    for form, instead in _LIKENED:
        left = form.sub(partial(_likened, instead), left)
    return left


def _may_be_cited(before: str, words: str) -> bool:
    """Says whether what stands before forbids the words, which are few, and about nothing that is
    not for a rule."""
    tokens = [token for clause in clauses_of(words) for token in clause]
    length = len(words) if not words.isascii() else 2 * len(tokens)
    return (
        0 < length <= _LONGEST
        and _FORBIDDING.search(before) is not None
        and all(token.kind in _MANNERS and not token.text.isdecimal() for token in tokens)
        and not _PERSON.fullmatch(words)
        and not _NOT_FORBIDDEN.search(words)
        and order_like(words) is None
        and order_in(words) is None
        and why_strange(words) is STRANGE
    )


def _likened(instead: str, found: re.Match[str]) -> str:
    """A word that is known is judged as it stands."""
    like, words = found.groups()
    strange = any(token.kind is Word.STRANGE for run in clauses_of(words) for token in run)
    may_be = strange and _may_be_cited(found.string[: found.start(2)], words)
    return f"{like}{instead}" if may_be else found[0]
