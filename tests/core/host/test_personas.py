"""A persona's own prompt, by the folder of its soul, from what AstrBot holds in memory."""

from __future__ import annotations

from typing import Any

import pytest
from astrbot.api.star import Context
from astrbot.core.persona_mgr import PersonaManager

from astrbot_plugin_scoped_memory.core.host.bot_facts import PersonaReader
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


@pytest.mark.parametrize("persona", [CAT, ODD])
async def test_a_persona_is_found_by_its_folder(persona: dict[str, str]) -> None:
    prompt = await reader(CAT, ODD).prompt(soul_folder(persona["name"]))
    assert prompt == persona["prompt"]


async def test_astrbots_own_persona_has_a_prompt_whether_it_is_listed_or_not() -> None:
    assert await reader(CAT, OWN_DEFAULT).prompt(soul_folder("default")) == "主人改过的。"
    assert "helpful" in await reader(CAT).prompt(soul_folder("default"))


async def test_no_persona_and_one_that_is_gone_have_none() -> None:
    assert await reader(CAT).prompt(soul_folder("")) == ""
    assert await reader(CAT).prompt(soul_folder("犬娘")) == ""


async def test_whatever_astrbot_raises_is_logged_and_no_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = PersonaReader(object.__new__(Context), Texts("zh-CN"))
    assert await broken.prompt("猫娘") == ""
    assert "AttributeError" in caplog.text
