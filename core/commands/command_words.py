"""What people write for a command of ours: without a blank, in capitals, by another word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig
from astrbot.core.star.filter.command import CommandFilter
from astrbot.core.star.filter.command_group import CommandGroupFilter
from astrbot.core.star.star_handler import star_handlers_registry

from ...llm_memory.texts import Texts
from .command_table import COMMANDS

HELP = "help"
_WIDE_SLASH = "／"
"""What a Chinese input method writes for the mark of a command."""
_WIDE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_SIMILAR = 0.6
_SUGGESTED = 3
_OTHER_WORDS: Mapping[str, Sequence[str]] = {
    "list": ("查看", "看", "显示", "全部", "所有", "清单", "show", "ls", "all", "view"),
    "search": ("查看", "查", "查询", "想起", "回忆", "query", "recall"),
    "add": ("记", "更正", "添加", "新增", "加", "保存", "记下", "remember", "save", "new"),
    "forget": ("忘", "忘掉", "移除", "清除", "清空", "rm", "del", "clear", "reset"),
    "edit": ("编辑", "改", "更改", "更正", "change", "update"),
    "move": ("转移", "搬", "mv"),
    "undo": ("回退", "revert", "back"),
    "scope": ("记忆域", "分组", "绑定", "设置", "归属", "bind", "set", "map", "group"),
    "status": ("信息", "情况", "info", "state", "stat"),
    "why": ("原因", "解释", "explain", "reason"),
    "pause": ("停", "停止", "关闭", "关", "别记", "stop", "off", "disable"),
    "resume": ("开启", "打开", "开始", "开", "start", "on", "enable"),
    "sleep": ("睡觉", "清理", "clean"),
    "help": ("?", "？", "菜单", "指令", "命令", "用法", "menu", "usage", "commands"),
}
"""What people write who mean one of ours."""

PUBLIC = "public"
_CALLED_PUBLIC = frozenset({PUBLIC, "公共", "公共域", "公开"})

_FOR_ADMINS = frozenset(
    ("edit", "move", "reflect", "letters", "export", "import", "backup", "restore", "decide")
) | {"sleep", "migrate"}
_OURS = frozenset(word for row in COMMANDS for word in (row.name, *row.aliases.split())).union(
    *_OTHER_WORDS.values()
)
"""Words that name nothing else: who sends one means a command."""

Names = Mapping[str, Sequence[str]]
"""What stands behind the group's name, by command: its names in force."""


def first_word(text: str) -> tuple[str, str]:
    """The first word, and what follows it; empty where there is none."""
    first, more = (*text.split(None, 1), "", "")[:2]
    return first, more


def folded_word(word: str) -> str:
    """A word of a command as it is compared, of the same length for Chinese ones."""
    from ...llm_memory.text.traditional import (  # AstrBot waits for the import of this module
        simplified,
    )

    return simplified(word.casefold())


def scope_named(word: str) -> str:
    """The scope that a word of a command means; the engine takes its own name alone for public."""
    return PUBLIC if folded_word(word) in _CALLED_PUBLIC else word


def is_command_word(word: str) -> bool:
    """True for what means a command of ours."""
    return folded_word(word) in _OURS


def respelled(text: str, groups: Sequence[str], names: Names, *, commanded: bool) -> str | None:
    """``text`` as AstrBot understands it; None for what it understands, and for what is no command
    of ours.

    Args:
        groups: The names of the group; the first one stands in what is returned.
        commanded: A command's mark stood before it. Without one, a word that is no command of ours
            is talk.
    """
    first, rest = first_word(text)
    group = next((one for one in groups if one.casefold() == folded_word(first)), None)
    if not commanded and first.isascii() and first != group:
        return None  # a sentence begins with a capital letter
    if group is None:
        return _glued_to_the_group(first, rest, groups, names) if commanded else None
    word, more = first_word(rest)
    if not word:
        return f"{groups[0]} {_first(names, HELP)}"
    known = _known(word, names) or (_glued(word, names) if commanded else None)
    if known is not None:
        spelled = f"{known} {more}".strip()
        return None if (first, rest) == (group, spelled) else f"{groups[0]} {spelled}"
    return f"{groups[0]} {_first(names, HELP)} {rest}" if commanded else None


def _glued_to_the_group(first: str, rest: str, groups: Sequence[str], names: Names) -> str | None:
    folded = folded_word(first)
    group = next((one for one in groups if folded.startswith(one.casefold())), None)
    if group is None:
        return None
    word = first[len(group) :]
    known = _known(word, names) or _glued(word, names)
    if known is not None:
        return f"{groups[0]} {known} {rest}".strip()
    if _WIDE.match(group):  # a longer English word is another word
        return f"{groups[0]} {_first(names, HELP)} {word} {rest}".strip()
    return None


