"""Packages that are absent or broken: the plugin works without them, and with what comes later."""

import json
import zipfile
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.release import PLUGIN
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [pytest.mark.astrbot, pytest.mark.timeout(300)]

ROOM = group(222)
SPEAKER = Person(2222, "阿丁")
FACT = "备用钥匙在门口第三个花盆底下"
QUESTION = "备用钥匙放在哪里"
ABSENT = "a-package-that-nobody-has"
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
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as zipped:
        zipped.writestr(module, "")
        zipped.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        zipped.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        zipped.writestr(f"{about}/RECORD", "")


def ask_for(folder: Path, package: str) -> None:
    """Add it to what the plugin in ``folder`` requires."""
    with (folder / "requirements.txt").open("a", encoding="utf-8") as file:
        file.write(f"{package}>=1\n")


async def said(rig: Rig, package: str, words: str) -> None:
    """Until the status says so of the package."""

    async def probe() -> bool:
        warnings = (await rig.panel.ready())["warnings"]
        return any(package in warning and words in warning for warning in warnings)

    await until(probe, within=90, what=f"{words!r} in the status")


async def works(rig: Rig) -> None:
    await rig.panel.ready()
    assert (await rig.remember(ROOM, SPEAKER, FACT)).startswith("ok")
    # Beside pip and a start, a recall may miss the deadline that owners have; the turn then goes
    # without, and the next one has it.
    turns = [await rig.turn(ROOM, SPEAKER, QUESTION)]
    while not turns[-1].injected and len(turns) < 5:
        turns.append(await rig.turn(ROOM, SPEAKER, QUESTION))
    assert FACT in turns[-1].injected


async def test_a_package_that_cannot_be_installed_is_tried_once_and_then_done_without(
    tmp_path: Path,
) -> None:
    async with Rig(
        tmp_path / "bot", before_start=lambda rig: ask_for(rig.bot.plugins / PLUGIN, ABSENT)
    ) as running:
        await works(running)
        await said(running, ABSENT, "安装 pip 库")
        assert f"'{ABSENT}>=1'" in running.bot.logs()  # what pip was called with
        await running.crash()
        await said(running, ABSENT, "安装 pip 库")
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert running.bot.logs().count(ABSENT) == 1


async def test_a_package_that_comes_is_used_without_a_restart(tmp_path: Path) -> None:
    """chromadb is hidden from the bot until pip has put something else into a folder."""
    came = tmp_path / "target" / "chromadb_came"
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDDEN.format(came=str(came)), encoding="utf-8")
    wheel(tmp_path, "chromadb", "1.9.9", "chromadb_came/__init__.py")

    def hide_it(rig: Rig) -> None:
        rig.bot.environment = {"PYTHONPATH": str(hidden)}
        settings = rig.bot.data / "cmd_config.json"
        values = json.loads(settings.read_text("utf-8"))
        values["pip_install_arg"] = f"--no-index --find-links {tmp_path} --target {came.parent}"
        settings.write_text(json.dumps(values), encoding="utf-8")

    async with Rig(tmp_path / "bot", embedding_dimensions=64, before_start=hide_it) as running:
        assert "缺少依赖" not in "".join((await running.panel.ready())["warnings"])
        assert (await running.remember(ROOM, SPEAKER, FACT)).startswith("ok")  # pip may run still
        status = await running.panel.indexed()
        assert (status["index"], status["warnings"]) == ("ready", [])
        assert came.exists()
        log = running.bot.logs()
        assert log.index("正在后台安装 chromadb") < log.index("已就绪")
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert FACT in await running.recall(ROOM, SPEAKER, QUESTION)


NO_CHROMA = {
    "cannot be imported": ("raise ImportError('another CPU')", "没有装好 chromadb"),
    "wants another processor": (
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        "这台机器的处理器跑不了 chromadb",
    ),
}


@pytest.mark.parametrize("kind", NO_CHROMA)
async def test_a_chromadb_that_does_not_run_here_is_said_once_and_the_vault_answers(
    tmp_path: Path, kind: str
) -> None:
    program, cause = NO_CHROMA[kind]

    def shadow_it(rig: Rig) -> None:
        shadow = rig.root / "chromadb"
        shadow.mkdir()
        (shadow / "__init__.py").write_text(f"{program}\n", encoding="utf-8")

    root = tmp_path / "bot"
    async with Rig(root, embedding_dimensions=64, before_start=shadow_it) as running:
        await running.panel.ready()
        assert (await running.remember(ROOM, SPEAKER, FACT)).startswith("ok")

        async def off() -> bool:
            return bool((await running.panel.status())["index"] == "off")

        await until(off, within=60, what="an index that is off")
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert FACT in await running.recall(ROOM, SPEAKER, QUESTION)
        (warning,) = (await running.panel.status())["warnings"]
        assert cause in warning
        assert running.bot.logs().count("向量索引暂时不可用") == 1
