"""``primer``, ``search``, ``log``, ``read``, ``tasks`` as commands: for people and scripts."""

from __future__ import annotations

import io
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.texts import Texts

pytestmark = pytest.mark.engine

COMMANDS = ("primer", "search", "log", "read", "tasks")
POINTER = re.compile(r"(?:project|global)/[\w/.-]+\.md#m-[0-9a-z]+")
EN, ZH = Texts.of("en"), Texts.of("zh")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it, and a project to be in."""
    for name in [name for name in os.environ if name.startswith(("SCOPED_MEMORY_", "XDG_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING", "lexical")
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "en")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "home"


class Said:
    """What a command printed, and its exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as error:
            code = int(error.code or 0)
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(capsys)


def a_while_ago(path: Path) -> None:
    """A file that its author has not just written to, and may be about to go on with."""
    then = time.time() - 60
    os.utime(path, (then, then))


def texts(home: Path) -> str:
    """All that is remembered."""
    return "\n".join(p.read_text("utf-8") for p in (home / "memory" / "scopes").rglob("*.md"))


def test_a_person_does_what_an_agent_can(said: Said, home: Path) -> None:
    assert said("primer") == (0, f"{EN.say('empty')}\n", "")
    assert said("primer", "--quiet") == (0, "", "")
    code, out, err = said("log", "The cellar key hangs in the kitchen", "--type", "decision")
    assert (code, err) == (0, "")
    found = POINTER.search(out)
    assert found
    assert found[0].startswith("project/decisions.md#")
    code, out, err = said("search", "cellar key")
    assert (code, err) == (0, "")
    assert "hangs in the kitchen" in out
    assert found[0] in out
    assert said("search", "cellar key", "--level", "global")[1] == f"{EN.say('nothing')}\n"
    code, out, err = said("read", found[0])
    assert code == 0
    assert "可信：否" in out
    assert "谁：scoped-memory" in out
    code, out, err = said("tasks")
    assert (code, out, err) == (0, f"{EN.say('tasks_none')}\n", "")
    code, out, err = said("tasks", '[{"title":"Paint the door"},{"title":"Buy paint"}]')
    assert (code, out.splitlines()[0]) == (0, "- Paint the door: added")
    code, out, err = said("tasks", '[{"title":"Buy paint","status":"done"}]')
    assert (code, out.splitlines()[:2]) == (0, ["- Buy paint: done", "1 open:"])
    code, out, err = said("tasks")
    assert (code, out.splitlines()[0]) == (0, "1 open:")
    assert "Paint the door" in out
    code, out, err = said("primer", "--quiet")
    assert "Paint the door" in out
    assert not (home / "state" / "endpoint.json").exists()


def test_log_reads_stdin(said: Said, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("The attic is dry\n在雨天也是\n"))
    assert said("log", "-", "--type", "pattern")[0] == 0
    assert "The attic is dry" in texts(home)


@pytest.mark.parametrize(
    ("raw", "code", "word"),
    [
        (b"\xff\xfe\xfa", 2, "stdin"),
        (b"", 1, EN.say("reject_empty")),
        (b"x" * 1_048_576, 1, "262144"),
    ],
)
def test_stdin_may_hold_anything(
    said: Said, monkeypatch: pytest.MonkeyPatch, raw: bytes, code: int, word: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
    got, out, err = said("log", "-")
    assert (got, out) == (code, "")
    assert word in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("log", "ok"), EN.say("reject_filler")),
        (("log", ""), EN.say("reject_empty")),
        (("read", "../../etc/passwd"), EN.say("absent", path="../../etc/passwd")),
        (("read", ""), EN.say("absent", path="")),
        (("tasks", "{bad"), '[{"title": "write tests"'),
        (("tasks", "[]"), EN.say("no_tasks")),
        (("tasks", '[{"title":"x","status":"half"}]'), EN.say("no_status", number=1)),
    ],
)
def test_what_is_refused_is_said_on_stderr(
    said: Said, arguments: tuple[str, ...], word: str
) -> None:
    code, out, err = said(*arguments)
    assert (code, out) == (1, "")
    assert word.strip() in err
    code, out, err = said(*arguments, "--json")
    assert (code, err) == (1, "")
    answer = json.loads(out)
    assert answer["ok"] is False
    assert word in answer["text"]


def test_json_is_one_line_for_scripts(said: Said) -> None:
    def answer(*arguments: str) -> Any:
        code, out, err = said(*arguments, "--json")
        assert (code, err, out.count("\n")) == (0, "", 1)
        found = json.loads(out)
        assert found.keys() == {"ok", "text"}
        assert found["ok"] is True
        return found["text"]

    assert "decisions.md#m-" in answer("log", "我们决定周五大扫除", "--type", "decision")
    assert "大扫除" in answer("search", "大扫除")
    assert "大扫除" in answer("read", "project/decisions.md")
    assert answer("tasks") == EN.say("tasks_none")
    assert answer("primer").startswith((EN.say("data"), EN.say("empty")))


