"""What is said before a command runs, and the language that it is said in."""

from __future__ import annotations

import argparse
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli import config
from astrbot_plugin_scoped_memory.llm_memory.cli.messages import warn
from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.texts import Said

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("own_user")]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """``config`` warns, and then cannot go on."""

    def fails(args: argparse.Namespace) -> int:
        config.read_settings(args)
        warn([Said("path.link")])
        raise HomeError("memories.no_project")

    monkeypatch.setattr(config, "show_config", fails)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("serch", "search"), ("exprt", "export"), ("trsut", "trust"), ("Log", "log")],
)
def test_the_nearest_command_is_named_for_a_typo(
    capsys: pytest.CaptureFixture[str], word: str, meant: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([word, "x"])
    said = capsys.readouterr().err
    assert said.startswith("usage:")
    assert said.count("you mean") == 1
    assert f"did you mean {meant}?" in said


@pytest.mark.parametrize("arguments", [["kitchen"], ["\x1b[31mzzz"], ["search"], []])
def test_no_command_is_made_up(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert "you mean" not in said
    assert "\x1b" not in said


def test_the_version_is_that_of_the_metadata(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    program, version = capsys.readouterr().out.split()
    assert program == "scoped-memory"
    assert f"version: {version}\n" in (checkout.ROOT / "metadata.yaml").read_text("utf-8")


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("by", ["flag", "variable", "file", "machine"])
def test_a_line_is_in_the_language_that_is_set(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    home: Path,
    by: str,
    language: str,
) -> None:
    other = {"zh": "en_GB.UTF-8", "en": "zh_CN.UTF-8"}[language]
    monkeypatch.setenv("LC_ALL", other)
    monkeypatch.delenv("SCOPED_MEMORY_LANGUAGE")
    arguments = ["config"]
    match by:
        case "flag":
            arguments += ["--language", language]
        case "variable":
            monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", language)
        case "file":
            home.mkdir(parents=True, exist_ok=True)
            (home / "config.toml").write_text(f'language = "{language}"\n', "utf-8")
        case _:
            monkeypatch.setenv("LC_ALL", language)
    assert main(arguments) == 2
    said = {
        "zh": "注意：是链接，不跟随\n这里不是项目\n",
        "en": "note: is a link, which is not followed\nthere is no project here\n",
    }
    assert capsys.readouterr() == ("", said[language])


@pytest.mark.parametrize("flag", [["--language=zh"], ["--language", "zh"]])
def test_a_fault_in_the_settings_is_told_in_the_language_of_the_flag(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, flag: list[str]
) -> None:
    def fails(_: argparse.Namespace) -> int:
        raise HomeError("memories.no_project")

    monkeypatch.setattr(config, "show_config", fails)
    assert main(["config", *flag]) == 2
    assert capsys.readouterr().err == "这里不是项目\n"


def test_agents_read_english() -> None:
    assert str(HomeError("memories.no_project")) == "there is no project here"
