"""The commands of ``/memory`` as AstrBot registers them, and what people write for them: without a
blank, in capitals, by another word. AstrBot waits for the import of this module, so the functions
behind the names stand in ``commands.py``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter
from astrbot.core.star.star_handler import star_handlers_registry

ADMINS = "outcome.admins_only"


class Row(NamedTuple):
    """A command.

    Attributes:
        name: AstrBot keeps by it what an owner changed in its panel.
        aliases: Further names, divided by blanks; the first one is the Chinese one.
        doc: What the panel says of it.
        english: The alias that English texts use in place of ``name``.
        others: What people write who mean it, and AstrBot does not know.
        refusal: For a command of admins alone, the code of what others are told.
        bare: Nothing stands behind it.
        keeps: It reads or stores what is said here, so not while memory is paused.
        usage: The code of what is said where fewer than ``words`` stand behind it.
    """

    name: str
    aliases: str
    doc: str
    english: str = ""
    others: str = ""
    refusal: str = ""
    bare: bool = False
    keeps: bool = False
    usage: str = ""
    words: int = 1

    def called(self, language: str) -> str:
        """Returns the name that help and replies use."""
        return (self.english or self.name) if language == "en" else self.aliases.split()[0]


# fmt: off
COMMANDS = (
    Row("help", "帮助", "怎么用这些指令", others="? ？ 菜单 指令 命令 用法 menu usage commands"),
    Row("status", "状态", "记忆插件的状态", others="信息 情况 info state stat", bare=True),
    Row("scope", "域", "这里归哪个域、为什么；管理员后面写域名就换：/memory scope <域>",
        others="记忆域 分组 绑定 设置 归属 bind set map group"),
    Row("join", "加入", "请管理员让这里归一个域：/memory join <域>", usage="join.usage"),
    Row("list", "列表", "这里看得到的最新记忆", others="查看 看 显示 全部 所有 清单 show ls all"),
    Row("todo", "待办", "还没做完的事"),
    Row("search", "搜索 搜寻 查找 找 find", "搜索记忆：/memory search <词>",
        others="查看 查 查询 想起 回忆 query recall", usage="search.usage", keeps=True),
    Row("why", "为什么", "上一次为什么想起了这些；后面写 前 2，看更早的", others="原因 explain"),
    Row("add", "记住", "记住一句话：/memory add <内容>",
        others="记 更正 添加 新增 加 保存 记下 remember save new", usage="add.usage", keeps=True),
    Row("forget", "忘记 删除 delete remove", "忘记一条（能撤销）：/memory forget <号>",
        others="忘 忘掉 移除 清除 清空 rm del clear reset", usage="forget.usage"),
    Row("pause", "暂停", "这里什么也不记、不想起（群里由管理员发）：/memory pause [多久]",
        others="停 停止 关闭 关 别记 stop off disable"),
    Row("resume", "继续 取消暂停 unpause", "暂停以后接着记", others="开启 打开 开始 on", bare=True),
    Row("never", "从不记", "谈话里说到什么从不记（管理员之外只管自己说的）：/memory never <词>",
        others="不学 别学 从不 不要记 exclude ignore"),
    Row("reflect", "反思", "马上读这里等着读的对话，和各处读不成的（管理员）",
        others="搁置 重试 failed letters retry", refusal=ADMINS, bare=True, keeps=True),
    Row("edit", "改写 修改", "改写一条（管理员，能撤销）：/memory edit <号> <内容>",
        others="编辑 改 更改 更正 change update", refusal=ADMINS, usage="edit.usage", words=2),
    Row("move", "移动", "移到另一个域（管理员，能撤销）：/memory move <号> <域>",
        others="转移 搬 mv", refusal=ADMINS, usage="move.usage", words=2),
    Row("yes", "是 是的 确认 confirm", "问过你的，就做；管理员：确认警告里等着的", bare=True),
    Row("no", "否 不 不要 取消 算了 拒绝 cancel reject", "问过你要不要做的，不做了", bare=True),
    Row("export", "导出", "把这里看得到的记忆导出成文件（管理员）",
        refusal="transfer.for_the_owner", bare=True),
    Row("import", "导入", "把 imports/ 里的文件导入这里的域（管理员）：/memory import <文件名>",
        refusal=ADMINS, usage="transfer.usage"),
    Row("backup", "备份", "把全部记忆和设置写成一个文件（管理员）", refusal=ADMINS, bare=True),
    Row("restore", "还原", "从备份的文件还原，先说会变什么（管理员）：/memory restore <文件名>",
        refusal=ADMINS, usage="moving.usage"),
    Row("undo", "撤销 恢复 找回", "撤销自己上一次的忘记、改写、移动或带来", others="回退 revert"),
    Row("decide", "决定", "提议、接受、否决、取代、撤回决定（管理员）", refusal=ADMINS),
    Row("soul", "语气 人格", "这里的人格学到的说话习惯；管理员改它：/memory soul propose <想要的>"),
    Row("sleep", "整理 tidy", "现在就做一次夜间整理（管理员）：/memory tidy [status]",
        english="tidy", others="睡觉 清理 clean", refusal=ADMINS),
    Row("migrate", "迁移", "旧记忆收进来得怎样（管理员）：/memory migrate [start|undo]",
        refusal=ADMINS),
)
# fmt: on

_WIDE_SLASH = "／"
"""As a Chinese input method writes the mark of a command."""
_WIDE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_SUGGESTED = 3

PUBLIC = "public"
_CALLED_PUBLIC = frozenset({PUBLIC, "公共", "公共域", "公开"})

Names = Mapping[str, Sequence[str]]
"""What stands behind the group's name, by command: its names in force."""


