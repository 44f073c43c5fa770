"""Which bot accounts AstrBot has now: what a conversation's id begins with."""

from __future__ import annotations

from typing import Any

_WEB_CHAT = "webchat"
"""The panel's own chat is no platform of the configuration, and always there."""


def bot_accounts(context: Any) -> frozenset[str] | None:
    """The ids of all platforms that are switched on, and of those that run; None where AstrBot
    does not tell in a way that we know.

    The configuration has them from AstrBot's first moment on, though it starts platforms after
    plugins; renaming one in the panel changes the configuration and reloads no plugin.
    """
    try:
        configured = context.get_config()["platform"]
        accounts = {str(one["id"]) for one in configured if one.get("enable") and one.get("id")}
        running = {inst.meta().id for inst in context.platform_manager.platform_insts}
    except (AttributeError, KeyError, TypeError):
        return None
    return frozenset({_WEB_CHAT, *accounts, *(str(one) for one in running if one)})
