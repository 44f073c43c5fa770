"""Words of a question that say nothing about what is asked for. Pure data.

They are removed from queries only: a memory keeps them, so that a title made of them ("Who Are
You") stays readable to the index. Question words, pronouns, particles, auxiliaries, greetings, and
what people say to a bot around the question itself ("do you remember", "告诉我").
"""

from __future__ import annotations

ENGLISH = frozenset(
    """
a about actually after again all almost already also although always am an and any anyone
anything anyway are aren around as ask asked at away back be because been before being between
both but by can cannot could couldn did didn do does doesn doing don done during each either
else ever every for from get gets getting give go goes going gonna got had hadn happen happened
has hasn have haven having he hello her here hers herself hey hi him himself his how however i
if in into is isn it its itself just kind know let like likely ll lot m made make makes many may
maybe me mention mentioned might more most much must my myself need no nor not now of off oh ok
okay on once one only or other our ours out over own perhaps please pls quite rather re really
recall remember s said same say says shall she should shouldn since so some somebody someone
something sort still such sure t talk talked tell than thank thanks that the their theirs them
then there these they thing things this those though through to told too u under until up upon
us use used ve very want wanted wants was wasn way we well were weren what whatever when where
whether which while who whom whose why will with within without won would wouldn yeah yes yet
you your yours yourself
""".split()  # noqa: SIM905  (a list of two hundred quoted words is not readable)
)

CHINESE = frozenset(
    """
的 了 是 在 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 咱 俺 自己 大家 人家 这 那 哪 这个
那个 哪个 这些 那些 哪些 这里 那里 哪里 这儿 那儿 哪儿 这样 那样 怎样 怎么样 怎么 怎么办 什么
什么样 为什么 为何 如何 多少 几 谁 何时 何 吗 呢 吧 啊 呀 哦 哈 嗯 嘛 啦 哎 喂 哇 嗨 么 嘿 哈哈
呵呵 和 与 跟 或 或者 还是 而 而且 但 但是 可是 不过 因为 所以 如果 要是 的话 虽然 然后 以及 并
并且 就 都 也 还 又 再 才 只 很 太 更 最 非常 特别 挺 真 好 真的 有点 一点 一些 一下 一个 个 把
被 给 对 向 从 到 往 为 为了 由 于 以 用 让 叫 使 比 地 得 着 过 之 其 所 者 有 没有 没 不 不是
是不是 有没有 能 能不能 可以 可不可以 会 会不会 要 要不要 想 应该 该 可能 也许 大概 是否 请 请问
麻烦 帮 帮我 帮忙 告诉 告诉我 知道 你知道 记得 还记得 记不记得 记住 说 说过 说说 讲 讲讲 聊 聊聊
问 问问 提到 提过 提及 提起 曾经 曾 之前 以前 当时 时候 的时候 上次 刚才 刚刚 现在 你好 您好
大家好 早上好 下午好 晚上好 早安 晚安 谢谢 多谢 再见 好的 好吧 好吗 行 嗯嗯 是的 对了 来着 到底
究竟 其实 觉得 认为 关于 有关 属于 那么 这么 多么 多 少 些 种 样 做 干 去 来 上 下 里 中 吃什么
干嘛 干什么 做什么 是什么 什么时候 几点 几号 几时 几个 几次 哪天 哪年 哪月 哪位 哪种 哪部 哪家
哪一 多久 多大 多长 多远 怎么着 叫什么 咋 咋样 啥 为啥 嘞 呗 噢 喔 欸 诶
""".split()  # noqa: SIM905
)
