"""What happens in a group beside its turns: people talk without addressing the bot, which is heard
only if the owner wants it; and a platform says that the chat goes on under another id."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig

_HELD = 500
_GROUP = "GroupMessage"


class GroupChatter(CustomFilter):
    """Lets AstrBot hand such a message to the plugin. Everything else it leaves asleep.

    AstrBot makes the filter when it reads the handler's decorator, before there is a plugin: so
    the plugin that lives tells the class what it listens to, and takes it back when it ends.
    """

    listens_to: ClassVar[Callable[[AstrMessageEvent], bool] | None] = None

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: it goes into the log."""
        listens_to = type(self).listens_to
        try:
            return listens_to is not None and listens_to(event)
        except Exception:  # noqa: BLE001  (AstrBot would send it into the group)
            logger.exception("a group's message was not heard")
            return False

    @classmethod
    def use(cls, listens_to: Callable[[AstrMessageEvent], bool] | None) -> None:
        """From now on; None for nothing at all."""
        cls.listens_to = listens_to and staticmethod(listens_to)


class MovedChats(CustomFilter):
    """Lets no event through: AstrBot shows such a message to filters alone, for it has no words.

    What comes before there is a plugin is held.
    """

    _listener: ClassVar[Callable[[str, str], None] | None] = None
    _waiting: ClassVar[deque[tuple[str, str]]] = deque(maxlen=_HELD)

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: it goes into the log."""
        try:
            if (moved := moved_chat(event)) is not None:
                self._waiting.append(moved)
                self._hand_out()
        except Exception:  # noqa: BLE001  (AstrBot would send it into the group)
            logger.exception("a chat that goes on under another id was not followed: rebind it")
        return False

    @classmethod
    def use(cls, listener: Callable[[str, str], None] | None) -> None:
        """Hand former and new keys to ``listener`` from now on; None holds them."""
        cls._listener = listener
        cls._hand_out()

    @classmethod
    def _hand_out(cls) -> None:
        while cls._waiting and cls._listener is not None:
            cls._listener(*cls._waiting.popleft())


def moved_chat(event: AstrMessageEvent) -> tuple[str, str] | None:
    """The former and the new conversation key where the platform says that a group goes on under
    another id, as Telegram does of a group that becomes a supergroup; else None."""
    message = getattr(getattr(event.message_obj, "raw_message", None), "message", None)
    account, here = event.get_platform_id(), getattr(getattr(message, "chat", None), "id", None)
    for name, is_new in (("migrate_to_chat_id", True), ("migrate_from_chat_id", False)):
        other = getattr(message, name, None)
        if isinstance(other, int) and isinstance(here, int) and other != here:
            old, new = (here, other) if is_new else (other, here)
            return f"{account}:{_GROUP}:{old}", f"{account}:{_GROUP}:{new}"
    return None
