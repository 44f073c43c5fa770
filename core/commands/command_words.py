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

from .command_table import COMMANDS

HELP = "help"
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
    """A word of a command as it is compared, of the same length for Chinese ones."""
    # AstrBot waits for the import of this module.
    from ...llm_memory.text.traditional import simplified

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
    meant = f"{name} {more}" if name else f"{names.get(HELP, (HELP,))[0]} {words}"
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

    _group: ClassVar[CommandGroupFilter | None] = None

    @classmethod
    def use(cls, group: CommandGroupFilter) -> None:
        cls._group = group

    @classmethod
    def names(cls) -> dict[str, list[str]]:
        """By command, the names in force: an owner may have changed them in the panel."""
        every = cls._group.sub_command_filters if cls._group is not None else ()
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
        if self._group is None or not (wide or event.is_at_or_wake_command):
            return
        text = text.removeprefix(_WIDE_SLASH).lstrip() if wide else text
        groups = self._group.get_complete_command_names()
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
