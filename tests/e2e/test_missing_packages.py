"""Packages that are absent or broken: AstrBot is asked to install them once, then we do without."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

ROOM = group(222)
SPEAKER = Person(2222, "阿丁")
FACT = "备用钥匙在门口第三个花盆底下"
QUESTION = "备用钥匙放在哪里"
ABSENT = "a-package-that-nobody-has"


async def test_a_package_that_cannot_be_installed_is_asked_for_once_and_then_done_without(
    tmp_path: Path,
) -> None:
    async with Rig(tmp_path / "bot") as running:
        requirements = running.bot.plugins / "astrbot_plugin_scoped_memory" / "requirements.txt"
        running.bot.kill9()
        with requirements.open("a", encoding="utf-8") as file:
            file.write(f"{ABSENT}>=1\n")
        await running.bot.start()

        async def asked() -> bool:
            return f"missing packages: {ABSENT}" in running.bot.logs()

        await until(asked, within=60, what="AstrBot being asked to install")
        await running.crash()
        assert (await running.remember(ROOM, SPEAKER, FACT)).startswith("ok")
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert f"missing packages: {ABSENT}" not in running.bot.logs()
        warnings = (await running.panel.status())["warnings"]
        assert [warning for warning in warnings if ABSENT in warning]
        assert running.bot.logs().count(ABSENT) == 1


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
        assert (await running.remember(ROOM, SPEAKER, FACT)).startswith("ok")

        async def off() -> bool:
            return bool((await running.panel.status())["index"] == "off")

        await until(off, within=60, what="an index that is off")
        assert FACT in (await running.turn(ROOM, SPEAKER, QUESTION)).injected
        assert FACT in await running.recall(ROOM, SPEAKER, QUESTION)
        (warning,) = (await running.panel.status())["warnings"]
        assert cause in warning
        assert running.bot.logs().count("向量索引暂时不可用") == 1
