"""Who may name a project: a person by a flag, a variable or the home's file; never a checkout, by
its folder or its own file, where that name opens a scope."""

from __future__ import annotations

import argparse
import json
import os
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.cli.agent_home import agent_home
from astrbot_plugin_scoped_memory.llm_memory.cli.home_flags import read_settings
from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.home.agent_stores import scopes_of
from astrbot_plugin_scoped_memory.llm_memory.home.memory_home import MemoryHome
from astrbot_plugin_scoped_memory.llm_memory.mcp_server.levels import levels_of

pytestmark = [pytest.mark.engine, pytest.mark.property]

NAMES = st.sampled_from(["", " ", "bank", "work-secrets", "家人"])
COMMANDS = st.sampled_from(
    [("serve",), ("primer",), ("search", "x"), ("log", "x"), ("read", "x"), ("tasks",)]
)


def toml(name: str | None) -> str:
    return "" if name is None else f"project = {json.dumps(name)}\n"


class Machine:
    """A home, a bot, and a checkout whose folder is called like a project of another's."""

    def __init__(self, root: Path) -> None:
        self.home, self.checkout, self.bot = root / "home", root / "clone" / "bank", root / "bot"
        for folder in (self.home, self.checkout / ".git", self.checkout / ".scoped-memory"):
            folder.mkdir(parents=True)
        (self.bot / "state").mkdir(parents=True)
        (self.bot / "token").write_text("t" * 20, "utf-8")

    @property
    def modes(self) -> dict[str, list[str]]:
        token = ["--token-file", str(self.bot / "token")]
        return {
            "--bot": ["--bot", str(self.bot)],
            "--connect": ["--connect", "127.0.0.1:9", *token],
        }

    def args(self, *arguments: str) -> argparse.Namespace:
        folder = ["--project-folder", str(self.checkout)]
        return build_parser().parse_args([*arguments, *folder])

    def opened(self, mode: str, *arguments: str, **said: str | None) -> tuple[MemoryHome, Any]:
        """What a command of that mode would use, and its settings. ``said``: the name that each
        source gives, None for none."""
        (self.home / "config.toml").write_text(toml(said["home"]), "utf-8")
        (self.checkout / ".scoped-memory/config.toml").write_text(toml(said["checkout"]), "utf-8")
        environ = {"HOME": str(self.home.parent), "SCOPED_MEMORY_HOME": str(self.home)}
        environ |= {} if said["variable"] is None else {"SCOPED_MEMORY_PROJECT": said["variable"]}
        flag = [] if said["flag"] is None else [f"--project={said['flag']}"]
        args = self.args(*arguments, *self.modes.get(mode, []), *flag)
        with mock.patch.dict(os.environ, environ, clear=True):
            loaded = read_settings(args)
            return agent_home(args, loaded), loaded


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@given(
    mode=st.sampled_from(["--bot", "--connect", "home"]),
    command=COMMANDS,
    said=st.fixed_dictionaries(
        {source: st.none() | NAMES for source in ("flag", "variable", "home", "checkout")}
    ),
)
def test_a_name_that_opens_a_scope_is_a_persons(
    machine: Machine, mode: str, command: tuple[str, ...], said: dict[str, str | None]
) -> None:
    """The variable comes before the home's file, the flag before both; blank says nothing."""
    home, loaded = machine.opened(mode, *command, **said)
    persons = [said[source] for source in ("flag", "variable", "home")]
    mine = next((name for name in persons if name and name.strip()), "")
    mapped = [str(level.conversation) for level in levels_of(home).asked]
    if mode != "home":
        assert home.name == mine
        assert mapped == [f"mcp:project:{mine}" if mine else "mcp:global:home"]
        assert bool(home.warnings) is not bool(mine)  # why nothing but public is read
        return
    # In a home a checkout may call itself something, with a mark of its folder behind it.
    scope = scopes_of(loaded, machine.checkout)[0].scope.name
    assert scope == f"project-{mine}" or re.fullmatch("project-.+-[0-9a-f]{8}", scope)
    if not (said["checkout"] or "").strip() or mine in (said["flag"], said["variable"]):
        assert (scope == f"project-{mine}") is bool(mine)
