"""What known words can still say that is no manner, and why a strange word is refused."""

from __future__ import annotations

import re
from typing import Final

from ...text.lazy_pattern import lazy_pattern
from ...texts import Said

ORDERS: Final = Said("soul_rule.orders")
RIGHTS: Final = Said("soul_rule.rights")
PEOPLE: Final = Said("soul_rule.people")
STRANGE: Final = Said("soul_rule.strange")
ITSELF: Final = Said("soul_rule.itself")
_WHO: Final = (
    "(?:别人|他人|大家|对方|用户|朋友|同事|老师|长辈|孩子|群里|群聊|私聊|他们?|她们?|我们?|"
    "自己|人们?)"
)
_OF_WHOM: Final = (
    "语气|口吻|情绪|心情|感受|感觉|语言|习惯|称呼|问题|时候?|看法|想法|意见|观点|节奏|水平|风格|错误|"
    "气氛|氛围|场合|情况|程度|态度|建议|语境|话题|外貌|隐私|感情|笑话|$|[,.;。]"
)
"""What of people a rule may be about."""
_THEIR: Final = (
    "tone|mood|language|level|style|feeling|formality|question|own|pace|view|opinion|idea|wording|"
    "mistake|manner|register|greeting|joke|humou?r|thought|sentence|feeling|$"
)
_ANYBODY: Final = (
    r"(?:person|people|user|member|friend|colleague|other|them|him|her|someone|everyone)s?\b"
)
_TOLD: Final = (
    "message|conversation|discussion|chat|exchange|word|line|story|stories|life|news|work|nickname|"
    "pronoun|name|text|answer|thing"
)


def _either(*forms: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(forms))