def _known(word: str, names: Names) -> str | None:
    return next((name for name in _every(names) if name.casefold() == folded_word(word)), None)


def _glued(word: str, names: Names) -> str | None:
    """``忘记 芒果`` for 忘记芒果, ``list 2`` for list2."""
    folded = folded_word(word)
    for name in sorted(_every(names), key=len, reverse=True):
        behind = word[len(name) :]
        if folded.startswith(name.casefold()) and (_WIDE.match(name) or behind.isdecimal()):
            return f"{name} {behind}"
    return None


def _every(names: Names) -> list[str]:
    return [name for some in names.values() for name in some]


def _first(names: Names, command: str) -> str:
    return names.get(command, (command,))[0]


def nearest(word: str, names: Names) -> list[str]:
    """The commands that a word may mean, the likeliest first."""
    folded = folded_word(word)
    meant = [key for key, words in _OTHER_WORDS.items() if folded in words and key in names]
    scored = {
        key: max(difflib.SequenceMatcher(None, folded, name.casefold()).ratio() for name in some)
        for key, some in names.items()
        if some
    }
    alike = sorted((key for key in scored if scored[key] >= _SIMILAR), key=lambda k: -scored[k])
    return list(dict.fromkeys([*meant, *alike]))[:_SUGGESTED]


def unknown_text(texts: Texts, rest: str, *, admin: bool) -> str:
    """That there is no such command, and which may be meant; empty for one that there is."""
    word, names = first_word(rest)[0], CommandWords.names()
    if _known(word, names) is not None:
        return ""
    if not admin:
        names = {key: some for key, some in names.items() if key not in _FOR_ADMINS}
    meant = nearest(word, names)
    from ...llm_memory.text.safe_text import (  # AstrBot waits for the import of this module
        cut,
    )

    shown = cut(word)
    if not meant:
        return texts.say("help.unknown", word=shown)
    called = {row.name: row.called(texts.spoken) for row in COMMANDS}
    said = texts.say("common.and").join(called[key] for key in meant)
    return texts.say("help.meant", word=shown, names=said)


class CommandWords(CustomFilter):
    """Lets no event through. It comes before the commands and respells what was meant for them:
    otherwise AstrBot answers the bare group with its own tree, and the model what it does not know.

    AstrBot makes the filter when it reads the decorator of the handler; the group is told to the
    class once it is complete.
    """

    _group: ClassVar[CommandGroupFilter | None] = None

    @classmethod
    def use(cls, group: CommandGroupFilter) -> None:
        """The group whose commands these are."""
        cls._group = group

    @classmethod
    def names(cls) -> dict[str, list[str]]:
        """By command, the names in force: an owner may have changed them in the panel."""
        found: dict[str, list[str]] = {}
        for one in cls._group.sub_command_filters if cls._group is not None else ():
            if isinstance(one, CommandFilter):
                key = one.get_handler_md().handler_name.partition("_")[2]
                found[key] = [one.command_name, *sorted(one.alias)]
        return found

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the chat: so nothing is."""
        try:
            self._respell(event, cfg)
        except Exception:  # noqa: BLE001  (the words stay as they were written)
            logger.exception("CommandWords")
        return False

    def _respell(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> None:
        marks = tuple(mark for mark in cfg.get("wake_prefix") or () if mark)
        text = event.message_str.strip()
        wide = text.startswith(_WIDE_SLASH) and "/" in marks
        if self._group is None or not (wide or event.is_at_or_wake_command):
            return
        text = text.removeprefix(_WIDE_SLASH).lstrip() if wide else text
        groups = self._group.get_complete_command_names()
        folded = folded_word(text)
        if not any(folded.startswith(one.casefold()) for one in groups):
            return
        commanded = wide or event.message_obj.message_str.strip().startswith(marks)
        spelled = respelled(text, groups, self.names(), commanded=commanded)
        if wide:
            spelled = spelled or text
        if spelled is not None and not _is_anothers(first_word(text)[0], self._group):
            event.message_str = spelled
            if wide:  # AstrBot saw no command's mark
                event.is_at_or_wake_command = event.is_wake = True


def _is_anothers(word: str, ours: CommandGroupFilter) -> bool:
    """True if another plugin has a command of that name."""
    for handler in star_handlers_registry:
        for one in handler.event_filters:
            if one is ours or not isinstance(one, CommandFilter | CommandGroupFilter):
                continue
            if word in (first_word(name)[0] for name in one.get_complete_command_names()):
                return word not in ours.get_complete_command_names()
    return False
