"""The command line in this process, and what it prints."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main

ID: Final = re.compile(r"m-[0-9a-z]+")


class Shell:
    """Runs commands, each with the exit code that is expected of it."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def streams(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Returns what a command prints."""
        self._capsys.readouterr()
        try:
            ended = main(arguments)
        except SystemExit as error:
            ended = int(error.code or 0)
        said = self._capsys.readouterr()
        assert ended == code, said
        assert "Traceback" not in said.err
        return said.out, said.err

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """Returns what a command prints, on both streams."""
        return "".join(self.streams(*arguments, code=code))

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", code=code))

    def log(self, content: str, type_: str = "decision", *more: str) -> str:
        """Returns the id of what is logged."""
        found = ID.search(self("log", content, "--type", type_, *more))
        assert found
        return found[0]
