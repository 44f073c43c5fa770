"""What is said before a command runs, and the language that it is said in."""

from __future__ import annotations

import argparse
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.cli import config
from astrbot_plugin_scoped_memory.llm_memory.cli.messages import warn
from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.texts import Said
from astrbot_plugin_scoped_memory.tests.support.agents.shell import Shell

pytestmark = pytest.mark.engine

MISUSED = [
    [], ["log"], ["primer", "x"], ["search", "x", "--level", "家人"], ["log", "x", "--unknown"],
    ["log", "x", "--type", "secret"], ["kitchen"], ["\x1b[31mzzz"], ["import", "f.jsonl"],
    ["migrate-scope", "--status", "--reverse"], ["list", "--limit", "1001"], ["decide"],
    ["decide", "withdraw", "m-a"], ["decide", "supersede", "m-01jd3q8z7k2ab4cd"],
    ["decide", "accept", "m-01jd3q8z7k2ab4cd", "--to", "constitution"],
]  # fmt: skip


def test_misuse_is_told_and_the_nearest_command_named_for_a_typo_alone(shell: Shell) -> None:
    for word, meant in {"exprt": "export", "trsut": "trust", "Log": "log"}.items():
        assert f"did you mean {meant}?" in shell(word, "x", code=2)
    for arguments in MISUSED:
        out, err = shell.streams(*arguments, code=2)
        assert (out, "usage:" in err, "you mean" in err, "\x1b" in err) == ("", True, False, False)


def test_the_version_is_that_of_the_metadata_and_help_is_in_the_persons_language(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, version = shell("--version").split()
    assert program == "scoped-memory"
    assert f"version: {version}\n" in (checkout.ROOT / "metadata.yaml").read_text("utf-8")
    for language, own, other in (
        ("zh", "先停下机器人", "stop the bot"),
        ("en", "stop the", "机器人"),
    ):
        monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", language)
        helped = " ".join(shell("--help").split())
        assert all(word in helped for word in ("export", "restore", "import", own))
        assert other not in helped


@pytest.mark.parametrize("by", ["flag", "one flag", "variable", "file", "machine"])
def test_a_line_is_in_the_language_that_is_set(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, home: Path, by: str
) -> None:
    def fails(args: argparse.Namespace) -> int:
        config.read_settings(args)
        warn([Said("path.link")])
        raise HomeError("memories.no_project")

    monkeypatch.setattr(config, "show_config", fails)
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8" if by == "machine" else "en_GB.UTF-8")
    monkeypatch.delenv("SCOPED_MEMORY_LANGUAGE")
    arguments = ["config"]
    match by:
        case "flag":
            arguments += ["--language", "zh"]
        case "one flag":
            arguments += ["--language=zh"]
        case "variable":
            monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "zh")
        case "file":
            home.mkdir(parents=True, exist_ok=True)
            (home / "config.toml").write_text('language = "zh"\n', "utf-8")
    said = "注意：是链接，不跟随\n这里不是项目\n"
    assert shell.streams(*arguments, code=2) == ("", said)
