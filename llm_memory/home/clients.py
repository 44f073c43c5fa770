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

from ..vault.markdown import marked_block
from .agent_words import RULE_HEAD, TITLE, block
from .file_changes import Change, Edit, planned
from .json_splice import NotMergeable, parse, put
from .setting_values import Language

SERVER: Final = "scoped-memory"
_SAFE: Final = "-P"
"""Python's: a client starts us in the project's folder, whose modules must not come before ours."""
_ARGUMENTS: Final = ("-m", "llm_memory", "serve")
_HOOKS: Final = ("hooks", "SessionStart")
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
    entry = json.dumps({SERVER: _entry(launch)}, ensure_ascii=False)
    server = partial(_with_server, launch=launch), entry
    begin = marked_block.BEGIN if language == "zh" else marked_block.BEGIN_ENGLISH
    text = partial(_with_block, words=words, begin=begin), words
    rule = partial(_with_block, words=words, begin=begin, head=RULE_HEAD), words
    start = partial(_with_hook, command=command), f"SessionStart: {command}"
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


def _entry(launch: Launch) -> dict[str, object]:
    env = {"env": dict(launch.variables)} if launch.variables else {}
    return {"command": launch.interpreter, "args": [_SAFE, *_ARGUMENTS], **env}


def _with_server(text: str, launch: Launch) -> str:
    """A person's own arguments, variables and switches stay. Raises NotMergeable."""
    path = ("mcpServers", SERVER)
    found = _object_at(parse(text), path)
    if found is None:
        return put(text, path, _entry(launch))
    text = put(text, (*path, "command"), launch.interpreter)
    arguments = found.get("args")
    own = [one for one in arguments if one != _SAFE] if isinstance(arguments, list) else []
    wanted = [_SAFE, *(own if tuple(own[:3]) == _ARGUMENTS else _ARGUMENTS)]
    if arguments != wanted:
        text = put(text, (*path, "args"), wanted)
    for name, value in launch.variables.items():
        text = put(text, (*path, "env", name), value)
    return text


def _object_at(content: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
    """Raises NotMergeable if something else stands on the way."""
    for name in ("", *path):
        if name:
            if name not in content:
                return None
            content = content[name]
        if not isinstance(content, dict):
            raise NotMergeable(f"{name or 'JSON'} 不是对象，不改 / is no object")
    found: dict[str, Any] = content
    return found


def _with_block(text: str, words: str, begin: str, head: str = "") -> str:
    """Raises NotMergeable."""
    if head and not text.strip():
        return marked_block.put(head, words, begin=begin) or head
    written = marked_block.put(text, words, title="" if head else TITLE, begin=begin)
    if written is None:
        raise NotMergeable(
            "scoped-memory:begin 与 scoped-memory:end 两行不成对 / the lines scoped-memory:begin "
            "and scoped-memory:end do not match"
        )
    return written


def _with_hook(text: str, command: str) -> str:
    """Raises NotMergeable."""
    content = parse(text)
    hooks = _object_at(content, _HOOKS[:1]) or {}
    starts = hooks.get(_HOOKS[1], [])
    if not isinstance(starts, list):
        raise NotMergeable(f"{_HOOKS[1]} 不是列表，不改 / is no list")
    for place in _our_commands(starts):
        return put(text, (*_HOOKS, *place), command)
    entry = {"hooks": [{"type": "command", "command": command}]}
    return put(text, (*_HOOKS, len(starts)), entry)


def _our_commands(starts: list[Any]) -> Iterator[tuple[str | int, ...]]:
    """Where hooks of former runs have their command."""
    for number, start in enumerate(starts):
        listed = start.get("hooks") if isinstance(start, dict) else None
        for place, hook in enumerate(listed if isinstance(listed, list) else []):
            command = hook.get("command") if isinstance(hook, dict) else None
            if (
                isinstance(command, str)
                and "llm_memory" in command
                and command.endswith(("primer", "primer --quiet"))
            ):
                yield number, "hooks", place, "command"


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