def first_word(text: str) -> tuple[str, str]:
    """The first word, and what follows it; empty where there is none."""
    first, more = (*text.split(None, 1), "", "")[:2]
    return first, more.strip()


def folded_word(word: str) -> str:
    """Words of a command as they are compared, of the same length for Chinese ones."""
    from ...llm_memory.text.scripts import simplified

    return simplified(word.casefold())


def scope_named(word: str) -> str:
    """The scope that a word of a command means; the engine takes its own name alone for public."""
    return PUBLIC if folded_word(word) in _CALLED_PUBLIC else word


def is_command_word(word: str) -> bool:
    """True for what means a command of ours, and so names nothing else."""
    ours = " ".join(f"{row.name} {row.aliases} {row.others}" for row in COMMANDS)
    return folded_word(word) in ours.split()


def respelled(text: str, groups: Sequence[str], names: Names, *, commanded: bool) -> str | None:
    """``text`` as AstrBot understands it, by the first of the group's names; None for what it
    understands, and for what is no command of ours. ``commanded``: a command's mark stood before
    it. Without one, a word that is no command of ours is talk."""
    first, rest = first_word(text)
    group = next((one for one in groups if folded_word(first).startswith(one.casefold())), "")
    glued = first[len(group) :]
    if not group or not (commanded or (not glued and (first == group or not group.isascii()))):
        return None  # among others, a sentence that begins with a capital letter
    words = f"{glued} {rest}".strip()
    word, more = first_word(words)
    name = known(word, names, glued=commanded)
    if name is None and word and not (commanded and (not glued or _WIDE.match(group))):
        return None  # talk, or a longer English word
    meant = f"{name} {more}" if name else f"{names.get('help', ('help',))[0]} {words}"
    return None if (first, rest) == (group, meant.strip()) else f"{groups[0]} {meant}".strip()


def known(word: str, names: Names, *, glued: bool = False) -> str | None:
    """The name of a command that a word is; if they may be ``glued``, with what stands behind it:
    ``忘记 芒果`` for 忘记芒果, ``list 2`` for list2."""
    folded = folded_word(word)
    every = sorted((name for some in names.values() for name in some), key=len, reverse=True)
    for name in every:
        behind = word[len(name) :]
        apart = glued and (_WIDE.match(name) or behind.isdecimal())
        if folded.startswith(name.casefold()) and (apart or not behind):
            return f"{name} {behind}".strip()
    return None


def nearest(word: str, names: Names) -> list[str]:
    """The commands that a word may mean, the likeliest first."""
    folded = folded_word(word)
    meant = [row.name for row in COMMANDS if folded in row.others.split() and row.name in names]
    keys = {name.casefold(): key for key, some in names.items() for name in some}
    alike = difflib.get_close_matches(folded, keys, _SUGGESTED)
    return list(dict.fromkeys([*meant, *(keys[name] for name in alike)]))[:_SUGGESTED]


class CommandWords(CustomFilter):
    """Lets no event through. It comes before the commands and respells what was meant for them:
    otherwise AstrBot answers the bare group with its own tree, and the model what it does not know.
    AstrBot makes the filter when it reads the decorator, so the class is told the group later."""

    group: ClassVar[CommandGroupFilter | None] = None

    @classmethod
    def names(cls) -> dict[str, list[str]]:
        """By command, the names in force: an owner may have changed them in the panel."""
        every = cls.group.sub_command_filters if cls.group is not None else ()
        return {
            one.get_handler_md().handler_name.partition("_")[2]: [one.command_name, *one.alias]
            for one in every
            if isinstance(one, CommandFilter)
        }

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        try:
            self._respell(event, cfg)
        except Exception:  # noqa: BLE001  (what is raised, AstrBot sends into the chat)
            logger.exception("CommandWords")
        return False

    def _respell(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> None:
        marks = tuple(mark for mark in cfg.get("wake_prefix") or () if mark)
        text = event.message_str.strip()
        wide = text.startswith(_WIDE_SLASH) and "/" in marks
        if self.group is None or not (wide or event.is_at_or_wake_command):
            return
        text = text.removeprefix(_WIDE_SLASH).lstrip() if wide else text
        groups = self.group.get_complete_command_names()
        if not any(folded_word(text).startswith(one.casefold()) for one in groups):
            return
        commanded = wide or event.message_obj.message_str.strip().startswith(marks)
        spelled = respelled(text, groups, self.names(), commanded=commanded)
        spelled = text if wide and spelled is None else spelled
        if spelled is not None and not _is_anothers(first_word(text)[0], groups):
            event.message_str = spelled
            if wide:  # AstrBot saw no command's mark
                event.is_at_or_wake_command = event.is_wake = True


def _is_anothers(word: str, ours: Sequence[str]) -> bool:
    """True if another plugin has a command of that name."""
    return word not in ours and any(
        word == first_word(name)[0]
        for handler in star_handlers_registry
        for one in handler.event_filters
        if isinstance(one, CommandFilter | CommandGroupFilter)
        for name in one.get_complete_command_names()
    )
