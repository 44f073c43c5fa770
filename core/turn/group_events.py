"""What happens in a group beside its turns: people talk without addressing the bot, which is heard
only if the owner wants it; and a platform says that the chat goes on under another id."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.event.filter import CustomFilter
from astrbot.core.config import AstrBotConfig

if TYPE_CHECKING:
    from ..deepmind import DeepMind


class GroupChatter(CustomFilter):
    """Lets AstrBot hand what the bot listens to to the plugin; that a chat has moved it shows to
    filters alone. It makes the filter before there is a plugin: so the plugin that lives tells the
    class who hears, and takes it back when it ends. Moves are held until there is one."""

    _mind: ClassVar[DeepMind | None] = None
    _moved: ClassVar[deque[tuple[str, str]]] = deque(maxlen=500)

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: it goes into the log."""
        try:
            self._moved.extend(moved_chats(event))
            while self._moved and self._mind is not None:
                self._mind.chat_moved(*self._moved.popleft())
            return self._mind is not None and self._mind.listens_to(event)
        except Exception:  # noqa: BLE001  (AstrBot would send it into the group)
            logger.exception("a group's message was not heard; if the group got another id, rebind")
            return False

    @classmethod
    def use(cls, mind: DeepMind | None) -> None:
        """From now on; None for nobody."""
        cls._mind = mind


def moved_chats(event: AstrMessageEvent) -> list[tuple[str, str]]:
    """The former and the new key of a group where the platform says that it goes on under another
    id, as Telegram does of one that becomes a supergroup."""
    message = getattr(getattr(event.message_obj, "raw_message", None), "message", None)
    here = getattr(getattr(message, "chat", None), "id", None)
    to, before = (getattr(message, f"migrate_{way}_chat_id", None) for way in ("to", "from"))
    group = f"{event.get_platform_id()}:GroupMessage:"
    return [
        (f"{group}{old}", f"{group}{new}")
        for old, new in ((here, to), (before, here))
        if isinstance(old, int) and isinstance(new, int) and old != new
    ]
