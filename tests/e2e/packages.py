"""Packages that pip cannot install, or installs while a bot runs."""

from __future__ import annotations

import zipfile
from pathlib import Path

from astrbot_plugin_scoped_memory.harness.panel import PanelError
from astrbot_plugin_scoped_memory.harness.places import Place
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import MEMBER, stored
from astrbot_plugin_scoped_memory.tests.house.source import script

ABSENT = "a-package-that-nobody-has"
FACT, QUESTION = "备用钥匙在门口第三个花盆底下", "备用钥匙放在哪里"


async def works(rig: Rig, room: Place) -> None:
    """It stores and recalls."""
    await rig.panel.ready()
    await stored(rig, room, MEMBER, FACT)
    assert FACT in (await rig.turn(room, MEMBER, QUESTION)).injected


async def told(rig: Rig, package: str, words: str) -> None:
    """Until the status says so of the package."""

    async def probe() -> bool:
        warnings = (await rig.panel.ready())["warnings"]
        return any(package in warning and words in warning for warning in warnings)

    await until(probe, within=90, what=f"{words!r} in the status")


def wheel(folder: Path, name: str, version: str, module: str) -> None:
    """What pip installs from a folder: one empty module."""
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as zipped:
        zipped.writestr(module, "")
        zipped.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        zipped.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        zipped.writestr(f"{about}/RECORD", "")


def _with_another(archive: Path, ending: str, more: str) -> None:
    """Add ``more`` to the file of the zip that ends so."""
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(archive, "w") as new:
        for name, content in files.items():
            new.writestr(name, content + more.encode() if name.endswith(ending) else content)


async def upload_without_packages(rig: Rig, zips: Path) -> None:
    """The plugin goes with its data; an upload of it fails, for its packages."""
    await rig.panel.uninstall(config=False, data=True)
    assert not (rig.bot.plugins / PLUGIN).exists()
    archive = script("make_zip").make_zip(zips, slim=True)
    _with_another(archive, "/requirements.txt", f"{ABSENT}>=1\n")
    try:
        await rig.panel.install(archive)
    except PanelError:
        return
    raise AssertionError("it was installed")
