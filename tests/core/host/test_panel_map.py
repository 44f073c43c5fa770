"""The panel's configuration as commands save it."""

from __future__ import annotations

from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core.host.panel_map import MAP_KEY, NotSaved, PanelMap

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]


class FullDisk(dict[str, Any]):
    async def save_config_async(self) -> None:
        raise OSError("no space left")


@pytest.mark.parametrize("before", [{}, {MAP_KEY: {"a": "家人"}}, {"language": "en-US"}])
async def test_what_could_not_be_saved_leaves_the_settings_as_they_were(
    before: dict[str, Any],
) -> None:
    config = FullDisk(before)
    with pytest.raises(NotSaved):
        await PanelMap(config).save_all({MAP_KEY: {"b": "公司"}, "dm_scope": "main"})
    assert config == before
