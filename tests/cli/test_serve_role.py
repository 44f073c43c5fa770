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


async def test_a_role_outlives_the_stores_owner_and_ends_with_its_holder_alone(
    shop: Path, home: Path
) -> None:
    owner = StdioClient(home, shop)
    first, second = (StdioClient(home, shop, "--role", "backend") for _ in range(2))
    await owner.start()
    await owner.call("memory_log", content="Search runs on Postgres", type="pattern")
    await first.start()
    await second.start()
    try:
        await _note(first, "Wired the pool.")
        await _is_refused(second)
        assert "is held by process" in (await second.call("memory_primer"))[0]
        await owner.kill()  # one of the other two has the store now
        await _note(first, "Tested the pool.")
        await _is_refused(second)
        await first.kill()
        await _note(second, "Measured the pool.")
    finally:
        for client in (owner, first, second):
            await client.kill()
    roles = shop / "memory" / "roles"
    (day,) = roles.glob("backend/2*.md")
    for page in (day, roles / "backend" / "MEMORY.md"):
        text = page.read_text("utf-8")
        said = ("Wired the pool.", "Tested the pool.", "Measured the pool.", "Mine.")
        assert [text.count(words) for words in said] == [1, 1, 1, 0]
    assert not list(roles.glob("qa/2*.md"))
    assert not list((shop / "memory" / "scopes").rglob("journal"))


async def _note(client: StdioClient, summary: str) -> None:
    said, failed = await client.call("memory_session_end", summary=summary)
    while failed and "does not answer" in said:  # the store has no owner yet
        said, failed = await client.call("memory_session_end", summary=summary)
    assert (said.startswith("noted in roles/backend/"), failed) == (True, False), said


async def _is_refused(client: StdioClient) -> None:
    said, failed = await client.call("memory_session_end", summary="Mine.")
    assert (failed, "The role backend is held by process" in said) == (True, True), said
