"""``init`` and ``config`` as programs: what they write, what they keep, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import checkout
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.home import clients
from astrbot_plugin_scoped_memory.llm_memory.home.clients import PRIMER, Launch, hook_command
from astrbot_plugin_scoped_memory.llm_memory.home.file_changes import MAX_BYTES
from astrbot_plugin_scoped_memory.llm_memory.home.settings import config_text, load_settings
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.property]

TOOLS = ("memory_primer", "memory_search", "memory_log", "memory_session_end")
SECRET = "another-servers-key"
QUEUE = "支付回调改用异步队列，免得超时重试"


@pytest.fixture
def user(own_user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One who has set nothing."""
    for name in ("HOME", "EMBEDDING", "LANGUAGE"):
        monkeypatch.delenv(f"SCOPED_MEMORY_{name}")
    return own_user


@pytest.fixture
def project(user: Path) -> Path:
    return user / "code" / "shop"


@pytest.fixture
def home(user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = user / "memories"
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(folder))
    return folder


def ran(command: list[str], cwd: Path, **options: Any) -> str:
    """What a program says that must end well, with no input."""
    done = subprocess.run(
        command, cwd=cwd, input="", capture_output=True, text=True, timeout=60, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def content(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_a_first_run_makes_the_home_and_what_the_clients_read(home: Path, project: Path) -> None:
    assert main(["init", "--claude", "--cursor", "--agents"]) == 0
    if os.name != "nt":
        assert home.stat().st_mode & 0o777 == 0o700
        assert (home / "memory" / "scopes").stat().st_mode & 0o777 == 0o700
    assert (home / "config.toml").read_text("utf-8") == config_text("en")
    for file in (".mcp.json", ".cursor/mcp.json"):
        entry = content(project / file)["mcpServers"]["scoped-memory"]
        assert entry["command"] == sys.executable
        assert entry["args"] == ["-P", "-m", "llm_memory", "serve"]
        assert entry["env"] == {
            "PYTHONPATH": str(checkout.ROOT),
            "SCOPED_MEMORY_HOME": str(home),
        }
    for file in ("CLAUDE.md", "AGENTS.md", ".cursor/rules/scoped-memory.mdc"):
        text = (project / file).read_text("utf-8")
        assert all(tool in text for tool in TOOLS)
        assert text.count("scoped-memory:begin") == text.count("scoped-memory:end") == 1
    assert (project / ".cursor/rules/scoped-memory.mdc").read_text("utf-8").startswith("---\n")
    (start,) = content(project / ".claude" / "settings.json")["hooks"]["SessionStart"]
    assert start["hooks"][0]["command"].endswith("-P -m llm_memory primer --quiet")


@pytest.mark.skipif(os.name == "nt", reason="the shell of POSIX")
def test_what_is_written_starts_this_program_and_no_module_of_the_project(
    home: Path, project: Path
) -> None:
    for name in ("llm_memory", "loguru", "mcp"):
        (project / f"{name}.py").write_text("raise SystemExit('a module of the project')", "utf-8")
    assert main(["init", "--claude"]) == 0
    entry = content(project / ".mcp.json")["mcpServers"]["scoped-memory"]
    command = [entry["command"], *entry["args"][:-1], "config", "--json"]
    env = {"PATH": os.environ["PATH"], "HOME": str(project), **entry["env"]}
    assert json.loads(ran(command, project, env=env))["settings"]["home"]["value"] == str(home)
    odd = "/a b'c\"$HOME`x`\\U%d!"
    launch = Launch(sys.executable, {"PYTHONPATH": str(checkout.ROOT), "SCOPED_MEMORY_HOME": odd})
    for platform in ("linux", "win32"):
        hook = hook_command(launch, PRIMER, platform).removesuffix(PRIMER)
        shown = json.loads(ran(["/bin/sh", "-c", f"{hook}config --json"], project))
        assert shown["settings"]["home"]["value"] == odd


def filled(project: Path) -> None:
    """What a person and other programs have written."""
    (project / ".cursor").mkdir()
    (project / ".claude").mkdir()
    other = {"command": "node", "args": ["x.js"], "env": {"KEY": SECRET}, "odd": [1, 1e5]}
    servers = {"zeta": other, "mcpServers": {"alpha": other}, "more": {"a": None}}
    for file in (".mcp.json", ".cursor/mcp.json"):
        (project / file).write_text(json.dumps(servers, indent=4), "utf-8")
    hooks = {
        "permissions": {"allow": ["Bash"]},
        "hooks": {"SessionStart": [{"matcher": "x", "hooks": [{"type": "command"}]}], "Stop": []},
    }
    (project / ".claude" / "settings.json").write_text(json.dumps(hooks), "utf-8")
    (project / "CLAUDE.md").write_bytes("\ufeff# 规矩\r\n\r\n先跑测试。".encode())
    (project / "AGENTS.md").write_text("# Rules\n\nRun the tests.\n", "utf-8")


ALL = ("--claude", "--cursor", "--agents")
HOOKS_FILE = ".claude/settings.json"


def test_a_dry_run_leaves_every_byte_and_what_stood_there_is_kept_beside_as_private(
    home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(project)
    (project / ".mcp.json").chmod(0o600)
    photo = photograph(project.parent.parent)
    assert main(["init", *ALL, "--store", "--dry-run"]) == 0
    assert photograph(project.parent.parent) == photo
    out = capsys.readouterr().out
    assert (str(project / ".mcp.json") in out, "memory_session_end" in out) == (True, True)
    assert SECRET not in out
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    assert main(["init", *ALL]) == 0
    for path, payload in before.items():
        (copy,) = path.parent.glob(f"{path.name}.bak-*")
        assert copy.read_bytes() == payload
        if path.parent == project and path.suffix == ".json":
            assert [one.stat().st_mode & 0o077 for one in (copy, path)] == [0, 0]
    hooks, old = content(project / HOOKS_FILE), json.loads(before[project / HOOKS_FILE])
    del hooks["hooks"]["SessionStart"][1:], hooks["hooks"]["UserPromptSubmit"]
    assert hooks == old
    rules = (project / "CLAUDE.md").read_bytes()
    assert rules.startswith(before[project / "CLAUDE.md"])
    assert b"\n" not in rules.replace(b"\r\n", b"")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=12,
)
SERVERS = st.dictionaries(
    st.text(max_size=6), values | st.fixed_dictionaries({"env": st.just({"A": "b"})}), max_size=3
)
EDIT = clients.mcp_json(Launch("/a/python", {"A": "值"}), "en")[".mcp.json"]
ENTRY = {"command": "/a/python", "args": ["-P", "-m", "llm_memory", "serve"], "env": {"A": "值"}}


@given(
    st.dictionaries(st.text(max_size=6), values, max_size=5),
    st.none() | SERVERS,
    st.sampled_from([None, 0, 2, "\t"]),
    st.sampled_from(["", "\ufeff", " \n"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_a_json_file_holds_the_entry_and_all_it_held_before(
    held: dict[str, Any],
    servers: dict[str, Any] | None,
    indent: int | str | None,
    head: str,
    newline: str,
    ascii_only: bool,
) -> None:
    if servers is not None:
        held["mcpServers"] = servers
    text = head + json.dumps(held, indent=indent, ensure_ascii=ascii_only) + "\n"
    done = EDIT(text.replace("\n", newline))
    assert done.startswith("\ufeff") == (head == "\ufeff")
    assert done.count("\n") == done.count(newline)
    assert done.endswith(newline)
    after = json.loads(done.removeprefix("\ufeff"))
    assert after["mcpServers"].pop("scoped-memory") == ENTRY
    if servers is None:
        assert after.pop("mcpServers") == {}
    assert json.dumps(after) == json.dumps(held)  # the order, too
    assert EDIT(done) == done


REFUSED = {
    '{\n  // a word\n  "a": 1\n}': "line 2, column 3",
    "[1]": "no JSON object",
    '{"mcpServers": null}': "mcpServers is no JSON object",
    '{"mcpServers": {"scoped-memory": {"env": []}}}': "env is no JSON object",
    '{"a": [{"b": 1, "b": 2}]}': "'b' is there twice",
    '{"a": NaN}': "NaN",
    '{"a": 1e400}': "1e400",
    '{"a": ' + "1" * 5000 + "}": "digits",
    "[" * 100_000: "deep",
}


def test_json_that_would_lose_something_is_refused() -> None:
    for text, why in REFUSED.items():
        with pytest.raises(HomeError, match=why):
            EDIT(text)


WITH_HOOKS = {".mcp.json", "CLAUDE.md", ".claude/settings.json"}
CURSOR = {".cursor/mcp.json", ".cursor/rules/scoped-memory.mdc"}


@pytest.mark.parametrize(
    ("flags", "there", "written"),
    [
        ((), "", WITH_HOOKS),
        ((), ".claude/", WITH_HOOKS),
        ((), ".cursor/", CURSOR),
        ((), "AGENTS.md", {"AGENTS.md"}),
        (("--claude",), ".mcp.json", WITH_HOOKS),
        (("--hooks",), "", {".claude/settings.json"}),
        (("--hooks", "--claude"), "", WITH_HOOKS),  # the same file twice
        (("--codex", "--gemini"), ".claude/", {".codex/hooks.json", ".gemini/settings.json"}),
        ((*ALL, "--store"), "", {"AGENTS.md", *WITH_HOOKS, *CURSOR}),
    ],
)
def test_init_writes_for_the_clients_in_use_and_a_second_run_changes_no_byte(
    home: Path, project: Path, flags: tuple[str, ...], there: str, written: set[str]
) -> None:
    if there.endswith("/"):
        (project / there).mkdir()
    elif there:
        (project / there).write_text("", "utf-8")
    assert main(["init", *flags]) == 0
    found = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    assert {name for name in found if ".bak-" not in name} == written
    before = photograph(project.parent.parent)
    assert main(["init", *flags]) == 0
    assert photograph(project.parent.parent) == before


@pytest.mark.parametrize(
    ("flag", "name", "event", "timeout"),
    [
        ("--hooks", ".claude/settings.json", "UserPromptSubmit", 5),
        ("--codex", ".codex/hooks.json", "UserPromptSubmit", 5),
        ("--gemini", ".gemini/settings.json", "BeforeAgent", 5000),  # it counts milliseconds
    ],
)
def test_the_hook_before_a_prompt_is_written_beside_others_and_changed_in_its_place(
    home: Path, project: Path, flag: str, name: str, event: str, timeout: int
) -> None:
    file = project / name
    file.parent.mkdir()
    other = {"type": "command", "command": "lint --hook", "timeout": 1}
    file.write_text(json.dumps({"mine": 1, "hooks": {event: [{"hooks": [other]}]}}), "utf-8")
    assert main(["init", flag]) == 0
    first = content(file)
    mine, ours = first["hooks"][event]
    assert (first["mine"], mine) == (1, {"hooks": [other]})
    (hook,) = ours["hooks"]
    assert hook["command"].endswith("-m llm_memory recall --hook") or os.name == "nt"
    assert (hook["type"], hook["timeout"]) == ("command", timeout)
    hook.update(command="/old/python -m llm_memory recall --hook", timeout=9)
    file.write_text(json.dumps(first), "utf-8")
    assert main(["init", flag]) == 0
    (again,) = content(file)["hooks"][event][1]["hooks"]
    assert (again["timeout"], again["command"] == hook["command"]) == (9, False)


def test_a_persons_own_arguments_variables_and_hooks_stay(home: Path, project: Path) -> None:
    own = {
        "type": "stdio",
        "command": "/old/python",
        "args": ["-m", "llm_memory", "serve", "--project", "x"],
        "env": {"MINE": "1", "PYTHONPATH": "/old"},
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"scoped-memory": own}}), "utf-8")
    (project / ".claude").mkdir()
    old = {"type": "command", "command": "/old/python -m llm_memory primer", "timeout": 9}
    mine = {"type": "command", "command": "scoped-memory recall --hook"}
    prompts = [{"hooks": [mine]}]
    hooks = {"SessionStart": [{"hooks": [{"type": "x"}, old]}], "UserPromptSubmit": prompts}
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), "utf-8")
    assert main(["init", "--claude"]) == 0
    entry = content(project / ".mcp.json")["mcpServers"]["scoped-memory"]
    assert (entry["command"], entry["type"]) == (sys.executable, own["type"])
    assert entry["args"] == ["-P", *own["args"]]
    assert (entry["env"]["MINE"], entry["env"]["PYTHONPATH"]) == ("1", str(checkout.ROOT))
    after = content(project / ".claude" / "settings.json")["hooks"]
    (only,) = after["SessionStart"]
    assert only["hooks"][1]["command"].startswith("PYTHONPATH=") or os.name == "nt"
    assert only["hooks"][1]["timeout"] == 9
    assert after["UserPromptSubmit"] == prompts


