"""The commands of coding agents and their owners, as the parser knows them. What runs them is
imported when they run: an agent waits for ``serve`` to start."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .home_flags import setting_flags


def add_serve(commands: Any) -> None:
    """Add the command to a parser's."""
    one = commands.add_parser(
        "serve",
        parents=[setting_flags()],
        help="给编程助手用的 MCP 服务 / the MCP server for coding agents",
        description="MCP 服务，经 stdin/stdout；编程助手自己会启动它（见 init）。 / The MCP server "
        "over stdin and stdout; a coding agent starts it by itself (see init). docs/mcp.md",
    )
    one.add_argument("--http", type=int, metavar="PORT", help="改用 HTTP / over HTTP instead")
    one.add_argument("--host", default="127.0.0.1", help="HTTP 的地址 / HTTP's address")
    one.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="HTTP 或 --connect 的令牌 / the bearer token of HTTP, or of --connect",
    )
    _bot_flags(one)
    one.set_defaults(run_home="serve.serve")


def _bot_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a bot's store."""
    parser.add_argument(
        "--bot",
        type=Path,
        metavar="FOLDER",
        help="用机器人的记忆：它的数据文件夹；机器人要开着 advanced.mcp_share / a bot's memory, by "
        "its data folder; advanced.mcp_share has to be on",
    )
    parser.add_argument(
        "--connect",
        metavar="HOST:PORT",
        help="用别处机器人的记忆，配 --token-file / a bot's memory elsewhere, with --token-file",
    )


def add_agent_commands(commands: Any) -> None:
    """Add the commands to a parser's."""
    one = _command(commands, "primer", "开场摘要 / what a session begins with")
    one.add_argument("--quiet", action="store_true", help="没有记忆时不作声 / silent without any")
    one = _command(commands, "search", "找记忆 / find memories")
    one.add_argument("query", help="找什么 / what to look for")
    one.add_argument("--level", choices=["all", "project", "global"], help="哪一级 / which level")
    one = _command(commands, "log", "记一条 / store one fact")
    one.add_argument("content", help="一句完整的话，- 从标准输入读 / a sentence, - reads stdin")
    one.add_argument(
        "--type", help="preference, instruction, entity, decision, pattern, task, journal"
    )
    one = _command(commands, "read", "读全文 / read in full")
    one.add_argument("path", help="出处，或 project/decisions.md:10-40 / a pointer or a path")
    one = _command(commands, "tasks", "任务 / tasks")
    one.add_argument(
        "tasks_json",
        nargs="?",
        help='[{"title","status":"open|done"}]，默认只列出 / lists by default',
    )


def _command(commands: Any, name: str, words: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name, parents=[setting_flags()], help=words, description=words
    )
    one.add_argument("--token-file", help=argparse.SUPPRESS)
    _bot_flags(one)
    one.set_defaults(run_home="agent_commands.run")
    return one
