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

_HELD = 500
_GROUP = "GroupMessage"


class GroupChatter(CustomFilter):
    """Lets AstrBot hand what the bot listens to to the plugin; that a chat has moved it shows to
    filters alone. It makes the filter before there is a plugin: so the plugin that lives tells the
    class who hears, and takes it back when it ends. Moves are held until there is one."""

    _mind: ClassVar[DeepMind | None] = None
    _moved: ClassVar[deque[tuple[str, str]]] = deque(maxlen=_HELD)

    def filter(self, event: AstrMessageEvent, cfg: AstrBotConfig) -> bool:
        """Whatever is raised here, AstrBot sends into the group: it goes into the log."""
        try:
            if (moved := moved_chat(event)) is not None:
                self._moved.append(moved)
                self._hand_out()
            return self._mind is not None and self._mind.listens_to(event)
        except Exception:  # noqa: BLE001  (AstrBot would send it into the group)
            logger.exception("a group's message was not heard; if the group got another id, rebind")
            return False

    @classmethod
    def use(cls, mind: DeepMind | None) -> None:
        """From now on; None for nobody."""
        cls._mind = mind
        cls._hand_out()

    @classmethod
    def _hand_out(cls) -> None:
        while cls._moved and cls._mind is not None:
            cls._mind.chat_moved(*cls._moved.popleft())


def moved_chat(event: AstrMessageEvent) -> tuple[str, str] | None:
    """The former and the new key of a group where the platform says that it goes on under another
    id, as Telegram does of one that becomes a supergroup; else None."""
    message = getattr(getattr(event.message_obj, "raw_message", None), "message", None)
    account, here = event.get_platform_id(), getattr(getattr(message, "chat", None), "id", None)
    for name, is_new in (("migrate_to_chat_id", True), ("migrate_from_chat_id", False)):
        other = getattr(message, name, None)
        if isinstance(other, int) and isinstance(here, int) and other != here:
            old, new = (here, other) if is_new else (other, here)
            return f"{account}:{_GROUP}:{old}", f"{account}:{_GROUP}:{new}"
    return None
