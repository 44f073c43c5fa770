"""``python -m llm_memory``, or ``scoped-memory``: a memory for coding agents, and whole stores out
of their files and into them.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from .cli.agent_parser import add_agent_commands, add_config, add_init, add_serve
from .cli.messages import MISUSED, Refusal, fail, fault_text, speak
from .cli.paths import NAME, find_store_of_bot
from .errors import (
    DirectoryInUse,
    EngineOff,
    FormatNewer,
    HomeError,
    ScopedMemoryError,
    TransferFailed,
)
from .home.setting_values import LANGUAGES, spoken
from .home.settings import PREFIX
from .models.said import Spoken
from .models.settings import PrivacyMode

_ANYWAY = "忘掉、改过、移走的也要 / also what was forgotten, edited or moved away since"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 nothing done, 2 wrong usage, 3 done but for some lines."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal without Chinese shows question marks
            stream.reconfigure(
                # Programs that start us read UTF-8, whatever the machine's console is set to.
                encoding=None if stream.isatty() else "utf-8",
                errors="replace",
            )
    speak(_language(arguments))
    parser = _parser()
    args = parser.parse_args(arguments, argparse.Namespace(data=None, memory=None))
    try:
        return _run(args)
    except HomeError as error:
        return fail(error.zh, str(error), code=MISUSED)
    except Refusal as refusal:
        return fail(str(refusal))
    except KeyboardInterrupt:
        return fail(
            "中断了；已写下的都在，再来一次会接着做 / interrupted; what was written stays, "
            "and the same command goes on"
        )
    except (ScopedMemoryError, OSError) as error:
        return fail(_message(error))


def _language(arguments: Sequence[str] | None) -> Spoken:
    """Returns the language of what is said before the settings are read: that of the flag, of the
    variable, or of the machine."""
    flag = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    flag.add_argument("--language", nargs="?")
    said = flag.parse_known_args(arguments)[0].language or os.environ.get(f"{PREFIX}LANGUAGE")
    return spoken(said if said in LANGUAGES else "auto")


def _message(error: Exception) -> str:
    """Why a command was not done."""
    match error:
        case EngineOff(code=code) if code != "directory_in_use":
            return f"打不开 / cannot be opened: {error}"
        case DirectoryInUse() | EngineOff():
            return (
                "机器人正开着这个数据文件夹；请先停下机器人（或在面板里停用插件）再来，或者用 "
                "/memory export、/memory import。 / The bot has this data folder open. Stop it (or "
                "switch the plugin off) first, or use /memory export and /memory import."
            )
        case FormatNewer():
            return f"是更新的版本写的 / written by a newer version: {error}"
        case TransferFailed():
            return fault_text(error.code, error.detail)
        case _:
            return f"没有做完 / not done: {error}"


def _run(args: argparse.Namespace) -> int:
    """What runs a command is imported now: some need a whole engine, some must start at once."""
    if "run_home" in args:  # a command of a home of its own, apart from any bot's folders
        at_home: Callable[[argparse.Namespace], int] = _function(args.run_home)
        return at_home(args)
    makes = args.run in ("files.restore", "files.import_")
    store = find_store_of_bot(args.data, args.memory, must_exist=not makes)
    command: Callable[[argparse.Namespace, object], int] = _function(args.run)
    return command(args, store)


def _function(name: str) -> Any:
    """Returns a function by the module of ``cli/`` and its name."""
    module, _, function = name.partition(".")
    return getattr(importlib.import_module(f".cli.{module}", __package__), function)


def _program() -> str:
    """How this was called: the installed command, or the package."""
    name = Path(sys.argv[0]).stem
    return name if name == "scoped-memory" else "python -m llm_memory"


def _parser() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    where.add_argument(
        "--data", type=Path, help="数据文件夹 / the data folder: data/plugin_data/" + NAME
    )
    where.add_argument(
        "--memory", type=Path, help="记忆文件夹在别处时 / where memory_root lies elsewhere"
    )
    parser = argparse.ArgumentParser(
        prog=_program(),
        parents=[where],  # before the command, and behind it
        description="忆域。编程助手用的记忆：init、config、serve、primer、search、log、read、tasks、"
        "index、trust（docs/mcp.md）。整个记忆库：export、restore、import、migrate-scope，"
        "先停下机器人，在插件的文件夹里运行（docs/transfer.md）。 / Scoped Memory. For coding "
        "agents: init, config, serve, primer, search, log, read, tasks, index, trust "
        "(docs/mcp.md). Whole stores: export, restore, import, migrate-scope. Stop the bot "
        "first, and run it in the plugin's folder (docs/transfer.md).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "export",
        aliases=["backup"],
        parents=[where],
        help="整个记忆库和设置到一个文件 / a whole store and the settings into one file",
    )
    one.add_argument("file", type=Path, nargs="?", help="默认在 exports/ / in exports/ by default")
    one.add_argument("--scope", action="append", help="只要这个域，可重复 / this scope alone")
    one.set_defaults(run="files.export")
    one = commands.add_parser(
        "restore",
        parents=[where],
        help="原样放回：域、文件、编号都不变，不过关卡 / put back as it was, past gate and privacy",
    )
    one.add_argument("file", type=Path)
    one.add_argument("--scope", action="append", help="只放回这个域，可重复 / this scope alone")
    one.add_argument("--yes", action="store_true", help="不问，直接放回 / do not ask")
    one.add_argument("--anyway", action="store_true", help=_ANYWAY)
    one.set_defaults(run="files.restore")
    one = commands.add_parser(
        "import",
        parents=[where],
        help="并入一个域，过关卡和隐私，去重 / into one scope, through gate and privacy",
    )
    one.add_argument("file", type=Path)
    one.add_argument("--scope", required=True, help="并入哪个域 / which scope")
    one.add_argument("--anyway", action="store_true", help=_ANYWAY)
    one.add_argument("--new", action="store_true", help="这个域可以是新的 / the scope may be new")
    one.add_argument(
        "--keep-trust",
        action="store_true",
        help="文件里写着可信的仍算可信 / what the file calls trusted stays trusted",
    )
    one.add_argument(
        "--privacy",
        choices=[mode.value for mode in PrivacyMode],
        help="默认按面板的设置 / the panel's setting by default",
    )
    one.set_defaults(run="files.import_")
    one = commands.add_parser(
        "migrate-scope",
        parents=[where],
        help="旧记忆收到哪里了，还原，收回 / how far old memories are; reverse, take back",
    )
    ways = one.add_mutually_exclusive_group()
    ways.add_argument("--status", action="store_true", help="到哪里了（默认）/ how far (default)")
    ways.add_argument("--dry-run", action="store_true", help="只算不做 / numbers alone")
    ways.add_argument(
        "--reverse",
        action="store_true",
        help="旧集合里的每一条恢复原来的元数据 / give each record its former metadata back",
    )
    ways.add_argument(
        "--take-back", metavar="BATCH", help="收回一批收进来的 / take a batch out of the vault"
    )
    one.set_defaults(run="migration.migrate_scope")
    add_init(commands)
    add_config(commands)
    add_serve(commands)
    add_agent_commands(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
