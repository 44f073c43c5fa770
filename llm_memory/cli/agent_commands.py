"""``primer``, ``search``, ``log``, ``read``, ``tasks``: what an agent's tools do, for people and
scripts, in the tools' own words, which are English."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..errors import HomeError
from ..mcp_server.answers import Answer
from ..mcp_server.tools import NOTHING_YET
from .agent_home import agent_home, tools_of
from .home_flags import read_settings, wants_json
from .messages import show, warn

_NAME = "scoped-memory"
"""What these commands are called as the program that asks."""


def content_of(args: argparse.Namespace) -> str:
    """Returns the content that is given, or standard input for ``-``. Raises HomeError."""
    if args.content != "-":
        return str(args.content)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise HomeError("cli.stdin", encoding=error.encoding) from error


def _with_reason(args: argparse.Namespace) -> str:
    content, why = content_of(args), getattr(args, "why", "")
    return f"{content}\n\n{why}" if why and content.strip() else content


_TOOLS: Final[Mapping[str, tuple[str, Callable[[argparse.Namespace], dict[str, Any]]]]] = {
    "primer": ("memory_primer", lambda _: {}),
    "search": ("memory_search", lambda args: {"query": args.query, "scope": args.level}),
    "log": ("memory_log", lambda args: {"content": _with_reason(args), "type": args.type}),
    "read": ("memory_read", lambda args: {"path": args.path}),
    "tasks": ("memory_update_tasks", lambda args: {"tasks_json": args.tasks_json}),
}


def run(args: argparse.Namespace) -> int:
    loaded = read_settings(args)
    home = agent_home(args, loaded)
    warn((*loaded.warnings, *home.warnings))
    only_looks = args.command == "tasks" and args.tasks_json is None
    tool, arguments_of = _TOOLS[args.command]
    arguments = arguments_of(args)  # before the store is opened: a person may be typing

    async def answered() -> Answer:
        tools = tools_of(home, loaded.settings)
        home.start()
        try:
            if only_looks:
                return await tools.open_tasks()
            return await tools.call(tool, arguments, _NAME)
        finally:
            await home.close()

    answer = asyncio.run(answered())
    if wants_json(args):
        show(json.dumps({"ok": not answer.failed, "text": answer.text}, ensure_ascii=False))
    elif not (getattr(args, "quiet", False) and answer.text == NOTHING_YET):
        show(answer.text, failed=answer.failed)
    return answer.code
