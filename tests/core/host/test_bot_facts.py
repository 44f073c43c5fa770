"""What AstrBot tells of itself: a persona's own prompt, by the folder of its soul, and which bot
accounts there are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from astrbot.api.star import Context
from astrbot.core.persona_mgr import PersonaManager

from astrbot_plugin_scoped_memory.core.host.bot_facts import PersonaReader, bot_accounts
from astrbot_plugin_scoped_memory.llm_memory.models.soul import soul_folder
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


CAT = {"name": "猫娘", "prompt": "你是猫娘。"}
ODD = {"name": "a/b", "prompt": "你是斜线。"}
OWN_DEFAULT = {"name": "default", "prompt": "主人改过的。"}


def reader(*personas: dict[str, str]) -> PersonaReader:
    """Over AstrBot's own manager, without its database."""
    manager: Any = object.__new__(PersonaManager)
    manager.personas_v3 = list(personas)
    context: Any = object.__new__(Context)
    context.persona_manager = manager
    return PersonaReader(context, Texts("zh-CN"))


async def test_a_personas_prompt_is_found_by_its_folder(caplog: pytest.LogCaptureFixture) -> None:
    for persona in (CAT, ODD, OWN_DEFAULT):
        found = await reader(CAT, ODD, OWN_DEFAULT).prompt(soul_folder(persona["name"]))
        assert found == persona["prompt"]
    assert "helpful" in await reader(CAT).prompt(soul_folder("default"))  # it is not listed
    for gone in ("", "犬娘"):
        assert await reader(CAT).prompt(soul_folder(gone)) == ""
    # Whatever AstrBot raises is logged, and no more.
    assert await PersonaReader(object.__new__(Context), Texts("zh-CN")).prompt("猫娘") == ""
    assert "AttributeError" in caplog.text


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
