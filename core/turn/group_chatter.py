"""What people say in a group without addressing the bot: heard only if the owner wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig


def _deaf(_: AstrMessageEvent) -> bool:
    return False


class GroupChatter(CustomFilter):
    """Lets AstrBot hand such a message to the plugin. Everything else it leaves asleep.

    AstrBot makes the filter when it reads the handler's decorator, before there is a plugin: so
    the plugin that lives tells the class what it listens to, and takes it back when it ends.
    """

    listens_to: ClassVar[Callable[[AstrMessageEvent], bool]] = staticmethod(_deaf)

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: so nothing is."""
        try:
            return type(self).listens_to(event)
        except Exception:  # noqa: BLE001
            return False

    @classmethod
    def use(cls, listens_to: Callable[[AstrMessageEvent], bool] | None) -> None:
        """From now on; None for nothing at all."""
        cls.listens_to = staticmethod(listens_to or _deaf)
