"""What Chinese questions for a topic look like, from their first word to their last. Pure."""

from __future__ import annotations

from typing import Final

from ....models.data_models import Topic

_WHAT = "(?:什么|啥|哪些|些什么|些啥|哪几个|几个|多少|几件|几项|没有|没有什么)"
_TELL = (
    "(?:(?:给我|帮我)?(?:列出来?|列一下|列举|总结|汇总|看看|看一下|说说|说一下|讲讲|复述|念一下|查一下|"
    "查看|回顾|告诉我|整理)(?:一下|一遍)?)"
)
_KNOWN = "(?:还)?(?:记得|知道|了解|记住|清楚)(?:了)?"
AFTER: Final = "(?:来着|了|呢|吗|么|嘛|啊|呀|吧|的|一下|来的)*"
_WHOSE = "(?:我们|咱们|大家|我|咱|俺)"

_LIKING = "(?:个人|饮食|兴趣|生活)?(?:偏好|喜好|爱好|口味|忌口|忌讳|习惯|兴趣)"
_RULE = "(?:规矩|规则|守则|准则|规定|指令|吩咐|要求|约定|禁忌|命令)"
_DUTY = "(?:待办(?:事项|任务|清单)?|任务(?:清单|列表)?|未完成事项|todo(?: ?list)?)"
_UNDONE = "(?:没做|没做完|没完成|没办|没办完|没处理|未完成|未处理|要做|要办|要完成|待处理|待办)"
_WHEN = "(?:今天|明天|今晚|这周|本周|下周|这个月|周末|现在|目前|手头|手上|最近|眼下)"
_SETS = "(?:定|立|下|提|设|定下|立下|交代|规定|布置|说|讲)"
_ASKS = "(?:你(?:能|可以)?)?"

