"""How far an embedder may be trusted for a language: a small examination. Pure.

Each pair is a question and its answer in other words; no answer shares a word with its own question
(a test sees to it). So what hashes words, or nothing at all, finds none of them by merit, and gets
no weight beside an index that knows words better. A model that knows the language finds nearly all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sumprod
from operator import itemgetter

from ...text.scripts import Language

EXAMINATION = 5
"""Its number: with another one, embedders are examined anew."""

PROBES: dict[Language, tuple[tuple[str, str], ...]] = {
    Language.CHINESE: (
        ("老人家做饭要避开什么食材", "奶奶对花生过敏"),
        ("图书馆哪天不开门", "每逢星期一休息"),
        ("他早上习惯喝什么饮料", "小明总点一杯美式咖啡"),
        ("表弟会什么乐器", "每个周末都去上吉他课"),
        ("家里的宠物怎么称呼", "橘猫名叫团团"),
        ("上次旅行去了哪些城市", "国庆在大理和丽江待了五天"),
        ("他为什么睡不着", "最近压力大，夜里总失眠"),
        ("她从事什么职业", "小红在医院当护士"),
        ("怎么去公司上班", "每天骑自行车通勤"),
        ("他们何时举办婚礼", "新郎新娘定在明年五月成家"),
        ("孩子在念什么书", "女儿刚升小学"),
        ("房租多久交一次", "按季度付钱给东家"),
        ("她害怕什么动物", "一看到蛇就吓得发抖"),
        ("谁赢得了那场比赛", "红队最终夺冠"),
        ("电脑出了什么毛病", "笔记本开机后一直蓝屏"),
        ("他戒掉了什么坏习惯", "老王已经半年没抽烟"),
        ("晚餐打算吃什么", "今夜煮火锅"),
        ("哪位亲戚住在国外", "姑妈移民加拿大十年"),
        ("她的身体状况如何", "血压偏高，医生让她少吃盐"),
        ("合同何日到期", "协议截止至年底"),
    ),
    Language.ENGLISH: (
        ("what does Anna like to drink", "her favourite beverage is green tea"),
        ("when is the rent due", "the landlord wants his money on the fifth"),
        ("which city did we visit last summer", "we spent a week in Lisbon in July"),
        ("how do I restart the printer", "hold the power button to reboot that machine"),
        ("what is my cat called", "our orange kitten answers to Dumpling"),
        ("which food makes grandma ill", "peanuts give the old lady a rash"),
        ("what instrument does he play", "my cousin takes guitar lessons"),
        ("why can he not sleep", "stress keeps Tom awake every night"),
        ("what does she do for a living", "Mary works as a nurse at the hospital"),
        ("how does he get to work", "Paul commutes by bicycle"),
        ("when is the wedding", "they are getting married next May"),
        ("which animal scares her", "snakes make Julia tremble with fear"),
        ("who won the match", "the red team took the trophy in the final"),
        ("what is wrong with the computer", "his laptop shows a blue screen after booting"),
        ("which bad habit did he give up", "Bob quit smoking half a year ago"),
        ("what will we have for dinner", "tonight I am cooking lasagne"),
        ("which relative lives abroad", "my aunt emigrated to Canada"),
        ("is she in good health", "the doctor told Emma to cut salt for high blood pressure"),
        ("where did the couple meet", "they got to know each other at university"),
        ("what did the kids build", "the children made a treehouse out of planks"),
    ),
}


_UNEXAMINED = 0.1
"""The deviation that is taken before the examination, where only vectors can answer."""


@dataclass(frozen=True, slots=True)
class Cohort:
    """What an examination told of an embedder in one language: how far it is trusted, and what it
    calls near by chance, from texts that have nothing to do with each other.

    Some questions are near to every text, and some texts to every question. So a similarity is
    measured against the mean of the same question's to a cohort of texts, and against the mean of
    the same text's to a cohort of questions: the normalisations of scores called T-norm and Z-norm
    (Auckenthaler et al. 2000), and S-norm together (Shum et al. 2010). The first mean is the
    similarity to the texts' mean vector; the second is a similarity to the questions' mean vector,
    so that it is enough to take that from the question, see ``apart_from``.

    Attributes:
        weight: 0 to 1.
        centre: The mean vector of the texts, shape ``(dim,)``.
        deviation: The standard deviation of a question's similarities to them.
        common: What is taken from each question, shape ``(dim,)``; empty for nothing.
    """

    weight: float
    centre: tuple[float, ...]
    deviation: float
    common: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Trust:
    """What an examination told of an embedder; of an empty one nothing is known."""

    cohorts: Mapping[Language, Cohort] = field(default_factory=dict)

    def weight(self, language: Language | None) -> float:
        """For a query, 0 to 1. What is in neither language gets the least of all weights."""
        return min((cohort.weight for cohort in self._asked(language)), default=0.0)

    def common(self, language: Language | None) -> tuple[float, ...]:
        """What questions of a language share, for ``apart_from``; empty for a query in neither."""
        return () if language is None else self.cohorts[language].common if self.cohorts else ()

    def chance(self, language: Language | None, vector: Sequence[float]) -> tuple[float, float]:
        """Mean and standard deviation of a query's similarities to what has nothing to do with it,
        by its unit vector, shape ``(dim,)``. What is in neither language is measured by the
        greatest of all means; a deviation of 0 says that nothing can be compared."""
        asked = [one for one in self._asked(language) if len(one.centre) == len(vector)]
        means = ((sumprod(vector, cohort.centre), cohort.deviation) for cohort in asked)
        return max(means, key=itemgetter(0), default=(0.0, 0.0 if self.cohorts else _UNEXAMINED))

    def _asked(self, language: Language | None) -> list[Cohort]:
        return [one for name, one in self.cohorts.items() if language in (None, name)]
