"""``serve --role``: one program holds a role of the project, and its sessions write there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient

pytestmark = [
    pytest.mark.process,
    pytest.mark.engine,
    pytest.mark.skipif(os.name == "nt", reason="signals"),
]

TOML = '[memory]\nroot = "memory"\n\n[roles]\nenabled = ["backend", "qa"]\n'


@pytest.fixture
def shop(own_user: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(home))
    folder = own_user / "code" / "shop"
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "workflow.toml").write_text(TOML, "utf-8")
    assert main(["init", "--agents", "--project-folder", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("role", ["../x", "frontend", "", "BACKEND", "backend/"])
def test_a_role_that_the_project_has_not_ends_with_2_and_makes_nothing(
    shop: Path, home: Path, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path for path in shop.rglob("*"))
    assert main(["serve", "--role", role, "--project-folder", str(shop)]) == 2
    assert "there are: backend, qa" in capsys.readouterr().err
    assert sorted(path for path in shop.rglob("*")) == before
    assert not list(home.rglob("roles/*"))


def test_a_bots_store_and_a_project_without_a_root_have_no_roles(
    own_user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(home))
    (tmp_path / "bot" / "state").mkdir(parents=True)
    plain = own_user / "code" / "plain"
    (plain / ".git").mkdir(parents=True, exist_ok=True)
    for more in (["--bot", str(tmp_path / "bot")], []):
        command = ["serve", "--role", "backend", "--project-folder", str(plain), *more]
        assert main(command) == 2


async def test_the_second_program_reads_only_and_takes_over_at_the_firsts_death(
    shop: Path, home: Path
) -> None:
    first, second = (StdioClient(home, shop, "--role", "backend") for _ in range(2))
    await first.start()
    await second.start()
    try:
        said, failed = await first.call("memory_session_end", summary="Wired the pool, tested.")
        assert (said.startswith("noted in roles/backend/"), failed) == (True, False)
        (day,) = (shop / "memory" / "roles" / "backend").glob("2*.md")
        assert "Wired the pool, tested." in day.read_text("utf-8")
        page = (shop / "memory" / "roles" / "backend" / "MEMORY.md").read_text("utf-8")
        assert "Wired the pool, tested." in page

        said, failed = await second.call("memory_session_end", summary="Mine, too.")
        assert "The role backend is held by process" in said
        assert failed
        assert "is held by process" in (await second.call("memory_primer"))[0]
        await first.kill()
        said, failed = await second.call("memory_session_end", summary="Mine, too.")
        assert (said.startswith("noted in roles/backend/"), failed) == (True, False)
        assert "Mine, too." in day.read_text("utf-8")
    finally:
        await first.kill()
        await second.kill()
    assert not list((shop / "memory" / "roles").glob("qa/2*.md"))
    assert not list((shop / "memory" / "scopes").rglob("journal"))
