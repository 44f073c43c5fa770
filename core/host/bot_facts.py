"""What AstrBot tells of itself: which persona is in force for an event, and what its own prompt is;
which bot accounts there are now; the time in the zone that the owner gave it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent

from ...llm_memory import local_now
from ...llm_memory.models.soul import soul_folder
from ...llm_memory.texts import Texts


def adapter_of(context: Any, account: str) -> str | None:
    """The platform's type of a bot account, None where AstrBot knows no such account now."""
    platform = context.get_platform_inst(account)
    return str(platform.meta().name) or None if platform is not None else None


def is_admin(context: Any, person: str) -> bool:
    """True for ``<adapter>:<id>`` of one whom AstrBot calls an admin now: it goes by the id."""
    admins: list[Any] = context.get_config().get("admins_id") or []
    return person.partition(":")[2] in map(str, admins)


class PersonaReader:
    """Asks AstrBot the way its own agent does, so that every entry gets the same answer."""

    def __init__(self, context: Any, texts: Texts) -> None:
        self._context = context
        self._texts = texts

    async def __call__(self, event: AstrMessageEvent, conversation: Any = None) -> str | None:
        """The persona's id, empty for none, None if AstrBot could not tell. ``conversation``:
        AstrBot's own, where it is at hand."""
        umo, context = event.unified_msg_origin, self._context
        account = umo.split(":", 1)[0]
        try:
            if conversation is None:
                manager = context.conversation_manager
                current = await manager.get_curr_conversation_id(umo)
                conversation = await manager.get_conversation(umo, current) if current else None
            persona, *_ = await context.persona_manager.resolve_selected_persona(
                umo=umo,
                conversation_persona_id=conversation.persona_id if conversation else None,
                platform_name=adapter_of(context, account) or event.get_platform_name(),
                provider_settings=context.get_config(umo=umo).get("provider_settings", {}),
            )
        except Exception as error:  # noqa: BLE001  (AstrBot's database may raise anything)
            logger.warning(self._texts.say("log.no_persona", error=type(error).__name__))
            return None
        return "" if persona in (None, "[%None]") else str(persona)

    async def prompt(self, folder: str) -> str:
        """A persona's own prompt, by the folder of its soul; empty where AstrBot tells none."""
        try:
            manager = self._context.persona_manager
            # Older versions do not list AstrBot's own.
            names = [*(str(one["name"]) for one in manager.personas_v3), "default", ""]
            found = [name for name in names if soul_folder(name) == folder]
            persona = manager.get_persona_v3_by_id(found[0]) if found else None
            return str(persona["prompt"] or "") if persona else ""
        except Exception as error:  # noqa: BLE001  (whatever AstrBot's manager raises)
            logger.warning(self._texts.say("log.no_persona", error=type(error).__name__))
            return ""


def bot_accounts(context: Any) -> frozenset[str] | None:
    """The ids of all platforms that are switched on, and of those that run; None where AstrBot does
    not tell in a way that we know. The configuration has them from the first moment on, and a
    renamed one at once."""
    try:
        configured = context.get_config()["platform"]
        accounts = {str(one["id"]) for one in configured if one.get("enable") and one.get("id")}
        running = {inst.meta().id for inst in context.platform_manager.platform_insts}
    except (AttributeError, KeyError, TypeError):
        return None
    # The panel's own chat is no platform of the configuration, and always there.
    return frozenset({"webchat", *accounts, *(str(one) for one in running if one)})


def clock_of(context: Any) -> Callable[[], datetime]:
    """AstrBot's ``timezone`` setting, else the machine's zone: journals go by day. Looked up each
    time, for AstrBot itself goes by a changed setting at once."""

    def now() -> datetime:
        name = context.get_config().get("timezone")
        try:
            return datetime.now(ZoneInfo(str(name or "").strip()))
        except (KeyError, OSError, ValueError):  # none, unknown (a KeyError), or no data here
            return local_now()

    return now
