"""Labels texts that read like an order to the bot.

An order's origin keeps it from being obeyed: only a trusted speaker reaches the instructions, and
all recalled text is inside the data fence with its speaker's name. The label only decides that the
words are shown as a quotation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import StrEnum

from ...text.lazy_pattern import lazy_pattern


class OrderLike(StrEnum):
    """What a text is trying.

    TAKEOVER would override existing rules, assume another role, forge our marks or extract secrets:
    no owner keeps such a rule, so not even a trusted speaker's becomes one. STANDING would be
    obeyed from now on: it is a rule if a trusted speaker says it.
    """

    TAKEOVER = "takeover"
    STANDING = "standing"


_FILE_STAMP = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad]")

_TAKEOVER = lazy_pattern(
    # override existing rules
    r"(?:忽略|无视|無視|忽视|忘掉|忘记|忘了|不要管|别管|不用管|抛开|跳过|绕过|覆盖|取消|清除|违背)"
    r"[^。！？\n]{0,8}?(?:之前|以前|先前|此前|上面|上述|前面|以上|原有|原来|所有|一切|系统|全部|"
    r"任何|你的|它的)"
    r"[^。！？\n]{0,10}?(?:指示|指令|命令|提示|规则|规矩|设定|要求|限制|对话|内容|约束|准则)"
    r"|(?:之前|以前|先前|上面|前面|以上|原来)的?(?:所有|全部)?(?:指示|指令|命令|规则|设定|"
    r"提示词?)[^。！？\n]{0,6}(?:作废|无效|失效|不算|取消)"
    r"|\b(?:ignore|disregard|forget(?: about)?|override|bypass|discard|overlook|do not follow|"
    r"don'?t follow|"
    r"stop following)\b[^.!?\n]{0,24}\b(?:previous|prior|above|earlier|preceding|all|any|your|"
    r"those|these|system)\b"
    r"[^.!?\n]{0,20}\b(?:instructions?|prompts?|rules?|directions?|directives?|guidelines|"
    r"guardrails|"
    r"constraints|commands?|messages?|context|restrictions|training|programming)\b"
    r"|\bignore the above\b|\bregardless of (?:any )?previous (?:instructions|tasks|rules)\b"
    r"|(?:前|以前|上記|これまで|今まで|すべて)の?(?:指示|命令|ルール|指令|"
    r"プロンプト)?[^。\n]{0,4}を?(?:無視|忘れ)|上記を無視"
    r"|이전\s*(?:의\s*)?(?:모든\s*)?지시|앞의\s*지시"
    r"|(?:ignor|vergess|oubli|olvid|esque[cç])\w*[^.!?\n]{0,24}"
    r"(?:instru[ck]\w*|anweisung\w*|vorherig\w*|anterior\w*|pr[eé]c[eé]dent\w*|precedent[ei])"
    r"|αγνο[ηή]\w*[^.!?\n]{0,24}οδηγ|игнорир\w*[^.!?\n]{0,24}(?:инструкц|указани)|पिछले\s+निर्देश"
    # assume another role
    r"|(?:你|妳)(?:现在|从现在起|今后|以后)?(?:已经)?(?:就是|变成|成为|扮演|进入|"
    r"切换到?)[^。！？\n]{0,16}(?:DAN|越狱|开发者模式|无限制|没有限制|不受限制|管理员模式|"
    r"上帝模式|调试模式)"
    r"|(?:开发者|管理员|调试|上帝|越狱|系统|无限制|超级)模式(?:已)?(?:开启|启动|激活|打开)"
    r"|(?:打破|解除|关闭|去掉|摆脱|不受|不必遵守)[^。！？\n]{0,12}(?:AI|人工智能|安全|内容|道德|"
    r"典型)[^。！？\n]{0,6}(?:限制|过滤|审查|规则|护栏)"
    r"|\b(?:you are now|you'?re now|act as|pretend to be|become|"
    r"immerse yourself into the role of)\b[^.!?\n]{0,40}"
    r"\b(?:dan|jailbroken|unrestricted (?:ai|model|assistant)|evil (?:ai|bot)|developer mode|"
    r"do anything now|"
    r"(?:another|different) ai)\b"
    r"|\bdo anything now\b|\bdan\b[^.!?\n]{0,30}\b(?:mode|stands for)\b"
    r"|\b(?:system|god|developer|admin|debug|root|sudo|maintenance|override|"
    r"jailbreak) mode\b[^.!?\n]{0,20}\b(?:on|enabled|activated|engaged|confirmed)\b"
    r"|<\s*(?:system|god|admin|developer|debug|root)\s*mode\s*>|\bsystem override\b(?! is)|"
    r"システムオーバーライド確認"
    r"|\bi am (?:god|your (?:creator|developer|god|master))\b|\bi'?m your (?:creator|developer|"
    r"god|master)\b"
    r"|我(?:才)?是你的?(?:上帝|创造者|开发者|主人|造物主|管理员)|私は神"
    # forge our marks, or those of a chat template
    r"|</?\s*(?:scoped_memory|system|assistant|user|tool|instructions?|im_start|im_end|s|inst)\s*>"
    r"|<\|[a-z_]{2,20}\|>|\[/?(?:inst|system|sys)\]|<<\s*/?sys\s*>>|^\s*#{1,6}\s*(?:system|"
    r"instruction)s?\b"
    r"|[#^]m-[0-9a-z]{4,32}|^\s*>\s*(?:谁|号|来源|可信)\s*[:：]|可信\s*[:：]\s*是|"
    r"(?:^|\n)\s*(?:system|assistant|developer|系统|系统提示|系统消息|管理员消息)\s*[:：]\s*\S"
    r"|\[\s*(?:system|admin|系统|管理员)(?:\s*(?:message|note|消息|通知|提示))?\s*\]|"
    r"【\s*(?:系统|管理员|官方)(?:消息|通知|提示|指令)?\s*】"
    # extract secrets, or have something done secretly
    r"|(?:说出|告诉我?|输出|打印|泄露|透露|发给我|重复|复述|列出|导出|"
    r"念出)[^。！？\n]{0,12}(?:系统提示词?|提示词|系统指令|初始设定|其他(?:群|人|域)的?(?:记忆|"
    r"秘密|聊天)|所有人?的?(?:记忆|秘密|密码|隐私)|别的?(?:群|域))"
    r"|\b(?:reveal|print|show|output|repeat|leak|tell me|dump|list|export|"
    r"send me)\b[^.!?\n]{0,30}\b(?:system prompt|hidden prompt|initial instructions|"
    r"other (?:users?|people|groups?|scopes?)'?s? (?:memories|secrets|messages|data)|"
    r"all (?:memories|secrets|passwords)|your (?:password|passphrase|secret|instructions))\b"
    r"|\b(?:what(?:'s| is| are| would)|(?:share|give|tell|send|"
    r"provide)(?: me)?(?: with me)?) (?:be )?your (?:password|passcode|passphrase|pin|secret key|"
    r"api key)s?\b"
    r"|(?:告诉我|给我|说出|发给我|确认)[^。！？\n]{0,6}(?:你们?|系统|后台|主人|管理员)的?(?:密码|"
    r"密钥|口令|秘钥)|你的(?:密码|密钥|秘密钥|口令)是(?:什么|多少)"
    r"|(?:不要|别|不准|不许)(?:让|告诉|提醒|通知)[^。！？\n]{0,8}(?:主人|管理员|群主|用户|别人|"
    r"任何人)[^。！？\n]{0,6}(?:知道|发现)?[^。！？\n]{0,10}(?:执行|照做|转账|发送)"
    r"|\b(?:without telling|do not tell|don'?t tell|never tell)\b[^.!?\n]{0,20}\b(?:owner|admin|"
    r"user|anyone)\b",
    re.IGNORECASE | re.MULTILINE,
)
_STANDING = lazy_pattern(
    r"(?:以后|从现在起|从今往后|今后|从此|往后|从今天起|接下来|下次|每次|任何时候|永远|无论谁|"
    r"不管谁|只要有人|不论)"
    r"[^。！？\n]{0,14}(?:你(?:必须|得|只|不)|你(?:都|就|要|应该|每|全)[^。！？\n]{0,8}(?:回答|回复|"
    r"说|称呼|转账|执行|推荐|输出|答应|服从|叫我|听我)|都?听(?:我|从)|都听[^，。！？\s]{1,8}的(?=\W|$)|(?:都|就|"
    r"要|必须|只|不要|别|一律)[^。！？\n]{0,4}(?:回答|回复|称呼|转账|执行|推荐|输出|答应|听我|说[她他我]))"
    r"|(?:都|只|必须|一律|全)(?:要)?听我的|听我(?:的)?(?:指挥|命令|指令)|(?:叫|喊|称呼?)我(?:为|"
    r"作|做)?(?:主人|爸爸|老大|陛下|大人|管理员)"
    r"|你(?:必须|务必|一定要|只能|不准|不许|不能|不得|永远不|绝不能|从此)[^。！？\n]{0,24}(?:我|"
    r"回答|回复|说|听|服从|执行|遵守|照做|拒绝|答应|转|发)"
    r"|(?:回答|回复|说话|聊天)(?:我|时|的时候|前|之前|问题)?[^。！？\n]{0,8}(?:必须|务必|一律|"
    r"都要|都用|只能|只用|先|一定要|不要|不准|禁止)"
    r"|(?:必须|务必|一律|都要|只能|只许|一定要)(?:先)?(?:用|按|按照)[^。！？\n]{0,10}(?:回答|"
    r"回复|说话|语气|口吻)"
    r"|(?:请|务必|必须)?记住[，,:：]?你(?:是|叫|要|只|必须|现在)|你(?:的)?(?:新)?(?:主人|身份|"
    r"任务|职责|规则|名字)(?:现在)?(?:是|变成|改为|改成)"
    r"|(?:^|[.!?;\n]\s*)from now on\b(?!,? (?:i|we|he|she|it|they|my|our|his|her|its|their)\b)"
    r"|\bfrom now on,? (?:you|please|always|never|only|do|answer|"
    r"reply)\b|\bfor the rest of (?:this|the|our) (?:chat|conversation)\b"
    r"|\b(?:you|bot|assistant|ai)\b[^.!?\n]{0,8}\b(?:must|shall|should|have to|need to|"
    r"will)\b[^.!?\n]{0,6}\b(?:always|never|only|obey|answer all|"
    r"answer every|refuse|reply|respond|do (?:as|what|whatever)|follow my|listen to (?:me|my)|"
    r"call me|pretend)\b"
    r"|\b(?:you have to|you must) answer\b"
    r"|(?:^|[.!?;,:\n]\s*|\b(?:please|and|then)\s+)(?:always|never|only) (?:answer|reply|respond|"
    r"call me|obey|agree with me|listen to me|do (?:as|what|whatever) i)\b"
    r"|\b(?:every time|whenever|when(?:ever)? (?:anyone|someone|somebody|i|he|she|"
    r"they)) [^.!?\n]{1,60}?,? (?:you (?:must|should|have to|will|need to)|"
    r"(?:always |please )?(?:reply|answer|respond|tell (?:them|him|her|everyone)|transfer|send|"
    r"run|execute))\b"
    r"|\b(?:do (?:as|what(?:ever)?) i say|obey me|i am the boss now|only listen to me|"
    r"call me (?:master|sir|boss|daddy|admin))\b"
    # have something passed on to people
    r"|(?:^|[，,。！!；;\s])(?:必[须須]|[务務]必|一定要|[记記]得|[请請]|[麻烦煩]{2})[^。！？\n]{0,4}?"
    r"(?:(?:告[诉訴]|提醒|通知)(?:给|給)?(?:大家|[别別]人|所有人|每[个個]人|[问問]\S{0,4}的人)"
    r"(?!.{0,3}(?:吗|嗎|了))|"
    r"[转轉]?[发發](?:送|[给給])?(?:给|給)?(?:大家|[别別]人|所有人|每[个個]人|[问問]\S{0,4}的人))"
    r"|(?:原[样樣]|照[样樣])(?:地)?(?:[转轉]?[发發]|告[诉訴])[给給]?\S{0,8}人"
    r"|(?:^|[.!?;,:\n]\s*|\bplease )(?:you must |must |always |be sure to |remember to |do )?"
    r"(?:tell|remind|notify|forward (?:this|it) to|send (?:this|it) to) "
    r"(?:everyone|everybody|all (?:people|of them)|other people|others|anyone who asks)\b"
    r"|あなたは(?:必ず|常に|今から)|今から(?:あなた|君)は|必ず[^。\n]{0,16}(?:答え|返事|従)|"
    r"すべて答えてください",
    re.IGNORECASE,
)


_SPOKEN = re.compile(r"“[^”\n]*”|‘[^’\n]*’|「[^」\n]*」|《[^》\n]*》|\"[^\"\n]*\"")


def is_quotation(texts: Iterable[str], *, trusted: bool) -> bool:
    """True if a speaker's text is shown as a quotation: an order that is not vouched for.

    An order inside quotation marks is reported speech and not an order. From a trusted speaker,
    whose order would become a rule, it counts as one all the same.
    """
    said = "\n".join(texts)
    unquoted = said if trusted else _SPOKEN.sub(" ", said)
    like = order_like(unquoted if unquoted.strip() else said)
    return like is OrderLike.TAKEOVER or (like is OrderLike.STANDING and not trusted)


def order_like(text: str) -> OrderLike | None:
    """Returns what the text is trying, None if it does not read like an order."""
    seen = _FILE_STAMP.sub("", unicodedata.normalize("NFKC", text))
    if _TAKEOVER.search(seen):
        return OrderLike.TAKEOVER
    return OrderLike.STANDING if _STANDING.search(seen) else None
