"""A plugin of which a part cannot be loaded, and a package that comes later: it says so, and works
with what there is."""

import json
import shutil
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, Place
from astrbot_plugin_scoped_memory.harness.release import CHECKOUT, PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import stored

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]

ADMIN = Person(3333, "阿丁")
FACT, QUESTION = "备用钥匙在门口第三个花盆底下", "备用钥匙放在哪里"
BROKEN = "raise ImportError('半个文件')\n"
HIDDEN = """
import pathlib, sys

class Hides:
    def find_spec(name, path=None, target=None):
        if name == "chromadb" and not pathlib.Path({came!r}).exists():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hides)
"""


def wheel(folder: Path, name: str, version: str, module: str) -> None:
    """What pip installs from a folder: one empty module."""
    about = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as zipped:
        zipped.writestr(module, "")
        zipped.writestr(f"{about}/METADATA", metadata)
        zipped.writestr(f"{about}/WHEEL", tag)
        zipped.writestr(f"{about}/RECORD", "")


def came(rig: Rig) -> Path:
    """What is there once pip has brought it."""
    return rig.root / "target" / "chromadb_came"


def part(rig: Rig) -> Path:
    """One of the files that the plugin consists of."""
    return rig.bot.plugins / PLUGIN / "core" / "turn" / "events.py"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    def spoil(rig: Rig) -> None:
        part(rig).write_text(BROKEN, "utf-8")
        hidden = rig.root / "hidden"
        hidden.mkdir()
        (hidden / "sitecustomize.py").write_text(HIDDEN.format(came=str(came(rig))), "utf-8")
        rig.bot.environment = {"PYTHONPATH": str(hidden)}
        wheel(rig.root, "chromadb", "1.9.9", "chromadb_came/__init__.py")
        settings = rig.bot.data / "cmd_config.json"
        values = json.loads(settings.read_text("utf-8"))
        target = came(rig).parent
        values["pip_install_arg"] = f"--no-index --find-links {rig.root} --target {target}"
        settings.write_text(json.dumps(values), "utf-8")

    root, admins = tmp_path_factory.mktemp("bare-bot"), [ADMIN.user_id]
    async with Rig(root, admins=admins, embedding_dimensions=64, before_start=spoil) as running:
        yield running


async def test_what_is_missing_is_said_and_used_when_it_comes(rig: Rig, room: Place) -> None:
    """A torn file, and when it is mended no chromadb, until pip has brought it: no restart."""
    status = await rig.panel.status()
    assert status["ready"] is False
    assert [w for w in status["warnings"] if "载入失败" in w and "半个文件" in w]
    said = await rig.onebot.ask(room, ADMIN, "/memory status")
    assert "载入失败" in said
    assert "半个文件" in said
    turn = await rig.turn(room, ADMIN, "今天星期几")
    assert turn.reply
    assert "core_memory_recall" not in turn.first.tool_names

    tracebacks = rig.bot.own_tracebacks()
    assert [one for one in tracebacks if "半个文件" not in one] == []
    shutil.copy(CHECKOUT / part(rig).relative_to(rig.bot.plugins / PLUGIN), part(rig))
    await rig.panel.reload()
    await rig.panel.ready()
    await stored(rig, room, ADMIN, FACT)
    assert FACT in (await rig.turn(room, ADMIN, QUESTION)).injected
    await rig.bot.logged("正在后台安装 chromadb")
    status = await rig.panel.indexed()
    assert status["index"] == "ready"
    assert came(rig).exists()
    assert FACT in await rig.recall(room, ADMIN, QUESTION)
