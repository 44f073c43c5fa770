"""Which differences between two statements mean nothing: the only ones that a merge forgives.

Pure data. Whatever is not listed here makes two statements different, so a number, a negation, a
name or an object that no list foresaw can never be merged away.
"""

from __future__ import annotations

_SYNONYMS = """
喜欢 喜爱 钟爱 中意
喜欢吃 爱吃
喜欢喝 爱喝
喜欢看 爱看
喜欢听 爱听
喜欢玩 爱玩
讨厌 厌恶 反感
害怕 惧怕
妈妈 母亲 老妈
爸爸 父亲 老爸
奶奶 祖母
爷爷 祖父
外婆 姥姥
外公 姥爷
老婆 妻子
老公 丈夫
孩子 小孩
医生 大夫
手机号 手机号码
电话 电话号码
自行车 单车
西红柿 番茄
土豆 马铃薯
香菜 芫荽
猫 猫咪
狗 狗狗
电脑 计算机
住 住在 居住在 居住于
工作 上班
叫 叫做 名叫 名字叫 名字是 的名字叫 的名字是
买 购买
去 前往
使用 用
周 星期 礼拜
周日 星期日 星期天 礼拜天 礼拜日
元 块 块钱
公里 千米 km
公斤 千克 kg
厘米 公分 cm
每天 天天 每日
经常 常常 时常
现在 目前 如今 眼下
因为 由于
如果 要是 假如
但是 但 可是
觉得 认为
早上 早晨
生日 出生日期
我 用户 本人 俺
不能 无法 没法 不可以
不要 请勿 勿 别
没 没有
i user
mother mom mum mommy
father dad daddy
grandmother grandma granny
grandfather grandpa
children kids
child kid
bicycle bike
doctor physician
movie film
apartment flat
buy purchase
buys purchases
bought purchased
big large
begin start
begins starts
favorite favourite
color colour
cannot can't cant
everyday daily
tv television
phone telephone
lives resides
"""
"""One meaning a line; the first word stands for all."""

SYNONYMS = {
    word: words[0]
    for words in (line.split() for line in _SYNONYMS.strip().splitlines())
    for word in words
}

_EMPTY = frozenset(
    """
的 了 呢 啊 呀 哦 噢 喔 嘛 啦 哟 哈 是 个 在 也 a an the is are be do does 's
""".split()  # noqa: SIM905
)
DEGREES = frozenset(
    ["很", "非常", "特别", "超级", "挺", "蛮", "相当", "极其", "真的", "very", "really", "so"]
)
EMPTY = _EMPTY | DEGREES
"""Words that say nothing. Degrees do behind a "not": ``不很`` is not ``不``."""

LIGHT = frozenset(
    """
会 平时 通常 一向 已经 早就 其实 确实 那个 这个 usually generally actually currently also
quite already of
""".split()  # noqa: SIM905
)
"""Words that may stand in one of two statements without a negation; none stands for another."""

NEGATIONS = frozenset(
    """
不 没 无 未 别 非 勿 莫 不要 不能 从不 not no never none nobody nothing neither nor without cannot
hardly rarely
""".split()  # noqa: SIM905
)

CONTRACTIONS = {
    "don't": "do not", "doesn't": "does not", "didn't": "did not", "isn't": "is not",
    "aren't": "are not", "wasn't": "was not", "weren't": "were not", "won't": "will not",
    "can't": "cannot", "couldn't": "could not", "shouldn't": "should not",
    "wouldn't": "would not", "hasn't": "has not", "haven't": "have not", "hadn't": "had not",
    "i'm": "i am", "you're": "you are", "we're": "we are", "they're": "they are",
    "he's": "he is", "she's": "she is", "it's": "it is", "i've": "i have", "i'll": "i will",
    "i'd": "i would",
}  # fmt: skip

TURNS = NEGATIONS | frozenset(
    """
但是 不过 然而 其实 后来 以前 曾 曾经 取消 改 换 误会 假 停 戒 分 除 如果 可能 也许 大概 听说
据说 吧 吗 ? but however although though actually later former formerly used cancelled canceled
changed stopped quit false wrong maybe perhaps unless except if until
""".split()  # noqa: SIM905
)
"""Words by which a further clause may take back what the first ones said."""

PERSONS = frozenset(
    """
妹 弟 哥 姐 女儿 儿子 孩子 宝宝 妈妈 爸爸 父 母 奶奶 爷爷 外婆 外公 叔 伯 姨 姑 舅 侄 外甥
老婆 老公 爱人 对象 友 同学 同桌 同事 邻居 老师 老板 领导 客户
sister brother son daughter child children baby mother father parents grandmother grandfather aunt
uncle nephew niece cousin wife husband partner girlfriend boyfriend friend roommate classmate
colleague neighbour neighbor teacher boss
""".split()  # noqa: SIM905
)
"""Between a name and what is said of it they make it another one's: 小明的妹妹."""
