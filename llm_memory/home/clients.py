"""The files through which programs with coding agents find the memory: their lists of MCP servers,
the texts that their agents read, and the hook at the start of a session."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..errors import HomeError
from ..vault.markdown import marked_block
from .agent_words import RULE_HEAD, TITLE, block
from .file_changes import Change, Edit, json_edit, member, planned
from .setting_values import Language

SERVER: Final = "scoped-memory"
_SAFE: Final = "-P"
"""Python's: a client starts us in the project's folder, whose modules must not come before ours."""
_ARGUMENTS: Final = ("-m", "llm_memory", "serve")
_SPECIAL: Final = re.compile(r"[\x00-\x1f!-,;-@\[-^`{-\x7f]")


class Client(StrEnum):
    """Whose files are written. The value is its flag."""

    FIRST = "--claude"
    CURSOR = "--cursor"
    AGENTS = "--agents"
    """Any program that reads AGENTS.md: the words for its agent alone."""

    @property
    def option(self) -> str:
        """The flag's name."""
        return self.value.removeprefix("--")


_SIGNS: Final[Mapping[Client, tuple[str, ...]]] = {
    Client.FIRST: (".mcp.json", ".claude", "CLAUDE.md"),
    Client.CURSOR: (".cursor",),
    Client.AGENTS: ("AGENTS.md",),
}


@dataclass(frozen=True, slots=True)
class Launch:
    """How the memory is started.

    Attributes:
        interpreter: The Python that has what it needs.
        variables: What its environment must hold besides.
    """

    interpreter: str
    variables: Mapping[str, str]


def clients_of(root: Path) -> frozenset[Client]:
    """Returns the clients that a project's files show to be used there."""
    return frozenset(
        client for client, signs in _SIGNS.items() if any((root / sign).exists() for sign in signs)
    )


def plan_clients(
    root: Path,
    clients: Collection[Client],
    launch: Launch,
    language: Language,
) -> list[Change]:
    """Plan the files of each client in a project's folder. Changes nothing.

    Args:
        root: The project's folder.
        clients: Whose files.
        launch: What they are to start.
        language: Of the words for the agent.

    Raises:
        HomeError: a file cannot be changed without losing something.
    """
    words, command = block(language), primer_command(launch)
    entry = json.loads(server_edit(launch)(""))["mcpServers"]
    server = server_edit(launch), json.dumps(entry, ensure_ascii=False)
    begin = marked_block.BEGIN if language == "zh" else marked_block.BEGIN_ENGLISH
    text = partial(_with_block, words=words, begin=begin), words
    rule = partial(_with_block, words=words, begin=begin, head=RULE_HEAD), words
    start = _hook_edit(command), f"SessionStart: {command}"
    files: dict[Client, dict[str, tuple[Edit, str]]] = {
        Client.FIRST: {
            ".mcp.json": server,
            "CLAUDE.md": text,
            ".claude/settings.json": start,
        },
        Client.CURSOR: {".cursor/mcp.json": server, ".cursor/rules/scoped-memory.mdc": rule},
        Client.AGENTS: {"AGENTS.md": text},
    }
    return [
        planned(root, relative, edit, shown)
        for client in Client
        if client in clients
        for relative, (edit, shown) in files[client].items()
    ]


def server_edit(launch: Launch) -> Edit:
    """Returns the edit of a list of MCP servers. A person's own arguments, variables and switches
    stay."""

    def change(content: dict[str, Any]) -> None:
        entry = member(member(content, "mcpServers", dict), SERVER, dict)
        entry["command"] = launch.interpreter
        arguments = entry.get("args")
        own = [one for one in arguments if one != _SAFE] if isinstance(arguments, list) else []
        entry["args"] = [_SAFE, *(own if tuple(own[:3]) == _ARGUMENTS else _ARGUMENTS)]
        if launch.variables:
            member(entry, "env", dict).update(launch.variables)

    return json_edit(change)


def _with_block(text: str, words: str, begin: str, head: str = "") -> str:
    if head and not text.strip():
        return marked_block.put(head, words, begin=begin) or head
    written = marked_block.put(text, words, title="" if head else TITLE, begin=begin)
    if written is None:
        raise HomeError(
            "scoped-memory:begin 与 scoped-memory:end 两行不成对",
            "the lines scoped-memory:begin and scoped-memory:end do not match",
        )
    return written


def _hook_edit(command: str) -> Edit:
    """Returns the edit of settings with hooks: one of a former run is changed in its place."""

    def change(content: dict[str, Any]) -> None:
        starts = member(member(content, "hooks", dict), "SessionStart", list)
        for hook in _our_hooks(starts):
            hook["command"] = command
            return
        starts.append({"hooks": [{"type": "command", "command": command}]})

    return json_edit(change)


def _our_hooks(starts: list[Any]) -> Iterator[dict[str, Any]]:
    """Yields the hooks of former runs."""
    for start in starts:
        listed = start.get("hooks") if isinstance(start, dict) else None
        for hook in listed if isinstance(listed, list) else []:
            command = hook.get("command") if isinstance(hook, dict) else None
            if (
                isinstance(command, str)
                and "llm_memory" in command
                and command.endswith(("primer", "primer --quiet"))
            ):
                yield hook


def primer_command(launch: Launch, platform: str = sys.platform) -> str:
    """Returns the command line that prints the primer, for the shell that runs hooks."""
    if platform == "win32":
        # cmd and the shells of Unix set variables differently: none is needed this way.
        variables = launch.variables
        steps = [f"os.environ['{name}']={_literal(value)}" for name, value in variables.items()]
        folder = variables.get("PYTHONPATH")
        steps += [f"sys.path.insert(0,{_literal(folder)})"] if folder else []
        code = ";".join(
            ["import os,sys,runpy", *steps, "runpy.run_module('llm_memory',run_name='__main__')"]
        )
        return f'"{launch.interpreter}" {_SAFE} -c "{code}" primer --quiet'
    settings = [f"{name}={shlex.quote(value)}" for name, value in launch.variables.items()]
    command = [_SAFE, "-m", "llm_memory", "primer", "--quiet"]
    return " ".join([*settings, shlex.quote(launch.interpreter), *command])


def _literal(text: str) -> str:
    """Returns Python for a text in which no shell finds a sign of its own inside double quotes."""
    return "'" + _SPECIAL.sub(lambda found: f"\\x{ord(found[0]):02x}", text) + "'"
