"""The commands of coding agents and their owners, as the parser knows them. What runs them is
imported when they run: an agent waits for ``serve`` to start."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .home_flags import setting_flags

TYPES = ("preference", "instruction", "entity", "decision", "pattern", "task", "journal")


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
    one.add_argument("--type", choices=TYPES, help="归到哪里 / where it is filed")
    one = _command(commands, "read", "读全文 / read in full")
    one.add_argument("path", help="出处，或 project/decisions.md:10-40 / a pointer or a path")
    one = _command(commands, "tasks", "任务 / tasks")
    one.add_argument(
        "tasks_json",
        nargs="?",
        help='[{"title","status":"open|done"}]，默认只列出 / lists by default',
    )
    _add_owners_commands(commands)


def _add_owners_commands(commands: Any) -> None:
    """What an owner does beside the agents."""
    one = commands.add_parser(
        "index",
        parents=[setting_flags()],
        help="把索引补到和文件一样 / bring the indexes up to the files",
        description="把词语和向量的索引补到和文件一样，说明各有多少。平时不用运行：serve 自己会"
        "跟上。退出码：0 做完，1 没有做（别的程序开着它），3 只有向量没有做完。 / Bring the "
        "indexes of words and vectors up to the files, and count them. serve does so by itself. "
        "Exit codes: 0 done, 1 nothing done (another program has it open), 3 all but the vectors.",
    )
    one.add_argument(
        "--rebuild",
        action="store_true",
        help="先删掉索引再建，算过的向量留着 / from nothing; vectors that were computed are kept",
    )
    one.set_defaults(run_home="index.index")
    one = commands.add_parser(
        "trust",
        parents=[setting_flags()],
        help="认可编程助手记下的一条 / vouch for what an agent logged",
        description="认可编程助手记下的一条：它算你说的。是长期指示的话，移到 instructions.md，开场"
        "摘要里就当指示。改的是 Markdown 文件，服务开着也行。 / Vouch for a memory that an agent "
        "logged: it counts as yours. A standing instruction moves to instructions.md, and the "
        "primer gives it as a rule. This edits the Markdown file, whether or not a server runs.",
    )
    one.add_argument("id", help="编号或出处 / its id or pointer: m-01…, global/entities.md#m-01…")
    one.add_argument("--no", action="store_true", help="收回认可 / take the voucher back")
    one.set_defaults(run_home="trust.trust")


def _command(commands: Any, name: str, words: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name, parents=[setting_flags()], help=words, description=words
    )
    one.add_argument("--token-file", type=Path, help=argparse.SUPPRESS)
    _bot_flags(one)
    one.set_defaults(run_home="agent_commands.run")
    return one


def add_init(commands: Any) -> None:
    """Add the command to a parser."""
    one = commands.add_parser(
        "init",
        parents=[setting_flags()],
        help="编程助手的记忆：建好，并让它们找得到 / memory for coding agents: set it up",
        description="建好记忆的家，并在当前项目里让编程助手找得到它。不写客户端就看用着哪些。"
        "原有的内容不丢，改前留 .bak，再运行一次什么也不变。 / Make the home, and have the coding "
        "agents of this project find it. Without a client it looks which are used. Nothing that is "
        "there is lost, a .bak is kept, and a second run changes nothing.",
    )
    one.add_argument(
        "--claude",
        action="store_true",
        help="Claude Code：.mcp.json、CLAUDE.md、会话开始时的摘要 / and the primer at the start",
    )
    one.add_argument(
        "--cursor", action="store_true", help="Cursor：.cursor/mcp.json、.cursor/rules/"
    )
    one.add_argument(
        "--agents", action="store_true", help="AGENTS.md：只写怎么用 / how to use it, alone"
    )
    one.add_argument(
        "--store",
        action="store_true",
        help="项目的记忆放在项目里，可以提交 / the project's memories lie in it, to be committed",
    )
    one.add_argument(
        "--adopt",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="收下以前的 .openclaw_memory，只读它，可重复 / take in a former one, only read",
    )
    one.add_argument(
        "--dry-run", action="store_true", help="只说会做什么 / say what would be done, do nothing"
    )
    one.set_defaults(run_home="init.init")


def add_config(commands: Any) -> None:
    """Add the command to a parser."""
    one = commands.add_parser(
        "config",
        parents=[setting_flags()],
        help="编程助手的记忆：每项设置的值和来处 / each setting, its value and where it comes from",
        description="每项设置的值和来处。后面的盖过前面的：默认、家里的 config.toml、项目的 "
        ".scoped-memory/config.toml、环境变量 SCOPED_MEMORY_<KEY>、命令行。 / Each setting, its "
        "value and origin. The later wins: default, the home's config.toml, the project's "
        ".scoped-memory/config.toml, the environment (SCOPED_MEMORY_<KEY>), flags.",
    )
    one.set_defaults(run_home="config.show_config")
