"""Which bot accounts AstrBot has, as its configuration and its running platforms tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.host.bot_facts import bot_accounts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


def context(platforms: Any, running: tuple[str, ...] = ()) -> Any:
    """What AstrBot hands to a plugin."""
    insts = [SimpleNamespace(meta=lambda name=name: SimpleNamespace(id=name)) for name in running]
    return SimpleNamespace(
        get_config=lambda: {"platform": platforms},
        platform_manager=SimpleNamespace(platform_insts=insts),
    )


def test_what_is_switched_on_or_runs_is_an_account_and_the_web_chat_always_is() -> None:
    platforms = [
        {"id": "qq", "type": "aiocqhttp", "enable": True},
        {"id": "old", "type": "aiocqhttp", "enable": False},
        {"id": "", "enable": True},
    ]
    assert bot_accounts(context(platforms)) == {"qq", "webchat"}
    made = context(platforms, ("telegram",))
    assert bot_accounts(made) == {"qq", "telegram", "webchat"}
    platforms[0] = {"id": "xiaobao", "enable": True}  # a renamed account is seen at once
    assert bot_accounts(made) == {"xiaobao", "telegram", "webchat"}


@pytest.mark.parametrize("platforms", [None, ["qq"], 7, [{"enable": True}]])
def test_what_cannot_be_read_tells_nothing_or_no_account(platforms: Any) -> None:
    assert bot_accounts(context(platforms)) in (None, {"webchat"})
    assert bot_accounts(SimpleNamespace()) is None