CHINESE: Final[tuple[tuple[Topic, bool, str], ...]] = (
    (Topic.PREFERENCES, False, f"{_WHOSE}(?:都|还|平时|到底|究竟)*有(?:过)?{_WHAT}{_LIKING}"),
    (Topic.PREFERENCES, False, f"{_WHOSE}的?{_LIKING}(?:都|主要)*(?:是|有|包括){_WHAT}"),
    (Topic.PREFERENCES, False, f"{_ASKS}{_TELL}{_WHOSE}的?(?:所有|全部)?的?{_LIKING}"),
    (
        Topic.PREFERENCES,
        False,
        f"你?{_KNOWN}{_WHAT}?{_WHOSE}(?:的|有{_WHAT})?(?:所有|全部)?的?{_LIKING}(?:(?:是|有){_WHAT})?",
    ),
    (
        Topic.PREFERENCES,
        True,
        f"(?:你?{_KNOWN})?{_WHOSE}(?:平时|一般|到底|都|以前|最|比较|特别|说过|不太|不|更)*"
        "(?:喜欢|爱|讨厌|偏爱|喜爱|厌恶|受不了|忌口|吃不惯|不吃|不喝)"
        "(?:吃|喝|看|听|玩|用|穿|去|做|养)?的?(?:是)?(?:什么|啥|哪些|哪种|哪个|哪款|哪家|哪类)"
        "(?!都|也|时候)[^\\W都也就]{0,4}?",
    ),
    (Topic.PREFERENCES, True, f"(?:你?{_KNOWN})?{_WHOSE}(?:都)?对{_WHAT}(?:东西|食物)?过敏"),
    (
        Topic.INSTRUCTIONS,
        False,
        "你(?:都|现在|平时|必须|应该|需要|得|该|要|有)*(?:遵守|遵循|守|服从|听从)的?"
        f"{_WHAT}(?:样的)?{_RULE}?",
    ),
    (Topic.INSTRUCTIONS, False, f"(?:要|该|得|需要|必须)?(?:遵守|遵循|守){_WHAT}{_RULE}"),
    (
        Topic.INSTRUCTIONS,
        False,
        f"有{_WHAT}{_RULE}(?:是)?你?(?:要|需要|得|必须|该)(?:遵守|遵循|守)的?",
    ),
    (Topic.INSTRUCTIONS, False, f"你要(?:遵守|守)的{_RULE}(?:都)?(?:是|有){_WHAT}"),
    (Topic.INSTRUCTIONS, False, f"你(?:都|现在)*有{_WHAT}(?:规矩|规则|守则|准则|指令|禁忌)"),
    (
        Topic.INSTRUCTIONS,
        False,
        f"你的(?:规矩|规则|守则|准则|行为准则|指令)(?:都)?(?:是|有){_WHAT}",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        f"{_WHOSE}(?:都|之前|以前|曾经|曾|已经|一共)*(?:给|跟|对|向|和)你{_SETS}(?:过|了)?{_WHAT}{_RULE}",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        f"(?:你?{_KNOWN}|{_TELL})?{_WHOSE}(?:之前|以前)?(?:给|跟|对|向|和)你(?:{_SETS}(?:过|下|了)?)?的"
        f"(?:所有|全部|那些)?的?{_RULE}(?:(?:都)?(?:是|有){_WHAT})?",
    ),
    (
        Topic.INSTRUCTIONS,
        False,
        f"{_WHOSE}(?:都|之前|以前)*(?:让|要求|叫|要|吩咐|规定|禁止|不许|不让|不准)你(?:必须|一定)?"
        f"(?:遵守|注意|记住|不要做|别做|不做|禁止做)(?:过|了)?{_WHAT}(?:事|事情|{_RULE})?",
    ),
    (Topic.INSTRUCTIONS, False, f"你(?:必须|不许|不准|不得)(?:做|说|干){_WHAT}(?:事|事情|话)?"),
    (
        Topic.TASKS,
        False,
        f"{_WHOSE}?{_WHEN}?(?:都|还|总共|一共)*(?:有|剩下?|欠着?){_WHAT}(?:{_UNDONE}的?)?{_DUTY}"
        f"(?:还)?{_UNDONE}?",
    ),
    (
        Topic.TASKS,
        False,
        f"{_WHOSE}?{_WHEN}?(?:都|还|总共|一共)*(?:有|剩下?){_WHAT}(?:事情?|活儿?)?(?:还)?{_UNDONE}的?"
        "(?:事情?|活儿?)?",
    ),
    (
        Topic.TASKS,
        False,
        f"(?:我们|咱们|大家|我|咱)?(?:的)?{_WHEN}?(?:的)?{_DUTY}(?:都|还)*(?:是|有|剩下?){_WHAT}",
    ),
    (
        Topic.TASKS,
        False,
        f"{_ASKS}{_TELL}{_WHOSE}?的?{_WHEN}?的?(?:所有|全部)?的?(?:{_UNDONE}的?)?{_DUTY}",
    ),
    (Topic.TASKS, False, f"(?:你?{_KNOWN}){_WHOSE}?的?(?:有{_WHAT})?{_DUTY}(?:(?:是|有){_WHAT})?"),
    (Topic.TASKS, False, f"{_WHOSE}?(?:还)?有?(?:哪些|什么|啥)(?:事情?|{_DUTY})(?:还)?{_UNDONE}"),
    (
        Topic.TASKS,
        False,
        f"{_WHOSE}(?:还|{_WHEN}|{_WHEN}还)(?:要|得|该|需要|应该)(?:做|办|干|完成)(?:些)?"
        "(?:什么|哪些|啥)(?:事|事情|任务)?",
    ),
)
"""Topic; whether a part of it is asked for; the words."""

_FINISHED = "(?:做完|完成|办完|做好|办好|搞定|处理完|解决)"

CHINESE_DONE: Final[tuple[str, ...]] = (
    f"{_WHOSE}?{_WHEN}?(?:都|已经|一共)*{_FINISHED}(?:了|过)?{_WHAT}(?:事情?|{_DUTY})",
    f"{_WHOSE}?{_WHEN}?(?:都|已经|一共)*(?:有)?{_WHAT}(?:事情?|{_DUTY})(?:都|已经|是)*{_FINISHED}",
    f"{_ASKS}{_TELL}?{_WHOSE}?的?(?:所有|全部)?的?(?:已经?|都)?{_FINISHED}了?的(?:事情?|{_DUTY})"
    f"(?:(?:都)?(?:是|有){_WHAT})?",
)
"""Questions for the tasks that are done."""
