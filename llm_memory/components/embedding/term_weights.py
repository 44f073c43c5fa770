"""How much a token says, known beforehand. Pure.

Static on purpose: document frequencies taken from the memories themselves would let the words of
one scope change what another scope finds, and would change every vector with every write.
"""

from __future__ import annotations

import math

from .. import stop_words
from ..english import stem
from ..scripts import Script, script_of
from ..word_counts import WordCounts

FUNCTION_WORD = 0.1
FUNCTION_CHARACTER = 0.05
_SMOOTHING = 20.0  # of a word's count in jieba's dictionary, which has 60 million
_CHARACTER_SMOOTHING = 50.0
_IDF_LOW = 5.0  # a word as frequent as 公司 weighs FUNCTION_WORD
_IDF_SPAN = 10.0  # one that occurs thrice weighs 1
_CHARACTER_IDF_LOW = 3.0
_CHARACTER_SHARE = 0.7  # a character against a word: it stands for many words
_HAN_SCALE = 1.3  # a Han word brings its characters along; this lets one floor serve both scripts
_CHAT_SHARE = 0.6  # jieba counted newspapers; these words are far more frequent between people
_CHAT_WORDS = frozenset(
    """
喜欢 推荐 建议 分享 地方 事情 方法 今天 明天 昨天 一部 一本 一道 一首 一次 一天 一种 名字 朋友
爱 看 听 吃 喝 玩 写 买 学 人 天 日 月 号 年 点 想到 感觉 感到 发现 开始 时间 最近 平时 经常
有时 有时候 东西 工作 生活 问题 情况 需要 希望 尝试 试试 享受 开心 高兴 不错 好玩 好吃 好看 有趣
有意思 那天 这天 当天 家 里面 出去 回来 起来 出来 下来 准备 打算 计划 选择 介绍 了解 学习 遇到
碰到 发生 经历 参加 变得 成为 适合 重要 合适 支持 帮助 努力 加油 相信 继续 心情 感受 不会 不能
不要 那家 这家 那位 有些 一起 一样 天气 周末 晚上 早上 上午 下午 中午
""".split()  # noqa: SIM905
)
_COMMON_ENGLISH = frozenset(
    map(
        stem,
        """
absolutely activity ago agree amazing answer attend awesome bad begin believe best better big
boy bring buy call change child cool couple currently date day decide definitely different
discuss enjoy event everything excited experience family favorite favourite feel feeling few
find first friend fun girl glad good great guy happen happy help home hope idea image important
inspire introduce keep kid last lately learn leave life little long look love main man mean meet
month morning move name new next nice night number old part people person photo picture place
plan play pretty put question read reason recent recently recommend remind right seem see share
show small sound special specific spend start suggest support sure take tell thank think three
time today tomorrow totally try turn two type watch way week weekend woman wonderful work world
wow write year yesterday planning th rd nd st
""".split(),  # noqa: SIM905
    )
)
_ENGLISH_STOPS = frozenset(map(stem, stop_words.ENGLISH))
_COMMON_LATIN = 0.38
_LATIN = (0.51, 0.06, 0.85)  # the least, more per letter, at most: long words are rarer
_DIGITS = (0.4, 0.6, 0.9)  # one digit, two, more: a port or a year says more than a 3
_HIRAGANA = (0.05, 0.25)  # single character, bigram: mostly endings and particles
_KATAKANA_OR_HANGUL = (0.1, 0.45)
_BIGRAM_OF_CHARACTERS = 0.5  # a name that the dictionary lacks, or mere neighbours
_BIGRAM_WITHOUT_DICTIONARY = 0.5
_CHARACTER_WITHOUT_DICTIONARY = 0.25
_OTHER = 0.7


class TermWeights:
    """Weights above 0, at most 1.3.

    A Han word weighs its inverse frequency in running text, ``log(total / (count + s))``, scaled
    linearly. Without a dictionary all bigrams weigh the same.

    Args:
        dictionary: Counts of words in some large corpus, or None.
    """

    def __init__(self, dictionary: WordCounts | None) -> None:
        self._dictionary = dictionary

    def __call__(self, token: str) -> float:
        """The weight of one token of ``Tokenizer.tokens``."""
        if token in stop_words.CHINESE:
            return FUNCTION_CHARACTER if len(token) == 1 else FUNCTION_WORD
        match script_of(token):
            case Script.DIGIT:
                return _DIGITS[min(len(token), 3) - 1]
            case Script.LATIN:
                return _latin(token)
            case Script.HAN:
                return _HAN_SCALE * self._han(token)
            case Script.HIRAGANA:
                return _HIRAGANA[len(token) > 1]
            case Script.KATAKANA | Script.HANGUL:
                return _KATAKANA_OR_HANGUL[len(token) > 1]
            case Script.SPACED | Script.UNSPACED:
                return _OTHER

    def _han(self, token: str) -> float:
        share = _CHAT_SHARE if token in _CHAT_WORDS else 1.0
        if self._dictionary is None:
            single = len(token) == 1
            return share * (_CHARACTER_WITHOUT_DICTIONARY if single else _BIGRAM_WITHOUT_DICTIONARY)
        if len(token) == 1:
            return share * _character(token, self._dictionary)
        count = self._dictionary.look(token)
        if not count:
            return _BIGRAM_OF_CHARACTERS
        idf = math.log(self._dictionary.distinct_total / (count + _SMOOTHING))
        return share * _between(FUNCTION_WORD, (idf - _IDF_LOW) / _IDF_SPAN)


def _character(character: str, dictionary: WordCounts) -> float:
    count = dictionary.character(character)
    idf = math.log(dictionary.distinct_total / (count + _CHARACTER_SMOOTHING))
    return _CHARACTER_SHARE * _between(FUNCTION_WORD, (idf - _CHARACTER_IDF_LOW) / _IDF_SPAN)


def _latin(token: str) -> float:
    if token in _ENGLISH_STOPS:
        return FUNCTION_WORD
    if token in _COMMON_ENGLISH:
        return _COMMON_LATIN
    least, per_letter, most = _LATIN
    return min(most, least + per_letter * len(token))


def _between(low: float, value: float) -> float:
    return min(1.0, max(low, value))
