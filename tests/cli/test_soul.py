"""``soul``: the owner governs a bot's souls at the command line, where no model is.

`tests/soul` and `tests/service/test_souls.py` tell what becomes of a soul; the pages, what is said.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import MemoryDraft
from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli.paths import NAME
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.engine, pytest.mark.process]

CAT, WISH = "猫娘", "回答短一点"
type Ask = Callable[..., tuple[int, str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A bot's data folder, where a persona has notes and no soul."""
    folder = tmp_path / "plugin_data" / NAME
    (folder / "memory" / "scopes" / "public").mkdir(parents=True)
    (folder / "memory" / "roles" / CAT).mkdir(parents=True)
    return folder


@pytest.fixture
def ask(data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Runs an action for the persona. Returns the code and what was printed."""
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "zh")

    def asked(*words: str, role: str = CAT) -> tuple[int, str]:
        flags = ["--role", role] if role else []
        code = main(["soul", *words, *flags, "--data", str(data)])
        said = capsys.readouterr()
        return code, said.out + said.err

    return asked


def test_a_slip_in_the_name_begins_no_soul(data: Path, ask: Ask) -> None:
    code, said = ask("propose", WISH, role="猫粮")
    assert (code, CAT in said) == (1, True)
    assert not (data / "memory" / "soul").exists()
    assert ask("propose", WISH, role="")[0] == 0
    assert (data / "memory" / "soul" / "%none").is_dir()


def test_what_is_switched_off_takes_no_wish(data: Path, ask: Ask) -> None:
    config = data.parent.parent / "config" / f"{NAME}_config.json"
    config.parent.mkdir()
    config.write_text('{"soul_evolution": "off"}', "utf-8")
    assert ask("propose", WISH) == (1, "没有打开：面板里的 soul_evolution 是 off\n")
    assert "没有打开" in ask()[1]


def test_scripts_read_what_is_in_force(ask: Ask) -> None:
    code, said = ask("propose", WISH, "--json")
    assert json.loads(said)["outcome"] == "SoulProposed"
    code, said = ask("show", "--json")
    told = json.loads(said)
    assert (code, told["code"], told["open"]["aim"]) == (0, 0, WISH)
    code, said = ask("rollback", "7", "--json")
    assert (code, json.loads(said)["fault"]) == (1, "no_such")


async def test_to_look_needs_no_stopped_bot(data: Path, ask: Ask) -> None:
    async with running(data, clock=StandingClock(), follow=False) as rig:
        draft = MemoryDraft("小明喜欢吃芒果", actor=person(10001))
        await rig.engine.service.remember(draft, conversation_id=group(777))

        def written() -> dict[Path, int]:
            kept = (path for name in ("memory", "state") for path in (data / name).rglob("*"))
            return {path: path.stat().st_mtime_ns for path in kept if path.is_file()}

        before = written()
        for action in ("show", "diff", "log", "verify"):
            code, _ = await asyncio.to_thread(ask, action)
            assert code == (1 if action == "diff" else 0), action
        assert written() == before
        code, said = await asyncio.to_thread(ask, "propose", WISH)
        assert (code, "停下机器人" in said) == (1, True)
        assert "/memory soul propose" in said
        assert "export" not in said, "that is no way to change a soul"