FOLDER, LINK = object(), object()


@pytest.mark.parametrize(
    ("name", "there"),
    [
        (".mcp.json", '{"mcpServers": {"scoped-memory": 1}}'),
        (".mcp.json", FOLDER),
        (".mcp.json", LINK),
        (".cursor/mcp.json", "\ud800"),
        (".cursor", LINK),
        (".claude/settings.json", '{"hooks": {"UserPromptSubmit": {}}}'),
        (".claude", LINK),
        ("CLAUDE.md", "<!-- scoped-memory:begin -->\n"),
        ("CLAUDE.md", LINK),
        ("AGENTS.md", "x" * (MAX_BYTES + 1)),
        (".scoped-memory", LINK),
    ],
)
def test_what_cannot_be_changed_is_refused_in_one_line_before_anything_is_written(
    home: Path, project: Path, capsys: pytest.CaptureFixture[str], name: str, there: object
) -> None:
    path, theirs = project / name, project.parent / "theirs"
    theirs.mkdir()
    (theirs / "file").write_text("{}")
    path.parent.mkdir(exist_ok=True)
    if there is FOLDER:
        path.mkdir()
    elif there is LINK:
        path.symlink_to(theirs / "file" if path.suffix else theirs)
    else:
        path.write_bytes(f"{there}\n\nmore\n".encode("utf-8", "surrogatepass"))
    before = photograph(project.parent.parent)
    assert main(["init", *ALL, "--store"]) == 2
    assert photograph(project.parent.parent) == before
    error = capsys.readouterr().err
    assert (str(path) in error, error.count("\n")) == (True, 1)


