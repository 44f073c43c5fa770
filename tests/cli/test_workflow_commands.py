"""What ``workflow.toml`` does at the command line: agreed to by ``init``, and one owner a root."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from itertools import product
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.home.memory_home import open_home
from astrbot_plugin_scoped_memory.llm_memory.home.settings import LoadedSettings, load_settings
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import global_conversation
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph

pytestmark = [pytest.mark.engine, pytest.mark.process]

NOTE = "# 2026-11-27\n\n## 14:05\nThe importer crashes on an empty file.\n"


class Folder:
    """A project's folder, and what is said there."""

    def __init__(self, path: Path, capsys: pytest.CaptureFixture[str], toml: str = "") -> None:
        self.path, self._capsys = path, capsys
        (path / ".git").mkdir(parents=True, exist_ok=True)
        if toml:
            (path / "workflow.toml").write_text(toml, "utf-8")

    def run(self, *arguments: str) -> tuple[int, str]:
        """Exit code, and all that is printed."""
        self._capsys.readouterr()
        code = main([*arguments, "--project-folder", str(self.path)])
        said = self._capsys.readouterr()
        return code, said.out + said.err

    async def follower(self, *arguments: str) -> str:
        """Returns what a process of its own prints, whose store another one has."""
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "llm_memory", *arguments),
            *("--project-folder", str(self.path)),
            env={**os.environ, "PYTHONPATH": str(checkout.ROOT)},
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await program.communicate()
        assert program.returncode == 0
        return said.decode()

    @property
    def loaded(self) -> LoadedSettings:
        return load_settings(flags={}, environ=os.environ, cwd=self.path)


@pytest.fixture
def user(own_user: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(home))
    return own_user


SHARED = {f"shared/{name}.md" for name in ("CONSTITUTION", "DECISIONS", "CONTRACTS", "RUNBOOK")}


def written(memory: Path) -> dict[str, str]:
    files = [path for path in memory.rglob("*") if path.is_file()]
    return {path.relative_to(memory).as_posix(): path.read_text("utf-8") for path in files}


