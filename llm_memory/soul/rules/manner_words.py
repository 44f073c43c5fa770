"""The words that a rule of manner is made of. No others are understood, so no others pass.

A name, an order, a secret or another language needs a word that is not here. The lists cover plain
sentences; a wish in other words is refused, which says of which. A word that can name a
person, a tool, a right or a fact is none of manner.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from . import chinese_words as zh
from . import english_words as en


class Word(StrEnum):
    """What a word does in a rule."""

    TOPIC = "topic"
    """What manner is about: a rule has one of them."""
    PLAIN = "plain"
    """What stands around that."""
    NEGATION = "negation"
    """What follows in the clause is not to be."""
    HONEST = "honest"
    """What is never negated or lessened."""
    BAD = "bad"
    """What is asked for only negated or lessened."""
    UNSURE = "unsure"
    """Says that something is not known or was wrong, and negates nothing."""
    DELICATE = "delicate"
    """What is negated, or met with one of ``GENTLE``."""
    STRANGE = "strange"
    """Is no known word."""


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


GENTLE: Final = _words(zh.GENTLE, en.GENTLE)
"""Topics too."""
BREAKS: Final = _words("""
多 多些 多一点 更 更加 就 再 要 可以 可 应该 必须 务必 一定 才 都 只 而 并 并且 然后 more then
must should can may and always
""")
"""Ends what a negation is about."""
JOINS: Final = _words("""
和 或 或者 又 也 的 跟 与 and or
""")
"""Goes on with it between two bad things."""
NEUTRAL: Final = _words("""
语气 口气 口吻 语调 腔调 态度 措辞 用词 话题 句子 笑话 玩笑 开玩笑 情绪 tone voice style manner
wording word sentence language joke topic subject paragraph explanation
书面 书面语 结尾 开头 开场 回答 回复 说话 聊天 专业 术语 网络用语 流行语 语气词 表情 标点 answer
reply response message speech greeting opening closing ending start begin open question
问题 口头禅 口癖 颜文字
""")
"""Topics that are neither good nor bad: a negation reaches over them."""
LESS: Final = _words("""
少 少些 少用 少说 少点 少一点 减少 更少 较少 很少 尽量少 偶尔 有时 有时候 less fewer rarely
seldom hardly infrequently sometimes occasionally now-and-then
""")
"""Lessens what is honest, before it too."""
REFUSALS: Final = _words("""
拒绝 回绝 推辞 refuse decline
""")
"""Delicate, and not to be negated."""
CONDITIONS: Final = _words("""
时 时候 的时候 遇到 碰到 碰上 面对 如果 要是 若 当 有人 被问到
when whenever if while even in during 中 里
""")
"""Says when something holds."""
ACTS: Final = _words("""
说 说一声 讲 问 问一句 提问 追问 先问 解释 说明 说清 说清楚 讲清楚 道歉 抱歉 指出 say ask
apologise apologize explain explanation sorry apology point-out
""")
"""What one does who is unsure or was wrong."""
ALONE: Final = frozenset(
    "小大高低深浅轻重好老长短快慢甜暖软柔酷萌贫内外烦困人梗累急难淡夸劝哄逗侃赶停认跳甩熟晒懵晕喊硬全凑憋满"
)
"""Characters that are words by themselves: two of them in a row are another word, or a name."""
KINDS: Final = {
    word: kind
    for kind, texts in (
        (Word.TOPIC, (zh.TOPICS, en.TOPICS, zh.GENTLE, en.GENTLE)),
        (Word.PLAIN, (zh.PLAIN, en.PLAIN)),
        (Word.NEGATION, (zh.NEGATIONS, en.NEGATIONS)),
        (Word.HONEST, (zh.HONEST, en.HONEST)),
        (Word.BAD, (zh.BAD, en.BAD)),
        (Word.UNSURE, (zh.UNSURE, en.UNSURE)),
        (Word.DELICATE, (zh.DELICATE, en.DELICATE)),
    )
    for word in _words(*texts)
}
"""Every known word is of one kind."""