def test_json_names_the_folders_the_files_and_their_copies(
    home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "CLAUDE.md").write_text("# Rules\n", "utf-8")
    main(["init", "--claude", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["dry_run"], told["home"]) == (False, str(home))
    assert told["project"] == {"name": "shop", "root": str(project), "own_store": False}
    assert all(Path(folder).is_dir() for folder in told["folders"])
    (copy,) = map(str, project.glob("CLAUDE.md.bak-*"))
    assert [tuple(file.values()) for file in told["files"]] == [
        (str(home / "config.toml"), "new", True, None),
        (str(project / ".mcp.json"), "new", True, None),
        (str(project / "CLAUDE.md"), "changed", True, copy),
        (str(project / ".claude" / "settings.json"), "new", True, None),
    ]
    main(["init", "--claude", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert {(file["change"], file["written"]) for file in told["files"]} == {("none", False)}
    assert (told["folders"], told["adopted"], told["errors"]) == ([], [], [])


@given(st.text(max_size=200).filter(lambda text: "scoped-memory" not in text))
@settings(max_examples=max(5, settings().max_examples // 3))
def test_text_outside_the_marks_never_changes(home: Path, project: Path, text: str) -> None:
    payload = text.encode("utf-8", "ignore")
    file = project / "AGENTS.md"
    file.write_bytes(payload)
    assert main(["init", "--agents"]) == 0
    assert file.read_bytes().startswith(payload)
    after = file.read_bytes() + "\n后面的话\n".encode()
    file.write_bytes(after)
    assert main(["init", "--agents", "--language", "zh"]) == 0
    assert file.read_bytes().startswith(payload)
    assert file.read_bytes().endswith("\n后面的话\n".encode())
    assert "你有长期记忆" in file.read_text("utf-8")


def test_a_folder_that_nothing_marks_becomes_a_project(
    home: Path, user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = user / "notes"
    folder.mkdir()
    assert main(["init", "--project-folder", str(folder), "--project", "笔记"]) == 0
    monkeypatch.chdir(folder)
    capsys.readouterr()
    assert main(["config", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["project"] == {"name": "笔记", "root": str(folder), "own_store": False}
    assert shown["settings"]["project"]["origin"] == str(folder / ".scoped-memory/config.toml")
    assert main(["init", "--project", "别的"]) == 2
    assert main(["init", "--project", "../x"]) == 2


def test_the_users_own_folder_is_no_project(
    home: Path, user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(user)
    assert main(["init", "--claude"]) == 2
    assert [path.name for path in user.iterdir()] == ["code"]
    assert main(["init"]) == 0
    assert {path.name for path in user.iterdir()} == {"code", home.name}


def test_the_settings_file_that_is_written_first_changes_nothing(home: Path, project: Path) -> None:
    plain = load_settings(flags={}, environ=os.environ, cwd=project)
    main(["init"])
    (home / "config.toml").write_text(
        re.sub(r'^# (\w+ = (?:"|\d))', r"\1", config_text("en"), flags=re.MULTILINE), "utf-8"
    )
    read = load_settings(flags={}, environ=os.environ, cwd=project)
    assert read.warnings == ()
    assert read.settings == plain.settings
    # All but the name: an empty one says nothing.
    assert list(read.origins.values()).count(str(home / "config.toml")) == 9


def test_config_never_shows_a_key(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init"])
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING_KEY", SECRET)
    for flags in ([], ["--json"]):
        assert main(["config", *flags, "--embedding-key-env", SECRET]) == 2
        assert main(["config", *flags]) == 0
        out, err = capsys.readouterr()
        assert "OPENAI_API_KEY" in out
        assert SECRET not in out + err


def foreign(root: Path, name: str, words: str) -> Path:
    top = root / ".openclaw_memory"
    (top / name).parent.mkdir(parents=True)
    (top / name).write_text(f"- {words}\n", "utf-8")
    return top


def recalled(memory: Path) -> dict[str, str]:
    return {
        path.relative_to(memory / "scopes").parts[0]: path.read_text("utf-8")
        for path in memory.rglob("*.md")
    }


def test_both_former_stores_are_taken_in_counted_and_again_adds_nothing(
    home: Path, project: Path, user: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tops = [
        foreign(project, "agent/decisions.md", QUEUE),
        foreign(user, "user/preferences.md", "小林偏好深色主题的编辑器"),
    ]
    before = [photograph(top) for top in tops]
    arguments = ["init", "--agents", "--json", "--adopt", str(tops[0]), "--adopt", str(tops[1])]
    assert main([*arguments, "--dry-run"]) == 0
    assert not home.exists()
    capsys.readouterr()
    for stored, known in ((1, 0), (0, 1)):
        assert main(arguments) == 0
        told = json.loads(capsys.readouterr().out)["adopted"]
        counted = [(one["project"], one["stored"], one["known"]) for one in told]
        assert counted == [("shop", stored, known), (None, stored, known)]
    scopes = recalled(home / "memory")
    (mine,) = (name for name in scopes if name.startswith("project-shop-"))
    assert (QUEUE in scopes[mine], "深色主题" in scopes["public"]) == (True, True)
    assert [photograph(top) for top in tops] == before


def test_a_former_store_goes_into_the_projects_own_and_what_is_not_taken_in_is_said(
    home: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--agents", "--store"]) == 0
    own = project / ".scoped-memory"
    assert [p for p in own.rglob("*") if p.is_file()] == []  # nothing to be ignored
    top = foreign(project, "agent/decisions.md", QUEUE)
    (top / "agent" / "patterns.md").symlink_to(project / "elsewhere.md")
    assert main(["init", "--agents", "--store", "--adopt", "."]) == 3
    assert "agent/patterns.md" in capsys.readouterr().out
    assert QUEUE in recalled(own / "memory")["public"]
    assert recalled(home / "memory") == {}
    assert main(["init", "--adopt", str(project / "absent")]) == 2
