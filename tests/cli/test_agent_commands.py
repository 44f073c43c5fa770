"""``primer``, ``search``, ``log``, ``read``, ``tasks`` as commands: for people and scripts."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.composition.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.home import embedder_choice
from astrbot_plugin_scoped_memory.llm_memory.home.owned_store import OwnedStore
from astrbot_plugin_scoped_memory.llm_memory.home.settings import HomeSettings
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import RejectReason
from astrbot_plugin_scoped_memory.tests.support.agents import agents
from astrbot_plugin_scoped_memory.tests.support.agents.agents import refusal

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("own_user")]

EMPTY = "nothing is remembered yet"
NOTHING = "nothing relevant is remembered"
TASKS_NONE = "no open tasks"
REJECT_EMPTY, REJECT_FILLER = map(refusal, (RejectReason.EMPTY, RejectReason.FILLER))


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
    assert said("primer") == (0, f"{EMPTY}\n", "")
    assert said("primer", "--quiet") == (0, "", "")
    code, out, err = said("log", "The cellar key hangs in the kitchen", "--type", "decision")
    assert (code, err) == (0, "")
    pointer = agents.pointer_in(out)
    assert pointer.startswith("project/decisions.md#")
    code, out, err = said("search", "cellar key")
    assert (code, err) == (0, "")
    assert "hangs in the kitchen" in out
    assert pointer in out
    assert said("search", "cellar key", "--level", "global")[1] == f"{NOTHING}\n"
    code, out, err = said("read", pointer)
    assert code == 0
    assert "可信：否" in out
    assert "谁：scoped-memory" in out
    code, out, err = said("tasks")
    assert (code, out, err) == (0, f"{TASKS_NONE}\n", "")
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
        (b"", 1, REJECT_EMPTY),
        (b"x" * 1_048_576, 2, "262144"),
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
    ("arguments", "refused", "word"),
    [
        (("log", "ok"), 1, REJECT_FILLER),
        (("log", ""), 1, REJECT_EMPTY),
        (("read", "../../etc/passwd"), 1, "no such file or memory: ../../etc/passwd"),
        (("read", ""), 1, "no such file or memory: "),
        (("tasks", "{bad"), 2, '[{"title": "write tests"'),
        (("tasks", "[]"), 2, "a list of tasks is wanted"),
        (("tasks", '[{"title":"x","status":"half"}]'), 2, "the status of task 1 can only be open"),
        (("tasks", '[{"title":"ok"}]'), 1, f"- ok: refused: {REJECT_FILLER}"),
        (("tasks", '[{"title":"ok"},{"title":"Dust the shelf"}]'), 3, "- ok: refused: "),
    ],
)
def test_what_is_refused_is_said_on_stderr(
    said: Said, arguments: tuple[str, ...], refused: int, word: str
) -> None:
    code, out, err = said(*arguments)
    assert (code, out) == (refused, "")
    assert word.strip() in err
    code, out, err = said(*arguments, "--json")
    assert (code, err) == (refused, "")
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
    assert answer("tasks") == TASKS_NONE
    assert answer("primer").startswith(("Data from the memory", EMPTY))


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
    assert said("search", "plates")[1] == f"{NOTHING}\n"  # another project
    assert said("search", "x", "--language", "zh")[1] == f"{NOTHING}\n"
    elsewhere = str(tmp_path / "elsewhere")
    assert said("primer", "--home", elsewhere)[1] == f"{EMPTY}\n"
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


@pytest.mark.parametrize("command", ["primer", "tasks", "config", "init"])
@pytest.mark.parametrize(
    "flag",
    [
        "--max-tokens=many", "--max-tokens=99", "--max-tokens=1.5", "--primer-tokens=8001",
        "--language=fr", "--privacy-mode=none", "--embedding=bundeled", "--embedding-url=ftp://a",
        "--embedding-key-env=sk-live-aB3", "--embedding-key-file=absent", "--project=a b",
        "--embedding-model=a\nb",
    ],
)  # fmt: skip
def test_a_bad_value_of_a_flag_is_exit_code_2(said: Said, command: str, flag: str) -> None:
    name = flag.partition("=")[0]
    code, out, err = said(command, flag)
    assert (code, out) == (2, "")
    assert name in err
    assert "sk-live" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "cp1252"])
def test_what_a_program_reads_is_utf_8_whatever_the_console_is(encoding: str) -> None:
    """As the hook at the start of a session, and scripts that ask for JSON."""

    def run(*arguments: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "llm_memory", *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(checkout.ROOT),
                "PYTHONIOENCODING": encoding,
                "PYTHONUTF8": "0",
            },
            capture_output=True,
            check=False,
        )
        return done.stdout + done.stderr

    words = "猫“毛球”睡在暖气上 ☃"
    run("tasks", json.dumps([{"title": words}]))
    for command in (("primer", "--quiet"), ("search", "毛球", "--json"), ("search", "毛球")):
        assert words in run(*command).decode("utf-8")
    nowhere = ("--language", "zh", "--project-folder", "/nowhere")
    assert "没有这个文件夹" in run("primer", *nowhere).decode("utf-8")


def test_what_is_refused_is_not_said_to_be_filed(said: Said) -> None:
    for kind in ("instruction", "entity"):
        code, out, err = said("log", "ok", "--type", kind)
        assert (code, out, err) == (1, "", f"{REJECT_FILLER}\n")
    assert said("log", "The boiler is in the yard", "--type", "secret")[0] == 2


def test_an_english_home_answers_in_english(said: Said, home: Path) -> None:
    tasks = '[{"title":"Paint the door","progress":"one coat","next":"buy paint"},{"title":"Rest"}]'
    told = [
        said("tasks", tasks)[1],
        said("log", "The staging port is 5432", "--type", "decision")[1],
        said("log", "The staging port is 6432", "--type", "decision")[1],
        said("log", "Always ask before you push", "--type", "instruction")[1],
        said("tasks", '[{"title":"Rest","status":"done"}]')[1],
        *(said("search", query)[1] for query in ("staging port", "paint the door", "rest")),
        said("primer")[1],
    ]
    settings = HomeSettings(home, language="en", embedding="lexical")

    async def session() -> None:
        store = OwnedStore(EnginePaths.under(home), settings, {}, "0.0.1")
        await store.open(shared=False)
        try:
            name = next((home / "memory" / "scopes").glob("project-*")).name
            tools = agents.tools_of(store.memory, name.removeprefix("project-"))
            summary = "Painted the door and moved the port"
            told.append((await tools.call("memory_session_end", {"summary": summary})).text)
            for page in ("MEMORY.md", "PRIMER.md"):
                told.append((await tools.call("memory_read", {"path": page})).text)
        finally:
            await store.close()

    asyncio.run(session())
    assert said("init", "--claude", "--cursor", "--agents")[0] == 0
    told += [Path(name).read_text("utf-8") for name in ("CLAUDE.md", "AGENTS.md")]
    assert "Paint the door (one coat → buy paint)" in "".join(told)
    assert "# What is remembered" in "".join(told)
    for text in told:
        assert text
        assert not re.search("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]", text), text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_search_says_that_the_embedder_of_the_settings_is_not_there(
    said: Said, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", language)
    monkeypatch.setattr(embedder_choice, "is_installed", lambda _: False)
    assert said("log", "The cellar key hangs in the kitchen")[0] == 0
    for query in ("cellar key", "zebra"):
        out = said("search", query)[1]
        assert "embed" not in out
        named = said("search", query, "--embedding", "bundled")[1]
        assert "bundled" in named
        assert "pip install 'scoped-memory[bundled]'" in named
    service = ("--embedding", "http", "--embedding-url", "http://127.0.0.1:9/v1")
    assert "http://127.0.0.1:9/v1" in said("search", "cellar key", *service)[1]


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
        (("--home", __file__), __file__),
    ],
)
def test_a_home_that_cannot_be_had_is_exit_code_2(
    said: Said, command: str, arguments: tuple[str, ...], word: str
) -> None:
    code, out, err = said(command, *arguments)
    assert (code, out) == (2, "")
    assert word in err
    assert len(err.splitlines()) == 1


def test_an_unknown_key_is_told_of_and_the_answer_stands_apart(said: Said, home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("max_token = 200\n", "utf-8")
    code, out, err = said("primer", "--json")
    assert code == 0
    assert json.loads(out)["ok"] is True
    assert "max_tokens?" in err