def test_init_makes_the_layout_and_a_second_run_changes_nothing(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[memory]\nroot = "notes/memory"\n[roles]\nenabled = ["qa", "后端"]\n'
    shop = Folder(user / "new", capsys, toml)
    flags = ("init", "--agents", "--language", "zh")
    assert shop.run(*flags, "--dry-run")[0] == 0
    assert not (shop.path / "notes").exists()
    assert shop.run(*flags)[0] == 0
    memory = shop.path / "notes" / "memory"
    files = written(memory)
    assert set(files) == {*SHARED, "roles/qa/MEMORY.md", "roles/后端/MEMORY.md"}
    assert "宪章" in files["shared/CONSTITUTION.md"]
    assert files["roles/qa/MEMORY.md"].startswith("# qa\n")
    assert not (shop.path / ".scoped-memory").exists()
    before = photograph(user)
    assert shop.run(*flags)[0] == 0
    assert photograph(user) == before


def test_init_leaves_what_a_person_wrote(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = '[memory]\nroot = "memory"\nlayout = "project-only"\n[roles]\nenabled = ["qa"]\n'
    shop = Folder(user / "new", capsys, toml)
    shared = shop.path / "memory" / "shared"
    shared.mkdir(parents=True)
    for name, text in (("DECISIONS", "# Ours\n\nWe use tabs.\n"), ("CONTRACTS", "")):
        (shared / f"{name}.md").write_text(text, "utf-8")
    assert shop.run("init", "--agents")[0] == 0
    files = written(shop.path / "memory")
    assert set(files) == SHARED
    assert files["shared/DECISIONS.md"] == "# Ours\n\nWe use tabs.\n"
    assert files["shared/CONTRACTS.md"] == ""


def test_a_root_outside_is_asked_for_once(
    user: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    team = user / "team"
    shop = Folder(user / "shop", capsys, '# 一\n[memory]\nroot = "../team"\n')
    code, said = shop.run("log", "Orders are kept in PostgreSQL", "--type", "decision")
    assert code == 0
    assert f"the memory root lies outside the project: {team}" in said
    assert not team.exists()
    before = photograph(user)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal: nobody is there to answer
    code, said = shop.run("init", "--agents")
    assert code == 1
    assert "--yes" in said
    for answer in ("", "n\n"):
        monkeypatch.setattr("sys.stdin", terminal(answer))
        code, said = shop.run("init", "--agents")
        assert (code, str(team) in said, "nothing was changed" in said) == (1, True, True)
    assert shop.run("init", "--agents", "--dry-run")[0] == 0
    assert photograph(user) == before
    monkeypatch.setattr("sys.stdin", terminal("y\n"))
    assert shop.run("init", "--agents")[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert shop.run("init", "--agents")[0] == 0  # never again
    code, said = shop.run("log", "Tests run with make", "--type", "decision")
    assert (code, "outside" in said) == (0, False)
    text = (team / "scopes" / "public" / "decisions.md").read_text("utf-8")
    assert "Tests run with make" in text
    assert "PostgreSQL" not in text  # what was said before the yes stays in the home


def terminal(answer: str) -> io.StringIO:
    stream = io.StringIO(answer)
    stream.isatty = lambda: True  # type: ignore[method-assign]
    return stream


def test_what_was_agreed_to_is_this_root_of_this_file_and_one_that_is_gone_is_not_made_again(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Folder(user / "shop", capsys, '[memory]\nroot = "../team"\n')
    other = Folder(user / "other", capsys, '[memory]\nroot = "../team"\n')
    assert shop.run("init", "--agents", "--yes")[0] == 0
    assert "outside" not in shop.run("search", "anything")[1]
    assert "outside" in other.run("search", "anything")[1]
    (user / "team").rename(user / "unplugged")
    code, said = shop.run("log", "Orders are kept in PostgreSQL")
    assert (code, f"there is no folder {user / 'team'}" in said) == (0, True)
    assert not (user / "team").exists()
    (shop.path / "workflow.toml").write_text('[memory]\nroot = "../else"\n', "utf-8")
    assert "outside" in shop.run("search", "anything")[1]
    (shop.path / "workflow.toml").write_text('[memory]\nroot = "memory"\n', "utf-8")
    (shop.path / "memory").symlink_to(user / "elsewhere")
    assert "outside" in shop.run("search", "anything")[1]
    assert not (user / "elsewhere").exists()


async def test_two_repositories_with_one_root_have_one_owner(
    user: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[memory]\nroot = "../team"\n'
    one, other = (Folder(user / name, capsys, toml) for name in ("one", "other"))
    for folder in (one, other):
        assert folder.run("init", "--agents", "--yes")[0] == 0
    (user / "team" / "roles" / "qa").mkdir(parents=True)
    (user / "team" / "roles" / "qa" / "2026-11-27.md").write_text(NOTE, "utf-8")
    owner = open_home(one.loaded, one.path, os.environ, "0.0.1")
    store = owner.project
    assert store is not None
    try:
        assert (await store.owner.status(conversation_id=global_conversation())).ready
        await other.follower("log", "Orders are kept in PostgreSQL", "--type", "decision")
        found_there = await other.follower("search", "crash in the importer", "--role", "qa")
        assert "importer crashes" in found_there  # the owner is told the role
        found = await store.memory.recall(
            "where are orders kept",
            conversation_id=global_conversation("one"),
            limit=3,
            token_budget=500,
        )
        assert any("PostgreSQL" in hit.preview for hit in found.hits)  # at once: it came by us
    finally:
        await owner.close()
    assert len(list((home / "projects").iterdir())) == 1


def test_a_workflow_above_is_that_of_all_repositories_below(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    above = Folder(user / "team", capsys, '[memory]\nroot = "memory"\nproject = "商店"\n')
    one, other = (Folder(user / "team" / name, capsys) for name in ("one", "other"))
    assert above.run("init", "--agents")[0] == 0
    assert one.run("log", "Orders are kept in PostgreSQL", "--type", "decision")[0] == 0
    assert "PostgreSQL" in other.run("search", "where are orders kept")[1]
    code, said = other.run("config", "--json")
    told = json.loads(said)["project"]
    assert (code, told["root"], told["own_store"]) == (0, str(above.path), True)
    assert told["workflow"]["project"] == "商店"
    assert f"project: 商店 ({above.path})" in other.run("status")[1]


def test_status_and_config_tell_what_a_workflow_sets(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[memory]\nroot = "memory"\nlayuot = "x"\n[roles]\nenabled = ["architect", "qa"]\n'
    shop = Folder(user / "new", capsys, toml)
    assert shop.run("init", "--agents")[0] == 0
    file = shop.path / "workflow.toml"
    said = shop.run("status")[1]
    for line in (
        f"  set by: {file}\n",
        f"  memory root: {shop.path / 'memory'}\n",
        "  roles: architect, qa\n",
    ):
        assert line in said
    assert said.count(f"{file}: unknown key") == 1
    file.write_text(
        "[memory]\nlayout = 3\nauto_inject_topk = 5\n[roles]\nenabled = ['qa']\n", "utf-8"
    )
    said = shop.run("config")[1]
    for words in ("themselves: 5", "roles: none", "layout is not written"):
        assert words in said


@pytest.mark.skipif(os.name == "nt", reason="a Windows path is one there")
def test_a_hostile_root_is_refused_by_every_command_and_nothing_is_made(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Folder(user / "shop", capsys)
    commands = ("serve", "search x", "init", "index", "config", "trust m-01jd3q8z7k2ab4cd")
    for root, command in product(("~", "D:\\memory"), commands):
        (shop.path / "workflow.toml").write_text(f"[memory]\nroot = '{root}'\n", "utf-8")
        before = photograph(user)
        code, said = shop.run(*command.split())
        assert (code, said.count("\n")) == (2, 1)
        assert f"{shop.path / 'workflow.toml'}: " in said
        assert photograph(user) == before


def test_a_role_reads_its_notes_and_one_that_is_not_enabled_is_an_error(
    user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[memory]\nroot = "memory"\n[roles]\nenabled = ["qa", "后端"]\n'
    shop = Folder(user / "shop", capsys, toml)
    none = "no such role: 'qa'; there are: none\n"
    search = ("search", "crash in the importer")
    assert shop.run(*search, "--role", "qa") == (2, none)  # before init
    assert shop.run("init", "--agents")[0] == 0
    note = shop.path / "memory" / "roles" / "qa" / "2026-11-27.md"
    note.write_text(NOTE, "utf-8")
    assert "importer crashes" in shop.run(*search, "--role", "qa")[1]
    for other in (("--role", "后端"), ()):
        assert "importer crashes" not in shop.run(*search, *other)[1]
    before = photograph(shop.path)
    for role, command in product(("ops", "../qa", "QA", ""), (search, ("serve",))):
        code, said = shop.run(*command, "--role", role)
        assert (code, said.endswith("; there are: qa, 后端\n")) == (2, True)
    assert photograph(shop.path) == before
    plain = toml.replace("[memory]\n", "[memory]\nlayout = 'project-only'\n")
    (shop.path / "workflow.toml").write_text(plain, "utf-8")
    assert shop.run(*search, "--role", "qa") == (2, none)
