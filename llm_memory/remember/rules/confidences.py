"""Detects a speaker's request to keep a text secret. Pure.

What was said in confidence is never stored where others read, see
``ScopeBook.no_confidence``. A false positive costs a sentence
that has to be said again, so a text that reads like a request for silence counts as one; a text
that names secrecy without asking for it (保密协议, 不用保密, a title) does not.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from ...models.data_models import Memory
from ...text.lazy_pattern import lazy_pattern
from ...text.traditional import simplified

_UNSEEN: Final = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")
_TITLE: Final = re.compile(
    r"《[^《》]{0,100}》"
    r"|(?:叫|题为|标题|歌|歌名|书名|片名|电影|小说|游戏|called|titled|named|song|movie|film|book)"
    r"(?:叫|是|为|:)?\s*[“「『\"'][^“”「」『』\"'\n]{0,100}[”」』\"']",
    re.IGNORECASE,
)
_KIN: Final = (
    "们|妈|爸|爹|娘|妹|弟|哥|姐|爷|奶|外|公|婆|老|太太|丈夫|先生|爱人|媳妇|对象|男|女|家|儿|孩|"
    "父|母|同|朋友|领导|上司|上级|经理|客户|室友|邻居|亲|舅|姨|姑|叔|伯|岳"
)
"""Follows 我 if another person is meant: 我妈, 我老板. 别告诉我 is no request for silence."""
_DO_NOT: Final = (
    "(?:(?<![特个分区级性告送类差离辨判识临鉴永惜])别|(?<!要)不要|不许|不准|(?:请|切)勿|莫|甭)"
)
_CANNOT: Final = "(?:(?<!能)不能|(?<!可)不可以|不得|不可|不该|不应该|没法)"
_AT_ALL: Final = "(?:再|去|给我|随便|乱|先|轻易|到处|把[^，。！？；,.!?;\\n]{0,12})?"
_OTHERS: Final = "(?:别人|他人|其他人|其它人|任何人|旁人|外人|大家|人家|谁|第三个?人|群里|别的人)"
_SOMEBODY: Final = (
    f"(?:{_OTHERS}|他|她|它|老板|老师|朋友|同事|家里|孩子|妈|爸|老公|老婆|我(?={_KIN}))"
)
_ENDS: Final = r"(?=[，。！？；,.!?;:~\s]|$)"
_REST: Final = "[^，。！？；,.!?;\\n]{0,8}?"

CHINESE: Final = lazy_pattern(
    # 别告诉别人, 不能告诉任何人, 不要跟我妈说, 别让他知道
    rf"{_DO_NOT}{_AT_ALL}(?:告诉|告知)(?!我(?!{_KIN})|你|您|咱)"
    rf"|{_CANNOT}{_AT_ALL}(?:告诉|告知){_OTHERS}"
    rf"|(?:{_DO_NOT}|{_CANNOT}){_AT_ALL}(?:跟|和|向|对|给|同|与){_SOMEBODY}{_REST}(?:说|讲|提|透露|聊|声张)"
    rf"|(?:{_DO_NOT}|{_CANNOT})(?:再)?让(?!我(?!{_KIN})|你|您){_SOMEBODY}{_REST}(?:知道|发现|看到|听到|晓得)"
    # 别说出去, 不要外传
    rf"|(?:{_DO_NOT}|{_CANNOT}){_AT_ALL}(?:说|讲|传|透露|泄露|泄漏|捅|漏)(?:出去|给别人|给外人|到外面|到群里)"
    rf"|(?:{_DO_NOT}|{_CANNOT}){_AT_ALL}(?:往外|对外|到处|四处)(?:说|讲|传|提|透露|宣扬|公开|公布)"
    rf"|(?:{_DO_NOT}|{_CANNOT}){_AT_ALL}(?:外传|外泄|外露|声张|走漏|张扬|泄密|公开|曝光)(?!课|赛|场合)"
    # 别跟人说, 别让人知道, 对谁都别说, 千万别说, 这事别传
    rf"|{_DO_NOT}{_AT_ALL}(?:跟|和|向|对|给|同|与)人(?:说|讲|提)(?!话)"
    rf"|{_DO_NOT}(?:再)?让人(?:知道|发现|晓得)"
    r"|谁(?:都|也)(?:别|不要|不许|不准)(?:说|讲|提)(?!话|服)"
    rf"|(?:千万|[这那](?:件)?(?:事情?|话|消息)儿?你?可?){_DO_NOT}(?:说|讲|传|提)(?:啊|哦|呀|喔)?{_ENDS}"
    # 告诉你一个秘密, 帮我瞒着, 请守口如瓶
    r"|(?:(?:跟|和|对|同)你(?:说|讲|分享)|告诉你)一?个?[小大]?秘密"
    r"|(?:替|帮|为|给)(?:我们|我|咱)瞒|(?:替我|帮我|要|请|得|务必)守口如瓶"
    # 只跟你说, 就告诉你一个人, 悄悄告诉你
    r"|(?:只|仅)(?:想|能|敢|愿意|打算)?(?:跟|和|对|同|与)你(?:一个人|自己)?(?:说|讲|提|聊)(?!一[次遍句])"
    r"|(?:只|仅)(?:想|能|敢|愿意|打算)?告诉(?:过|了)?你(?!一[次遍句])"
    r"|就(?:只)?(?:告诉|跟|和|对)(?:过|了)?你(?:一个人|自己一个)"
    r"|(?:悄悄|偷偷|私下里?)(?:地)?(?:跟|和|对|告诉|同)你(?!们)"
    # 你知我知, 我们之间的秘密
    r"|你知我知|天知地知|(?:只有|就)(?:你我|咱俩|咱们俩|我们俩|我俩|你和我|我和你|咱们两个|我们两个|你一个)"
    r"(?:个)?(?:人)?知道"
    r"|[你您](?:自己|一个人|心里)?知道(?:就|便)(?:好|行|可以|得)"
    r"|(?:我们|咱们|咱|我俩|咱俩)(?:两个?|俩)?(?:个)?(?:人)?之间的(?:小)?秘密"
    r"|(?:这|那|此)(?:件事情?|事儿?|个)?(?:可|就)?(?:是|算)(?:一?个|我的|我们的|咱们的|咱俩的)?(?:小|大)?秘密"
    r"(?!花园|基地|武器|通道|警察|档案|配方)"
    r"|不足为外人道|烂在肚子里"
    # 保密
    r"|保密(?!协议|工作|局|法|级|性|措施|制度|条例|单位|合同|义务|员|柜|费|期|条款|资料|文件|教育|"
    r"培训|意识|处|委|室|部门|规定|要求|等级|信息|系统|技术|通信|电话|箱|库|条件|[吗么不没])"
    r"|(?:替|帮|为|给)(?:我|咱|我们)(?:保守|守住?)(?:这个?|这件|个|住)?秘密|(?:要|请|得)保守秘密"
)
"""Requests for silence in Chinese."""

_SILENT: Final = (
    r"(?:(?:just |strictly )?(?:to|for) yourself|(?:just |strictly )?between us|"
    r"(?:just |strictly )?between you and (?:me|i)|a secret|secret|private|confidential|quiet|"
    r"under wraps|under your hat|on the down ?low|hush)"
)
_ANYBODY: Final = (
    r"(?:any ?one|any ?body|others|other people|another soul|a soul|people|them|him|her|everyone|"
    r"everybody|the others|my [a-z]+|the (?:group|others|team|family|kids|boss))"
)
_NEVER: Final = r"\b(?:do not|don'?t|never|must not|mustn'?t) (?:ever |you dare |you ever )?"
ENGLISH: Final = lazy_pattern(
    rf"{_NEVER}(?:tell|mention (?:this|it|that|any of this) to|"
    r"say (?:this|it|that|anything|a word|a thing) to|(?:share|discuss) (?:this|it|that) with|"
    rf"repeat (?:this|it|that) to) {_ANYBODY}\b(?! (?:apart|what to do)\b)"
    rf"|{_NEVER}let {_ANYBODY} (?:know|find out|see this|hear)\b"
    rf"|{_NEVER}(?:repeat|spread|share|leak|disclose) (?:this|it|that)\b"
    rf"|{_NEVER}breathe a word\b"
    r"|\byou (?:can'?t|cannot|mustn'?t|must not) (?:ever )?tell "
    r"(?:any ?one|any ?body|others|a soul)\b"
    rf"|\bkeep (?:this|it|that|what i (?:said|told you)|everything|my [a-z]+) {_SILENT}\b"
    r"|\bkeep (?:a|my|our|this) secret\b"
    r"|\b(?:just|only|strictly|this is|it'?s|that'?s|stays?|remains?) between "
    r"(?:us|you and (?:me|i)|ourselves|the two of us)\b"
    r"|(?:^|[.!?;,:\n—-]\s*)between (?:us|you and (?:me|i)|ourselves|the two of us)"
    r"\s*(?:[,.!:—-]|$)"
    r"|\boff the record\b|\bin strict(?:est)? confidence\b|\bfor your (?:ears|eyes) only\b"
    r"|\b(?:tell|told|telling|say|said|saying|share|shared|sharing|speaking)\b[^.!?\n]{0,24} "
    r"in (?:complete )?confidence\b|\b(?:speaking |strictly )confidentially\b"
    r"|\b(?:this|that|it)(?: is|'s) (?:a |my |our |supposed to be a )?(?:little |big )?"
    r"(?:secret|confidential)\b(?! (?:santa|recipe|ingredient|weapon|sauce|garden|agent|service)\b)"
    r"|\b(?:this|that|it)(?: is|'s| stays) (?:strictly |very |all )?private\b(?=\s*(?:[,.:;!—-]|$))"
    r"|\b(?:our|my) little secret\b|\bmum'?s the word\b"
    r"|\bnot a word (?:about this |of this )?to (?:any ?one|any ?body|others|a soul)\b"
    r"|\bonly (?:told|telling|tell) you\b(?! (?:that|to|what|how|why|the|once)\b)"
    r"|\bno ?(?:body|one|-one)(?: else)? (?:can|must|should|may|is allowed to) know\b"
    r"|\bno ?(?:body|one|-one) else knows\b",
    re.IGNORECASE,
)
"""Requests for silence in English."""

_NOT_CHINESE: Final = lazy_pattern(
    r"(?:不用|不必|不需要|无需|无须|没必要|没有必要|用不着|何必|何须|不是|没有?|不要求|取消|不再|"
    r"不算|(?<!特)别再|并非|不|(?:为什么|为啥|干嘛|凭什么)(?:要|得)?)"
    r"(?:说过?|让|叫|要求?|你|您|他|她|我|大家|我们|它|过|再|替我|帮我|给我|对外|对他|对她|什么|这么|去|的)"
    r"{0,3}$"
)
"""Before a request these negate it: 不用保密, 我没说别告诉别人."""
_NOT_ENGLISH: Final = lazy_pattern(
    r"(?:\bno need (?:to|for)|\bneedn'?t|\bcan(?:'?t|not)|\b(?:don'?t|doesn'?t|do not|does not|"
    r"didn'?t|did not|never) (?:have to|need to|want you to|want to|ask(?:ed)? (?:you )?to|say|"
    r"said|mean)|\bnot|\bisn'?t|\bwasn'?t|\baren'?t|\bno longer|\bwhy|\b(?:i|we|he|she|they))"
    r"(?: (?:you|to|it|this|that|is|was|really|actually|a|any|anything|for|keep|exactly|it's|just|"
    r"would|will|could))*\s*$",
    re.IGNORECASE,
)
_EACH_END: Final = 5_000
"""Characters searched at each end of a long text: a regular expression holds the GIL meanwhile."""
_BEFORE: Final = 40
"""Characters before a request in which a negation counts."""
_CLAUSE: Final = re.compile(r"[，。！？；,.!?;:：\n]")


def is_confidence(text: str) -> bool:
    """True if the speaker of ``text`` asks to keep it secret."""
    if len(text) > 2 * _EACH_END:  # a request for silence is before or after its subject
        text = f"{text[:_EACH_END]}\n{text[-_EACH_END:]}"
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    plain = _TITLE.sub(" ", simplified(plain))
    return _asks(CHINESE, _NOT_CHINESE, plain) or _asks(ENGLISH, _NOT_ENGLISH, plain)


def told_in_confidence(memory: Memory) -> bool:
    """The same of all texts of an entry, a task's progress included."""
    said = (memory.judgment, memory.reasoning, *memory.tags, *memory.asks, memory.context)
    return any(map(is_confidence, (*said, *memory.extra)))


def _asks(request: re.Pattern[str], taken_back: re.Pattern[str], text: str) -> bool:
    for match in request.finditer(text):
        before = text[max(match.start() - _BEFORE, 0) : match.start()]
        if not taken_back.search(_CLAUSE.split(before)[-1]):
            return True
    return False
