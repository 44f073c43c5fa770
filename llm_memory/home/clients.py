"""The files through which coding agents find the memory: the list of MCP servers, the text that the
agent reads, and the hooks at the start of a session and before each prompt."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ..errors import HomeError
from ..vault.markdown import marked_block
from .agent_words import RULE_HEAD, TITLE, block
from .file_changes import Change, Edit, planned
from .json_edit import json_edit, member
from .setting_values import Language

SERVER: Final = "scoped-memory"
_SAFE: Final = "-P"
"""Python's: a client starts us in the project's folder, whose modules must not come before ours."""
_ARGUMENTS: Final = ("-m", "llm_memory", "serve")
PRIMER: Final = "primer --quiet"
RECALL: Final = "recall --hook"
_OURS: Final = re.compile(
    r"(?:llm_memory|scoped-memory)\b.* (primer|recall)(?: --\w+)?$", re.DOTALL
)
_TIMEOUT: Final = 5
"""Seconds after which a client ends the hook before a prompt, which ends by itself before that."""
_SPECIAL: Final = re.compile(r"[\x00-\x1f!-,;-@\[-^`{-\x7f]")


@dataclass(frozen=True, slots=True)
class Launch:
    """How the memory is started.

    Attributes:
        interpreter: The Python that has what it needs.
        variables: What its environment must hold besides.
    """

    interpreter: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Client:
    """A program with a coding agent.

    Attributes:
        edits: Returns the edits of its files, by their paths in a project.
        signs: What shows that it is used in a project.
    """

    edits: Callable[[Launch, Language], dict[str, Edit]]
    signs: tuple[str, ...]


def mcp_json(launch: Launch, language: Language) -> dict[str, Edit]:
    """Returns the edits for Claude Code."""
    return {
        ".mcp.json": _server(launch),
        "CLAUDE.md": _words(language),
        **hooks(launch, language),
    }


def hooks(launch: Launch, _: Language) -> dict[str, Edit]:
    """Returns the edit for Claude Code without MCP: no definition of a tool is in its context."""
    at_start = _hook(launch, "SessionStart", PRIMER)
    return {".claude/settings.json": lambda text: _prompts(launch)(at_start(text))}


def codex(launch: Launch, _: Language) -> dict[str, Edit]:
    """Returns the edit for Codex CLI."""
    return {".codex/hooks.json": _prompts(launch)}


def gemini(launch: Launch, _: Language) -> dict[str, Edit]:
    """Returns the edit for Gemini CLI, which counts in milliseconds."""
    return {".gemini/settings.json": _prompts(launch, "BeforeAgent", timeout=_TIMEOUT * 1000)}


def cursor(launch: Launch, language: Language) -> dict[str, Edit]:
    """Returns the edits for Cursor."""
    rule = _words(language, RULE_HEAD)
    return {".cursor/mcp.json": _server(launch), ".cursor/rules/scoped-memory.mdc": rule}


def agents(_: Launch, language: Language) -> dict[str, Edit]:
    """Returns the edit for any program that reads AGENTS.md. It starts no server."""
    return {"AGENTS.md": _words(language)}


CLIENTS: Final[Mapping[str, Client]] = MappingProxyType(
    {
        "--claude": Client(mcp_json, (".mcp.json", ".claude", "CLAUDE.md")),
        "--cursor": Client(cursor, (".cursor",)),
        "--agents": Client(agents, ("AGENTS.md",)),
        "--codex": Client(codex, (".codex",)),
        "--gemini": Client(gemini, (".gemini",)),
        "--hooks": Client(hooks, ()),
    }
)
"""By their flags; the first is taken where none is recognised."""


def clients_of(root: Path) -> list[str]:
    """Returns the clients that a project's files show to be used there."""
    return [
        name
        for name, client in CLIENTS.items()
        if any((root / sign).exists() for sign in client.signs)
    ]


def plan_clients(
    root: Path, names: Collection[str], launch: Launch, language: Language
) -> list[Change]:
    """Plan the files of the named clients in a project's folder. Changes nothing.

    Raises:
        HomeError: a file cannot be changed without losing something.
    """
    edits = dict(edit for name in names for edit in CLIENTS[name].edits(launch, language).items())
    return [planned(root, relative, edit) for relative, edit in edits.items()]


def _server(launch: Launch) -> Edit:
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


def _words(language: Language, head: str = "") -> Edit:
    """Returns the edit that keeps the lines for the agent between two marks. ``head`` begins a new
    file."""
    begin = marked_block.BEGIN if language == "zh" else marked_block.BEGIN_ENGLISH

    def edit(text: str) -> str:
        new = head and not text.strip()
        written = marked_block.put(
            head if new else text, block(language), title="" if head else TITLE, begin=begin
        )
        if written is None:
            raise HomeError("rewrite.no_pair")
        return written

    return edit


def _prompts(launch: Launch, event: str = "UserPromptSubmit", timeout: int = _TIMEOUT) -> Edit:
    return _hook(launch, event, RECALL, timeout=timeout)


def _hook(launch: Launch, event: str, runs: str, **more: int) -> Edit:
    """Returns the edit of settings with hooks: one of a former run is changed in its place, and a
    person's own that runs the same stands for it."""
    command = hook_command(launch, runs)

    def change(content: dict[str, Any]) -> None:
        groups = member(member(content, "hooks", dict), event, list)
        lists = [group.get("hooks") for group in groups if isinstance(group, dict)]
        hooks = [hook for listed in lists if isinstance(listed, list) for hook in listed]
        same = [hook for hook in hooks if _run_by(hook) == runs.partition(" ")[0]]
        ours = next((hook for hook in same if "llm_memory" in hook["command"]), None)
        if ours is not None:
            ours["command"] = command
        elif not same:
            groups.append({"hooks": [{"type": "command", "command": command, **more}]})

    return json_edit(change)


def _run_by(hook: Any) -> str:
    """Returns which of ours a hook runs, ``primer`` or ``recall``; empty for none."""
    match hook:
        case {"command": str(command)}:
            found = _OURS.search(command)
            return found[1] if found else ""
    return ""


def hook_command(launch: Launch, runs: str, platform: str = sys.platform) -> str:
    """Returns the command line that runs one of ours, for the shell that runs hooks."""
    if platform == "win32":
        # cmd and the shells of Unix set variables differently: none is needed this way.
        variables = launch.variables
        steps = [f"os.environ['{name}']={_literal(value)}" for name, value in variables.items()]
        folder = variables.get("PYTHONPATH")
        steps += [f"sys.path.insert(0,{_literal(folder)})"] if folder else []
        code = ";".join(
            ["import os,sys,runpy", *steps, "runpy.run_module('llm_memory',run_name='__main__')"]
        )
        return f'"{launch.interpreter}" {_SAFE} -c "{code}" {runs}'
    settings = [f"{name}={shlex.quote(value)}" for name, value in launch.variables.items()]
    return " ".join([*settings, shlex.quote(launch.interpreter), _SAFE, "-m", "llm_memory", runs])


def _literal(text: str) -> str:
    """Returns Python for a text in which no shell finds a sign of its own inside double quotes."""
    return "'" + _SPECIAL.sub(lambda found: f"\\x{ord(found[0]):02x}", text) + "'"
