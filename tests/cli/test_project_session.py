"""Two roles and a recorder in one project: who asks later why something was decided is told what,
when, where it was discussed, and where it stands. docs/projects.md tells this very session."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient
from astrbot_plugin_scoped_memory.tests.support.agents.told_session import (
    Agent,
    ToldSession,
    retold,
    told_in,
)
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.timeout(300)]

PAGE = checkout.ROOT / "docs" / "projects.md"
TOML = """\
[memory]
root = "memory"
project = "商店"

[roles]
enabled = ["architect", "backend"]
"""
RULE = "付款的代码没有两个人看过不合并。"
DECISION, REASON = "订单存在 PostgreSQL，不用 MongoDB", "退款和库存要在一个事务里改。"
DRAWING = "架构图画到一半，还缺支付。"
WHY = "订单当初为什么存在 PostgreSQL"
WRITE = {"path": "shared/DECISIONS.md", "content": "## D-0002 订单存在 MongoDB"}


@pytest.fixture
def shop(own_user: Path, home: Path) -> ToldSession:
    folder = own_user / "code" / "shop"
    put_dictionary(home)
    environ = {
        "PYTHONPATH": str(checkout.ROOT),
        "SCOPED_MEMORY_HOME": str(home),
        "SCOPED_MEMORY_LANGUAGE": "zh",
        "TZ": "Asia/Shanghai",
    }
    return ToldSession(folder, own_user, environ)


async def test_two_roles_and_a_recorder_work_as_the_page_tells(
    shop: ToldSession, tmp_path: Path
) -> None:
    await made(shop)
    shop.begin()
    async with shop.agent("architect") as architect, shop.agent("backend") as backend:
        proposal = await proposed(shop, architect)
        shop.begin()
        await read_by(backend)
        shop.begin()
        await decided(shop, proposal)
        shop.begin()
        await ended(shop, architect, backend)
    shop.begin()
    async with shop.agent("backend") as backend:
        await asked_why(shop, backend)
    page = PAGE.read_text("utf-8")
    if told_in(page) != shop.steps:
        fresh = tmp_path / PAGE.name
        fresh.write_text(retold(page, shop.steps), "utf-8", newline="\n")
        before, now = ("\n".join(steps).split("\n") for steps in (told_in(page), shop.steps))
        changed = "\n".join(unified_diff(before, now, "the page", "this session", lineterm=""))
        pytest.fail(f"{PAGE.name} tells another session than {fresh}:\n{changed}", pytrace=False)


async def made(shop: ToldSession) -> None:
    """A person makes the layout, and writes the rules."""
    shop.begin()
    (shop.folder / "workflow.toml").write_text(TOML, "utf-8")
    shop.file("workflow.toml")
    await shop.shell("init", "--agents", told=False)
    shop.notes("memory")
    rules = shop.folder / "memory" / "shared" / "CONSTITUTION.md"
    rules.write_text(f"# 宪章\n\n- {RULE}\n", "utf-8")


async def proposed(shop: ToldSession, architect: Agent) -> str:
    """Returns the proposal's id."""
    opening = await architect("memory_primer")
    assert opening.index(RULE) < opening.index("You hold the role architect.")
    logged = await architect("memory_log", content=f"{DECISION}\n\n{REASON}", type="decision")
    found = re.search(r"m-[0-9a-z]+", logged)
    assert found
    assert f"decide accept {found[0]}" in logged
    return found[0]


async def read_by(backend: Agent) -> None:
    """The other role sees what is proposed, and writes nothing but its own."""
    assert "not decided" in await backend("memory_search", query=WHY)
    refused = await backend("memory_write", fails=True, **WRITE)
    assert refused == "no such tool: memory_write"