def test_settings_are_flags(said: Said, home: Path, tmp_path: Path) -> None:
    scope = home / "memory" / "scopes" / "project-k"
    scope.mkdir(parents=True)
    entries = (f"## Cupboard {n * n} holds the plates of set {n}\n" for n in range(30))
    (scope / "entities.md").write_text("\n".join(entries), "utf-8")
    a_while_ago(scope / "entities.md")
    code, long, err = said("search", "plates", "--project", "k", "--max-tokens", "4000")
    assert (code, err) == (0, "")
    short = said("search", "plates", "--project", "k", "--max-tokens", "100")[1]
    assert len(short) < len(long)
    assert said("search", "plates")[1] == f"{EN.say('nothing')}\n"  # another project
    assert said("search", "x", "--language", "zh")[1] == f"{ZH.say('nothing')}\n"
    elsewhere = str(tmp_path / "elsewhere")
    assert said("primer", "--home", elsewhere)[1] == f"{EN.say('empty')}\n"
    assert (Path(elsewhere) / "memory").is_dir()


def test_all_files_are_read_before_a_question_is_answered(said: Said, home: Path) -> None:
    public, shared = home / "memory" / "scopes" / "public", home / "memory" / "shared"
    for folder in (public, shared):
        folder.mkdir(parents=True)
    for part in range(40):
        entries = (f"## Parcel {part * 100 + n} went to the {n}th floor\n" for n in range(100))
        (public / f"parcels-{part}.md").write_text("\n".join(entries), "utf-8")
    (public / "z-last.md").write_text("## The umbrella belongs to Ann\n", "utf-8")
    (shared / "RUNBOOK.md").write_text("# Restart\n\nPull the red plug.\n", "utf-8")
    assert "belongs to Ann" in said("search", "whose umbrella")[1]
    assert "Pull the red plug." in said("read", "shared/RUNBOOK.md")[1]
    assert "shared/RUNBOOK.md: Restart" in said("primer")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_it_all_in_both_languages(said: Said, command: str) -> None:
    code, out, err = said(command, "--help")
    assert (code, err) == (0, "")
    for word in ("--json", "--project-folder", "--home", "--bot", "--connect"):
        assert word in out
    assert re.search("[\u4e00-\u9fff]", out)
    assert "SUPPRESS" not in out
    wanted = {
        "primer": ["--quiet"],
        "search": ["QUERY|query", "--level", "project", "global"],
        "log": ["content", "--type", "decision", "stdin"],
        "read": ["path", "decisions.md:10-40"],
        "tasks": ["tasks_json", "title", "status"],
    }
    for word in wanted[command]:
        assert re.search(re.escape(word).replace(r"\|", "|"), out), word


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("log",),
        ("read",),
        ("primer", "x"),
        ("search", "x", "--level", "家人"),
        ("log", "x", "--unknown"),
        ("nothing",),
        (),
    ],
)
def test_wrong_usage_is_exit_code_2(said: Said, arguments: tuple[str, ...]) -> None:
    code, out, err = said(*arguments)
    assert (code, out) == (2, "")
    assert "usage:" in err


@pytest.mark.parametrize("command", ["primer", "tasks"])
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--bot", "/nowhere"), "/nowhere"),
        (("--connect", "nowhere"), "--token-file"),
        (("--connect", "nowhere", "--token-file", __file__), "host:port"),
        (("--connect", "127.0.0.1:99999", "--token-file", __file__), "host:port"),
        (("--connect", "127.0.0.1:80", "--token-file", "/nowhere"), "/nowhere"),
        (("--project", "家人/../x"), "project"),
        (("--project", "public"), "public"),
        (("--project-folder", "/nowhere"), "/nowhere"),
    ],
)
def test_a_home_that_cannot_be_had_is_exit_code_2(
    said: Said, command: str, arguments: tuple[str, ...], word: str
) -> None:
    code, out, err = said(command, *arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert len(err.splitlines()) == 1


def test_a_broken_config_is_one_line_and_exit_code_2(said: Said, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("max_tokens = [", "utf-8")
    for command in (("primer",), ("log", "The cat sleeps on the stove"), ("tasks",)):
        code, out, err = said(*command)
        assert (code, out) == (2, "")
        assert "config.toml" in err
        assert len(err.splitlines()) == 1


def test_an_unknown_key_is_told_of_and_the_answer_stands_apart(said: Said, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("max_token = 200\n", "utf-8")
    code, out, err = said("primer", "--json")
    assert code == 0
    assert json.loads(out)["ok"] is True
    assert "max_tokens?" in err


def test_a_store_of_a_newer_format_is_named(said: Said, home: Path) -> None:
    assert said("log", "The roof was repaired in spring")[0] == 0
    mark = home / "memory" / "format.json"
    marks = [p for p in home.rglob("*.json") if "format" in p.name] or [mark]
    raw = json.loads(marks[0].read_text("utf-8"))
    marks[0].write_text(json.dumps({**raw, "format": 99}), "utf-8")
    for command in (("primer",), ("log", "The roof leaks again now"), ("tasks",)):
        code, out, err = said(*command)
        assert (code, out) == (1, "")
        assert "99" in err
        assert len(err.splitlines()) == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_home_is_exit_code_2(said: Said, home: Path) -> None:
    home.mkdir(mode=0o000)
    try:
        code, out, err = said("primer")
    finally:
        home.chmod(0o700)
    assert (code, out) == (2, "")
    assert str(home) in err


def test_a_home_that_is_a_file_is_exit_code_2(said: Said, home: Path) -> None:
    home.write_text("x", "utf-8")
    code, out, err = said("primer")
    assert (code, out) == (2, "")
    assert str(home) in err
    assert len(err.splitlines()) == 1