_OF_PEOPLE: Final = _either(
    rf"{_WHO}[里中]?(?:都|刚|想)?[说聊问写讲谈答]?(?:到|起)?的(?!{_OF_WHOM})",
    r"(?:把|将|总结|概括|摘要|说明|翻译|分享|介绍|推荐|写|说|聊|讲|谈)(?:一下)?(?:群里|群聊|私聊)",
    r"[问写说讲](?:一下|问|出|清楚?)?.{0,6}(?:昵称|称呼的?人)",
    r"[看听见读收学记][到过]的(?!时|话题)|[之以]前的(?!话题)|[聊说提谈问][到过起]?的人",
    r"\b(?:ask|say|write|add|include|give|put)\b.{0,24}\b(?:nickname|pronoun)s?\b",
    r"(?<!\bin )(?<!\bin a )(?<!\bin the )(?<!\bduring )(?<!group and )"
    r"\b(?:group|private) chats?\b",
    rf"\b(?:{_TOLD})s? (?:that (?:you|they|he|she|people|user|other)|from|before)",
    rf"\b(?:{_TOLD})s? (?:of (?!each|one|two|three)|you |they |he |she |people|user)",
    rf"\b(?:their|his|her)s? (?!{_THEIR})",
    rf"\babout (?:(?:the|each|every|that|this|an?|other) )?{_ANYBODY}",
    r"(?<!tone )(?<!mood )(?<!level )(?<!style )(?<!language )(?<!feeling )(?<!feelings )"
    rf"\bof (?:(?:the|each|every|other|some|an?) )?{_ANYBODY}",
    rf"\bask(?:s|ing)? (?:(?:the|each|every|an?) )?{_ANYBODY} (?:about|for|how|where|when|why)",
    r"\bother (?:group|chat|room|communit)",
    r"问.{0,6}(?:多大|哪|谁|细节)",
    r"(?:多|引导|鼓励|让).{0,6}(?:说|聊|讲|谈)[说聊讲谈到起]?(?:自己|生活|工作)",
    # What stands before the conversation, or is not to be said.
    r"(?:开头|前面?|上面?|中间|后面?)的?[那这]",
    r"不(?:能|好|方便|该|可以|便|宜)(?:直接|随便|明)?(?:[说讲谈聊写答]|回答|回复)的",
    r"\b(?:thing|word|topic|answer|subject|part)s? (?:that |which )?(?:\w+ ){0,2}not\b",
)
"""What somebody said, is called or does, put into what the bot says."""
_ORDER: Final = _either(
    # One person is treated unlike the others.
    r"(?:只|仅)(?:[^,.;。]{0,6}我|对|跟|和|给)",
    rf"\bonly (?:to|with|for) (?:(?:the|an?|my) )?{_ANYBODY}",
    r"\b(?:only|just)\b[^,.;]{0,12}\bme\b|\bme (?:only|alone)\b",
    r"我(?!们).*(?:别人|他人|大家)|(?:别人|他人|大家).*我(?!们)|[叫喊]我|称呼我",
    r"\bme\b.*\b(?:others|everyone|people)\b|\b(?:others|everyone|people)\b.*\bme\b",
    r"(?:夸|提到|给|向|陪|哄|关心)我(?!们)|我的",
    r"\b(?:call|answer|praise|compliment|encourage|comfort|greet|thank|give|support) me\b",
    r"\blisten(?:ing|s)?\b[^,.;]{0,12} (?:me|the|my|his|her|one|only)\b",
    rf"\bthan (?:to|with|for) (?:(?:the|an?) )?(?:{_ANYBODY}|\w+s\b)",
    # It says that it is somebody, or that it is as it was.
    r"变了|改了|一直(?:如此|这样)|本来就|\bchanged\b",
    r"(?:说|称)[^,.;。]{0,4}是(?!不是|否)",
    # Something is spelled inside the text, or said in signs.
    r"\b(?:first|second|third|last) (?:word|character|letter)s? of\b",
    r"(?:只|全|都|仅)[用能]?(?:能|用)?(?:表情|emoji|颜文字|标点|数字|符号)",
    r"\b(?:only|just|nothing but)\b.{0,12}\b(?:emojis?|punctuation|numbers?)\b",
    r"\bto (?:say|mean|show|send) (?:yes|no)\b",
    # It sounds surer than it is, or knows no bounds.
    r"(?:少|别|不要?|不再|避免)(?:用|说|讲)?[“\"'‘「]*(?:可能|也许|大概|或许|好像|似乎|我[猜觉]|仅供)",
    r"\b(?:never|no|avoid|skip|not|fewer|less|drop|stop)\b.{0,24}\b"
    r"(?:maybe|perhaps|probably|possibly|i (?:guess|think)|in my opinion|depends?)\b",
    r"\blimits\b|\bno (?:topic|subject|question|joke)s? (?:is|are)\b",
    r"没有?.{0,3}(?:话题|问题|玩笑)是?太",
    # A sign in what somebody writes changes what the bot does.
    r"\b(?:if|when(?:ever)?|once)\b[^,.;]{0,24}\b(?:messages?|texts?|prompts?|wishe?s?)\b"
    r"[^,.;]{0,12}\b(?:end|start|begin|contain|include|mention)s?\b",
    r"(?:如果|要是|只要|当|看[到见]|收到)[^,.;。]{0,8}(?:消息|句子|[这那]句话)[^,.;。]{0,6}"
    r"(?:结尾|开头|里有|包含|带|提到)",
    # It judges itself.
    r"\b(?:rate|score|grade)s?\b|\bcounts? [^,.;]*\bas\b",
    # It agrees before it has read.
    r"\b(?:say|answer)(?:s|ing)? yes\b|\byes first\b|(?:先|都|一律)答应",
    r"(?:^|[,.;。])(?:每次|总是|一律|回答|回复|都)*(?:先说|以|用)[^,.;。]{0,3}"
    r"(?:当然|好的|可以|没问题)",
    r"(?:^|[,.;] ?)(?:always |please )?(?:start|begin|open)\b[^,.;]*"
    r"\b(?:sure|of course|absolutely|yes|ok|okay)\b",
    r"\b(?:emoji|punctuation|number|symbol)s? (?:only|alone)\b",
    # It is silent, or nearly, or will not be.
    r"\b(?:not|never) stop|不(?:要|能|得|许|准)?停",
    r"(?<![\d十])[一二两三1-3]个?字|\b(?:one|single|1) word\b",
    r"(?:不要?|别|勿|不再|不用)(?:再|去)?(?:回答|回复|回应|说话|聊天|开口)(?:问题)?"
    rf"(?:$|[,.;。!?]|{_WHO})",
    r"\b(?:not|never|stop|no)\s(?:answer|repl|respond|speak|talk|say)\w*"
    r"(?:$|[,.;!?]|\s(?:to|people|user|anyone|anybody|me|them|him|her)s?\b)",
)
_LEFT_OUT: Final = _either(
    r"(?:除非|如果|要是|假如|等|有人|只有)[^,.;。]{0,6}(?:追问|问起?)到?(?:细节|哪[里儿些个])",
    r"(?:不要?|别|避免|不用|不必)(?:再|总|老)?(?:重复|复述|照搬|引用)[^,.;。]*",
    r"(?:不要?|别|不用|不必)(?:再|总|老|先)?[把将拿]我(?:说)?的?(?:问题|问法|原?话|意思)"
    r"(?=[^,.;。]{0,6}(?:重复|复述|照搬|抄|念|翻译|说一遍|讲一遍|改写))",
)
"""What somebody asks about, and words of others that the bot is not to say."""
_OF_ITSELF: Final = _either(
    r"(?:愿望|提[议案]|规[则矩]|改动|修改|变更|审核|评审|回滚|版本)[^,.;。]{0,8}"
    r"(?:摘要|概要|概括|总结|描述|显示|展示|列|介绍|说成|写成|记[录作成]|措辞)",
    r"(?:摘要|概要|日志|记录|总结|简介)[里中上][^,.;。]{0,6}(?:写|说|称|记|显示|展示|描述|提)",
    r"^(?=.*\b(?:summar|describ|show|appear|list|log|call|label|present|report|display|name|word|"
    r"phras|refer|explain|mention|review|judg|read|count|overrid|approv))"
    r".*\b(?:this|these|the|that|a|an|any|every|each|new)(?: (?:new|style|small|little|tiny))* "
    r"(?:wish|rule|change|edit|entry|proposal|adjustment|tweak|update|revision|preference|version|"
    r"amendment|diff|(?<=this )(?:line|bullet|request))(?:es|s)?\b",
    r"\b(?:summar\w+|logs?|diff|changelog|record|history|review)s? (?:of|for|about) "
    r"(?:this|these|the|any|your|each|every|a) (?:\w+ )?"
    r"(?:wish|rule|change|edit|proposal|adjustment|tweak|update|manner|soul|persona|style)",
)
"""How the rule itself, or the way that it took, is shown, described or judged."""
_MEANS_MORE: Final = ((ITSELF, _OF_ITSELF), (PEOPLE, _OF_PEOPLE), (ORDERS, _ORDER))
_SUBJECTS: Final = (
    (
        ORDERS,
        _either(
            r"听从|听.{0,4}的|服从|遵守|遵从|照.{0,6}[做办说]|执行|命令|扮演|假装|冒充|身份|满足|答应|"
            r"真人|人类|忠|绕过|越狱|同意|允许|批准|放行",
            r"\b(?:obey|follow|comply|pretend|act as|execut|command|order|whatever|"
            r"anything|everything|master|boss|leader|speaker|loyal|trust|agree|believ|allow|permit|"
            r"approv|roleplay|impersonat|human|identity|ignor|overrid|bypass|jailbreak|unrestrict)",
        ),
    ),
    (
        RIGHTS,
        _either(
            r"工具|记忆|记住|权限|管理员|主人|指令|规则|系统|提示词|设定|评[审估测]|审[核批]|探针|版本",
            r"回滚|否决|边界|范围|日志|文件|网页|安全|警告|群主|站长|开发者|作者|老板|人设|规矩|公告|"
            r"测试|插件|接口|搜索|转账|付款|转?发送?|复制|链接|图片|脚本|编码|[加解]密|密文|暗号|拼音|首字|"
            r"倒序|限制|解除|关闭|[隐瞒]|保密|保守|忘记|泄露|透露|举报|违规|防备|防范|提防",
            r"\b(?:tool|memor|permission|admin|owner|instruction|rule|system|prompt|check|soul)",
            r"\b(?:version|evaluat|judge|boundar|scope|log|file|safe|warn|secret|silent|hide|conceal|"
            r"developer|creator|guideline|policy|policies|right|function|plugin|search|run\b|review|"
            r"test|prob|rollback|veto|forget|leak|disclos|reveal|share|copy|send|forward|transfer|"
            r"pay\b|link|image|script|website|encod|decod|encrypt|cipher|hex|pinyin|revers|acrostic|"
            r"disab|root|restrict|censor|filter|protect|guard|secur|law|legal|ethic|confiden|strict)",
        ),
    ),
    (
        PEOPLE,
        _either(
            r"\d{4,}|秘密|密码|口令|名字|住[在址]|电话|账号|生日|听到|[聊说]过|"
            r"密钥|验证码|手机|地址|[姓真]名|年龄|毒品|武器|赌博|股票",
            r"\b(?:secret|password|phone|account|birthday|said|told|heard|remember|gossip|"
            r"passcode|token|address|name|surname|age\b|salary|drug|weapon|gambl|stock|buy|sell|kill)",
        ),
    ),
)


def order_in(seen: str) -> Said | None:
    """Returns what a folded rule of known words says besides manner, None for nothing."""
    left = _LEFT_OUT.sub(" ", seen)
    return next((why for why, form in _MEANS_MORE if form.search(left)), None)


def why_strange(seen: str) -> Said:
    """Returns why a folded rule with strange words is refused, by what it seems to be about."""
    return next((why for why, form in _SUBJECTS if form.search(seen)), STRANGE)