async def decided(shop: ToldSession, proposal: str) -> None:
    """The recorder sees the bytes, and then writes just these."""
    records = shop.folder / "memory" / "shared" / "DECISIONS.md"
    before = records.read_text("utf-8")
    accept = ("decide", "accept", proposal)
    assert proposal in await shop.shell("decide", "list")
    await shop.shell(*accept, code=1)
    given = (*accept, "--issue", "12", "--pr", "34", "--by", "小明")
    shown = await shop.shell(*given, code=1)
    assert records.read_text("utf-8") == before
    assert "D-0001" in await shop.shell(*given, "--yes")
    heading = f"## D-0001 {DECISION}"
    assert heading in shown
    assert heading in shop.file("memory/shared/DECISIONS.md")


async def ended(shop: ToldSession, architect: Agent, backend: Agent) -> None:
    """Each role leaves a summary in its own folder; a second program waits for the role."""
    said = await backend(
        "memory_session_end",
        summary="登录页接好了，300 个用例都过。\n连接池多大待定。\n风险：退款没有压测。",
    )
    assert "left out, not settled yet" in said
    await architect("memory_session_end", summary=f"提议用 PostgreSQL 存订单。\n{DRAWING}")
    async with shop.agent("backend", called="backend（第二个）") as second:
        assert "The role is held by process" in await second(
            "memory_session_end", fails=True, summary="接口文档补好了。"
        )
    note = said.splitlines()[0].removeprefix("noted in ")
    assert "连接池多大" not in shop.file(f"memory/{note}")


async def asked_why(shop: ToldSession, backend: Agent) -> None:
    """A later session of another role finds the record, and not the other's notes."""
    (day,) = (shop.folder / "memory" / "roles" / "architect").glob("2*.md")
    assert DRAWING in day.read_text("utf-8")
    opening = await backend("memory_primer")
    assert "登录页接好了" in opening
    assert "提议用 PostgreSQL" not in opening
    found = await backend("memory_search", query=WHY)
    (line,) = (line for line in found.splitlines() if "D-0001" in line)
    told = re.fullmatch(r"- (\d{4}-\d\d-\d\d): (.*) \((shared/DECISIONS\.md#n-[0-9a-f]+)\)", line)
    assert told, line
    assert DECISION in told[2]
    assert f"Issue #12 · PR #34 · {REASON}" in told[2]
    assert "not decided" not in found
    opened = await backend("memory_read", path=told[3])
    assert f"## D-0001 {DECISION}" in opened
    assert REASON in opened
    assert DRAWING not in await backend("memory_search", query="架构图画完了吗")
    theirs = day.relative_to(shop.folder / "memory").as_posix()
    await backend("memory_read", fails=True, path=theirs)


ROLES_TOML = '[memory]\nroot = "memory"\n\n[roles]\nenabled = ["backend", "qa"]\n'


@pytest.fixture
def served(own_user: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(home))
    folder = own_user / "code" / "shop"
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "workflow.toml").write_text(ROLES_TOML, "utf-8")
    assert main(["init", "--agents", "--project-folder", str(folder)]) == 0
    return folder


async def test_a_role_outlives_the_stores_owner_and_ends_with_its_holder_alone(
    served: Path, home: Path
) -> None:
    owner = StdioClient(home, served)
    first, second = (StdioClient(home, served, "--role", "backend") for _ in range(2))
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
    roles = served / "memory" / "roles"
    (day,) = roles.glob("backend/2*.md")
    for page in (day, roles / "backend" / "MEMORY.md"):
        text = page.read_text("utf-8")
        said = ("Wired the pool.", "Tested the pool.", "Measured the pool.", "Mine.")
        assert [text.count(words) for words in said] == [1, 1, 1, 0]
    assert not list(roles.glob("qa/2*.md"))
    assert not list((served / "memory" / "scopes").rglob("journal"))


async def _note(client: StdioClient, summary: str) -> None:
    said, failed = await client.call("memory_session_end", summary=summary)
    while failed and "does not answer" in said:  # the store has no owner yet
        said, failed = await client.call("memory_session_end", summary=summary)
    assert (said.startswith("noted in roles/backend/"), failed) == (True, False), said


async def _is_refused(client: StdioClient) -> None:
    said, failed = await client.call("memory_session_end", summary="Mine.")
    assert (failed, "The role is held by process" in said) == (True, True), said
