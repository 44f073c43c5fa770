"""What an owner gets is complete and says the same thing in each place."""

import importlib.util
import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from types import ModuleType

import yaml

from astrbot_plugin_scoped_memory.harness.release import PLUGIN, SHIPPED
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

LOCALES = {"zh-CN", "en-US"}


def script(name: str) -> ModuleType:
    """A script of ours as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def metadata() -> dict[str, object]:
    loaded = yaml.safe_load((ROOT / "metadata.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_metadata_has_what_the_loader_demands() -> None:
    stated = metadata()
    assert stated["name"] == PLUGIN
    for field in ("name", "desc", "version", "author"):
        assert isinstance(stated[field], str)
        assert stated[field]
    assert stated["display_name"] == "忆域 · Scoped Memory"
    assert stated["astrbot_version"] == ">=4.28.0"


def test_the_changelog_begins_with_the_version_of_the_metadata() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    top = re.search(r"^## \[?v?(\d+\.\d+\.\d+[^\s\]]*)", text, re.MULTILINE)
    assert top is not None
    assert top[1] == str(metadata()["version"]).removeprefix("v")


def test_the_licence_is_the_agpl() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith(" " * 20 + "GNU AFFERO GENERAL PUBLIC LICENSE\n")
    assert len(text.splitlines()) == 661


def test_the_logo_is_what_its_script_draws() -> None:
    file = (ROOT / "logo.png").read_bytes()
    drawn = script("make_logo").draw()
    assert struct.unpack(">II", file[16:24]) == (256, 256)
    assert scanlines(file) == scanlines(drawn)
    if "ng" not in zlib.ZLIB_RUNTIME_VERSION:  # zlib-ng packs the same pixels differently
        assert file == drawn


def scanlines(png: bytes) -> bytes:
    """The unpacked image data of a PNG with one IDAT chunk."""
    start = png.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", png[start - 8 : start - 4])
    return zlib.decompress(png[start : start + length])


def keys(tree: object, prefix: str = "") -> set[str]:
    """The dotted paths of all leaves."""
    if not isinstance(tree, dict):
        return {prefix}
    return {path for key, value in tree.items() for path in keys(value, f"{prefix}.{key}")}


def locale(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    return json.loads(text)


def test_every_locale_says_everything() -> None:
    files = sorted((ROOT / ".astrbot-plugin/i18n").glob("*.json"))
    assert {path.stem for path in files} >= LOCALES
    first, *others = ((path.name, keys(locale(path))) for path in files)
    assert first[1] != {""}
    for name, present in others:
        assert present == first[1], f"{name} and {first[0]} differ"


def test_the_zip_holds_what_ships_and_nothing_else(tmp_path: Path) -> None:
    path = script("make_zip").make_zip(tmp_path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    tops = {name.split("/")[1] for name in names}
    assert {name.split("/")[0] for name in names} == {PLUGIN}
    assert {"main.py", "metadata.yaml", "logo.png", "LICENSE", "core", "llm_memory"} <= tops
    assert tops <= set(SHIPPED)
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
