"""``primer``, ``search``, ``log``, ``read``, ``tasks`` as commands: for people and scripts."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.home import embedder_choice
from astrbot_plugin_scoped_memory.tests.support.agents import agents
from astrbot_plugin_scoped_memory.tests.support.agents.agents import refusal
from astrbot_plugin_scoped_memory.tests.support.agents.shell import Shell
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

pytestmark = [pytest.mark.engine, pytest.mark.process]

EMPTY, NOTHING = "nothing is remembered yet\n", "nothing relevant is remembered\n"
NOTHING_SAID = refusal("empty")


def test_what_a_script_writes_and_reads(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (shell("primer"), shell("primer", "--quiet")) == (EMPTY, "")
    monkeypatch.setattr("sys.stdin", io.StringIO("The cellar key hangs\n在厨房里\n"))
    pointer = agents.pointer_in(shell("log", "-", "--type", "decision"))
    read = shell.json("read", pointer)["text"]
    assert ("在厨房里" in read, "可信：否" in read, "谁：scoped-memory" in read) == (True,) * 3
    assert shell("search", "cellar key", "--level", "global") == NOTHING
    shell("tasks", '[{"title":"Paint"}]')
    assert "Paint" in shell("primer", "--quiet")
    assert not (home / "state" / "endpoint.json").exists()
    (home / "config.toml").write_text("max_token = 200\n", "utf-8")
    answer, noted = shell.streams("primer", "--json")
    assert (answer.count("\n"), json.loads(answer).keys()) == (1, {"ok", "text"})
    assert "max_tokens?" in noted


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["log", "ok", "--type", "instruction"], 1, NOTHING_SAID),
        (["tasks", '[{"title":"x","status":"half"}]'], 2, "the status of task 1 can only be open"),
        (["tasks", '[{"title":"ok"},{"title":"Dust the shelf"}]'], 3, "- ok: refused: "),
    ],
)
def test_what_is_refused_is_said_on_stderr_or_as_json(
    shell: Shell, arguments: list[str], code: int, word: str
) -> None:
    out, err = shell.streams(*arguments, code=code)
    assert (out, word in err) == ("", True)
    out, err = shell.streams(*arguments, "--json", code=code)
    answer = json.loads(out)
    assert (answer["ok"], word in answer["text"], err) == (False, True, "")


def test_stdin_may_hold_anything(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for raw, code, word in (
        (b"\xff\xfe\xfa", 2, "stdin"),
        (b"", 1, NOTHING_SAID),
        (b"x" * 1_048_576, 2, "262144"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))
        out, err = shell.streams("log", "-", code=code)
        assert (out, word in err, err.count("\n")) == ("", True, 1)


def test_all_files_are_read_before_a_question_is_answered_and_settings_are_flags(
    shell: Shell, home: Path, tmp_path: Path
) -> None:
    public, other = (home / "memory" / "scopes" / name for name in ("public", "project-k"))
    for folder in (public, other):
        folder.mkdir(parents=True)
    for part in range(20):
        entries = (f"## Parcel {part * 50 + n} went to the {n}th floor\n" for n in range(50))
        (public / f"parcels-{part}.md").write_text("\n".join(entries), "utf-8")
    (public / "z-last.md").write_text("## The umbrella belongs to Ann\n", "utf-8")
    entries = (f"## Cupboard {n * n} holds the plates of set {n}\n" for n in range(30))
    (other / "entities.md").write_text("\n".join(entries), "utf-8")
    then = time.time() - 60  # as long ago as nobody goes on writing
    os.utime(other / "entities.md", (then, then))
    assert "belongs to Ann" in shell("search", "whose umbrella")
    long, short = (
        shell("search", "plates", "--project", "k", "--max-tokens", most)
        for most in ("4000", "100")
    )
    assert len(short) < len(long)
    assert shell("search", "plates", "--language", "zh") == NOTHING  # another project's
    elsewhere = tmp_path / "elsewhere"
    assert shell("primer", "--home", str(elsewhere)) == EMPTY
    assert (elsewhere / "memory").is_dir()


FLAGS = [
    ("--max-tokens=many", "--max-tokens"),
    ("--language=fr", "--language"),
    ("--embedding-key-env=sk-live-aB3", "--embedding-key-env"),
    ("--embedding-key-file=absent", "--embedding-key-file"),
    ("--project=家人/../x", "--project"),
    ("--project public", "public"),
    ("--project-folder /nowhere", "/nowhere"),
    (f"--home {__file__}", __file__),
]
STORES = [
    ("--bot /nowhere", "/nowhere"),
    ("--connect nowhere", "--token-file"),
    (f"--connect 127.0.0.1:99999 --token-file {__file__}", "host:port"),
    ("--connect 127.0.0.1:80 --token-file /nowhere", "/nowhere"),
]


@pytest.mark.parametrize(
    ("command", "arguments", "word"),
    [*(("primer", *one) for one in FLAGS + STORES), *(("init", *one) for one in FLAGS)],
)
def test_a_flag_with_a_bad_value_is_named_in_one_line(
    shell: Shell, command: str, arguments: str, word: str
) -> None:
    out, err = shell.streams(command, *arguments.split(), code=2)
    assert (out, word in err, err.count("\n")) == ("", True, 1)
    assert "sk-live" not in err


def test_what_a_program_reads_is_utf_8_whatever_the_console_is(shell: Shell, home: Path) -> None:
    """As the hook at the start of a session, and scripts that ask for JSON."""

    def run(encoding: str, *arguments: str) -> str:
        console = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "llm_memory", *arguments],
            env={**os.environ, "PYTHONPATH": str(checkout.ROOT), **console},
            capture_output=True,
            check=False,
        )
        return (done.stdout + done.stderr).decode("utf-8")

    words = "猫“毛球”睡在暖气上 ☃"
    shell("tasks", json.dumps([{"title": words}]))
    put_dictionary(home)
    assert words in run("gbk", "search", "毛球", "--json")
    nowhere = ("--language", "zh", "--project-folder", "/nowhere")
    assert "没有这个文件夹" in run("ascii", "primer", *nowhere)


def test_a_search_says_that_the_embedder_of_the_settings_is_not_there(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder_choice, "is_installed", lambda _: False)
    shell("log", "The cellar key hangs in the kitchen")
    assert "embed" not in shell("search", "cellar key")
    assert "pip install 'scoped-memory[bundled]'" in shell("search", "x", "--embedding", "bundled")
    service = ("--embedding", "http", "--embedding-url", "http://127.0.0.1:9/v1")
    assert "http://127.0.0.1:9/v1" in shell("search", "cellar key", *service)
