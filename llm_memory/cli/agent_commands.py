"""``primer``, ``search``, ``log``, ``read``, ``tasks``: what an agent's tools do, for people and
scripts."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from ..mcp_server.texts import Texts
from ..mcp_server.tools import Answer, MemoryTools
from .agent_home import agent_home, levels_of
from .home_flags import read_settings, setting_flags, wants_json
from .messages import DONE, FAILED, fail, say
from .serve import add_bot_flags

_NAME = "scoped-memory"
"""What these commands are called as the program that asks."""


def add_agent_commands(commands: Any) -> None:
    """Add the commands to a parser's."""
    one = _command(commands, "primer", "开场摘要 / what a session begins with", _primer)
    one.add_argument("--quiet", action="store_true", help="没有记忆时不作声 / silent without any")
    one = _command(commands, "search", "找记忆 / find memories", _search)
    one.add_argument("query", help="找什么 / what to look for")
    one.add_argument("--level", choices=["all", "project", "global"], help="哪一级 / which level")
    one = _command(commands, "log", "记一条 / store one fact", _log)
    one.add_argument("content", help="一句完整的话，- 从标准输入读 / a sentence, - reads stdin")
    one.add_argument(
        "--type", help="preference, instruction, entity, decision, pattern, task, journal"
    )
    one = _command(commands, "read", "读全文 / read in full", _read)
    one.add_argument("path", help="出处，或 project/decisions.md:10-40 / a pointer or a path")
    one = _command(commands, "tasks", "任务 / tasks", _tasks)
    one.add_argument(
        "tasks_json",
        nargs="?",
        help='[{"title","status":"open|done"}]，默认只列出 / lists by default',
    )


def _command(
    commands: Any, name: str, words: str, arguments: Callable[[argparse.Namespace], dict[str, Any]]
) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name, parents=[setting_flags()], help=words, description=words
    )
    one.add_argument("--token-file", help=argparse.SUPPRESS)
    add_bot_flags(one)
    one.set_defaults(run_home=_run, arguments=arguments)
    return one


def _primer(_: argparse.Namespace) -> dict[str, Any]:
    return {}


def _search(asked: argparse.Namespace) -> dict[str, Any]:
    return {"query": asked.query, "scope": asked.level}


def _log(asked: argparse.Namespace) -> dict[str, Any]:
    content = sys.stdin.read() if asked.content == "-" else asked.content
    return {"content": content, "type": asked.type}


def _read(asked: argparse.Namespace) -> dict[str, Any]:
    return {"path": asked.path}


def _tasks(asked: argparse.Namespace) -> dict[str, Any]:
    return {"tasks_json": asked.tasks_json}


_TOOLS = {
    "primer": "memory_primer",
    "search": "memory_search",
    "log": "memory_log",
    "read": "memory_read",
    "tasks": "memory_update_tasks",
}


def _run(asked: argparse.Namespace) -> int:
    loaded = read_settings(asked)
    for warning in loaded.warnings:
        sys.stderr.write(f"{warning}\n")
    home = agent_home(asked, loaded.settings)
    texts = Texts.of(loaded.settings.language)

    async def answered() -> Answer:
        tools = MemoryTools(
            levels_of(home),
            texts,
            max_tokens=loaded.settings.max_tokens,
            primer_tokens=loaded.settings.primer_tokens,
        )
        home.start()
        try:
            arguments = asked.arguments(asked)
            if asked.command == "tasks" and asked.tasks_json is None:
                return await tools.open_tasks()
            return await tools.call(_TOOLS[asked.command], arguments, _NAME)
        finally:
            await home.close()

    answer = asyncio.run(answered())
    if wants_json(asked):
        say(json.dumps({"ok": not answer.failed, "text": answer.text}, ensure_ascii=False))
    elif answer.failed:
        return fail(answer.text)
    elif not (getattr(asked, "quiet", False) and answer.text == texts.say("empty")):
        say(answer.text)
    return FAILED if answer.failed else DONE
