"""The command line: every command, its flags and its help. What runs a command is imported when it
runs, because an agent waits for ``serve`` to start. For the same reason a parser holds the codes of
its texts: ``_Help`` looks them up when help is shown."""

from __future__ import annotations

import argparse
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, NoReturn

from ..models.decisions import RecordFile
from ..models.settings import PrivacyMode
from .home_flags import setting_flags
from .messages import show, words
from .paths import plugin_version

_PROGRAM: Final = "scoped-memory"
_KINDS: Final = ("preference", "instruction", "entity", "decision", "pattern", "task", "journal")
_MOST_LISTED: Final = 1_000
_RECORD: Final = re.compile(r"(?:D-)?(\d{1,9})", re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"argument COMMAND: invalid choice: '(.*?)'")
_CODE: Final = re.compile(r"[a-z]+\.[a-z_]+")


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser. What it parses has ``run`` for a command over a bot's store and
    ``run_home`` for one over a home: a module of this package and its function."""
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    _flag(where, "--data", type=Path)
    _flag(where, "--memory", type=Path)
    parser = _Parser(
        prog=_PROGRAM if Path(sys.argv[0]).stem == _PROGRAM else "python -m llm_memory",
        parents=[where],  # before the command, and behind it
        description="about.program",
        epilog="about.exit_codes",
    )
    _flag(parser, "--version", action=_Version, nargs=0)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.names = commands.choices
    _add_transfer(_Commands(commands, "run", where))
    _add_souls(commands, where)
    at_home = _Commands(commands, "run_home", setting_flags())
    _add_setup(at_home)
    _add_tools(at_home)
    _add_corrections(at_home)
    _add_decisions(at_home)
    at_home.add("status", "status.status")
    one = at_home.add("index", "index.index", about="about.index")
    _switch(one, "--rebuild")
    return parser


class _Help(argparse.HelpFormatter):
    """Shows the text for each code. What is no code stands as it is."""

    def start_section(self, heading: str | None) -> None:
        super().start_section(_text_of(heading))

    def add_text(self, text: str | None) -> None:
        super().add_text(_text_of(text))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return _text_of(action.help)


def _text_of(code: str | None) -> str | None:
    return words(code) if code and _CODE.fullmatch(code) else code


class _Parser(argparse.ArgumentParser):
    """A parser that names the nearest command for one that it does not know."""

    names: Any = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, add_help=False, **settings)
        self.suggest_on_error = False  # newer versions of Python would name one, too
        _flag(self, "--help", "-h", action="help")

    def _check_help(self, action: argparse.Action) -> None:
        """Python 3.14 would look up each text here, to see whether it can be formatted."""

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN.match(message)
        for near in get_close_matches(unknown[1], self.names, 1) if unknown else ():
            message += "\n" + words("cli.did_you_mean", name=near)
        super().error(message)


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        show(f"{_PROGRAM} {plugin_version().removeprefix('v')}")
        parser.exit()


class _Commands:
    """The commands over one kind of store: what runs them stands under ``runs``, and all have the
    flags of ``flags``. ``within`` is the command whose actions they are."""

    def __init__(
        self, commands: Any, runs: str, flags: argparse.ArgumentParser, within: str = ""
    ) -> None:
        self._commands, self._runs, self._flags = commands, runs, flags
        self._within = within

    def add(self, name: str, run: str, *, about: str = "", **more: Any) -> Any:
        """Returns the parser of a new command. ``about`` is the code of a longer description."""
        does = "does." + f"{self._within}{name}".replace("-", "_")
        one = self._commands.add_parser(
            name, parents=[self._flags], help=does, description=about or does, **more
        )
        one.set_defaults(**{self._runs: run})
        return one


def _flag(one: Any, name: str, *names: str, text: str = "", **settings: Any) -> None:
    """Add a flag or an argument. ``text`` is the code of its help, if not that of its name."""
    code = text or "flag." + name.removeprefix("--").replace("-", "_")
    one.add_argument(*names, name, help=code, **settings)


def _switch(one: Any, name: str, text: str = "") -> None:
    _flag(one, name, text=text, action="store_true")


def _add_transfer(commands: _Commands) -> None:
    """Add the commands over a bot's whole store."""
    one = commands.add("export", "files.export", aliases=["backup"])
    _flag(one, "file", text="flag.export_file", type=Path, nargs="?")
    _flag(one, "--scope", action="append")
    one = commands.add("restore", "files.restore")
    _flag(one, "file", type=Path)
    _flag(one, "--scope", action="append")
    _switch(one, "--yes")
    _switch(one, "--anyway")
    one = commands.add("import", "files.import_")
    _flag(one, "file", type=Path)
    _flag(one, "--scope", text="flag.import_scope", required=True)
    _switch(one, "--anyway")
    _switch(one, "--new")
    _switch(one, "--keep-trust")
    _flag(one, "--privacy", choices=[mode.value for mode in PrivacyMode])
    one = commands.add("transcript", "transcript.transcript")
    _flag(one, "pointer", text="flag.memory_id")
    one = commands.add("migrate-scope", "migration.migrate_scope")
    ways = one.add_mutually_exclusive_group()
    _switch(ways, "--status")
    _switch(ways, "--dry-run")
    _switch(ways, "--reverse")
    _flag(ways, "--take-back", metavar="BATCH")


def _add_souls(commands: Any, where: argparse.ArgumentParser) -> None:
    """Add ``soul`` and its actions."""
    flags = argparse.ArgumentParser(
        add_help=False, parents=[where], argument_default=argparse.SUPPRESS
    )
    _flag(flags, "--role", text="flag.persona")
    _switch(flags, "--json")
    soul = _Commands(commands, "run", flags).add("soul", "soul.soul")
    soul.set_defaults(action="show", role="", json=False)
    actions = soul.add_subparsers(dest="action", metavar="ACTION")
    of_soul = _Commands(actions, "run", flags, within="soul_")
    for name in ("show", "propose", "diff", "apply", "veto", "undo", "log", "verify"):
        one = of_soul.add(name, "soul.soul")
        if name == "propose":
            _flag(one, "wish")
        elif name == "undo":
            _flag(one, "number", text="flag.soul_version", type=_number, nargs="?")
        elif name in ("diff", "apply", "veto"):
            _flag(one, "number", text="flag.proposal", type=_number, nargs="?")
    of_soul.add("adopt", "soul.soul")
    of_soul.add("discard", "soul.soul")


def _add_setup(commands: _Commands) -> None:
    """Add ``init``, ``config`` and ``serve``."""
    one = commands.add("init", "init.init", about="about.init")
    _switch(one, "--claude", text="flag.mcp_json")
    for name in ("--cursor", "--agents", "--codex", "--gemini", "--hooks", "--store"):
        _switch(one, name)
    _flag(one, "--adopt", type=Path, action="append", default=[], metavar="PATH")
    _switch(one, "--yes", text="flag.init_yes")
    _switch(one, "--dry-run")
    commands.add("config", "config.show_config", about="about.config")
    one = commands.add("serve", "serve.serve", about="about.serve")
    _flag(one, "--role", metavar="NAME")
    _flag(one, "--http", type=int, metavar="PORT")
    _flag(one, "--host", default="127.0.0.1")
    _add_bot_flags(one)


def _add_bot_flags(one: Any) -> None:
    """Add the flags that name a bot's store."""
    _flag(one, "--bot", type=Path, metavar="FOLDER")
    _flag(one, "--connect", metavar="HOST:PORT")
    _flag(one, "--token-file", type=Path, metavar="FILE")


def _add_tools(commands: _Commands) -> None:
    """Add the commands that do what a tool of the MCP server does."""

    def add(name: str) -> Any:
        one = commands.add(name, "agent_commands.run")
        _add_bot_flags(one)
        _flag(one, "--role", metavar="NAME")
        return one

    _switch(add("primer"), "--quiet")
    one = commands.add("recall", "hook.hook")
    _flag(one, "--hook", action="store_true", required=True)
    one = add("search")
    _flag(one, "query")
    _flag(one, "--level", choices=["all", "project", "global"])
    one = add("log")
    _flag(one, "content")
    _flag(one, "--type", choices=_KINDS)
    _flag(add("read"), "path")
    _flag(add("tasks"), "tasks_json", nargs="?")


def _record_number(text: str) -> int:
    """Returns the number in ``D-0007`` or ``7``. Raises ArgumentTypeError for any other text."""
    found = _RECORD.fullmatch(text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(words("cli.no_record"))
    return int(found[1])


def _number(text: str) -> int:
    """Returns a number of lines. Raises ArgumentTypeError for any other text."""
    if not text.isdecimal() or not 0 < int(text) <= _MOST_LISTED:
        raise argparse.ArgumentTypeError(words("cli.no_number", most=_MOST_LISTED))
    return int(text)


def _add_corrections(commands: _Commands) -> None:
    """Add what an owner does to single memories."""
    one = commands.add("list", "owner_commands.list_")
    _flag(one, "words", nargs="*")
    _flag(one, "--level", choices=["project", "global"])
    _flag(one, "--limit", type=_number, default=20)
    one = commands.add("forget", "owner_commands.correct")
    _flag(one, "ids", text="flag.memory_id", nargs="+", metavar="id")
    one = commands.add("edit", "owner_commands.correct")
    _flag(one, "ids", text="flag.memory_id", nargs=1, metavar="id")
    _flag(one, "content")
    one = commands.add("undo", "owner_commands.correct")
    _flag(one, "ids", text="flag.memory_id", nargs="+", metavar="id")
    one = commands.add("trust", "owner_commands.correct", about="about.trust")
    _flag(one, "ids", text="flag.memory_id", nargs="+", metavar="id")
    _switch(one, "--no")


def _add_decisions(commands: _Commands) -> None:
    """Add ``decide`` and its actions."""
    # What stands behind the action is read here, too: --pr is no short form of --project.
    decide = commands.add("decide", "decide.decide", allow_abbrev=False)
    actions = decide.add_subparsers(dest="action", required=True, metavar="ACTION")
    at_home = _Commands(actions, "run_home", setting_flags(), within="decide_")

    def writes(one: Any) -> None:
        _flag(one, "--by", default="")
        _switch(one, "--yes", text="flag.unseen")

    _switch(at_home.add("list", "decide.decide"), "--all")
    one = at_home.add("propose", "agent_commands.run")
    _flag(one, "content")
    _flag(one, "--why", default="")
    one.set_defaults(command="log", type="decision")
    for name in ("accept", "supersede"):
        one = at_home.add(name, "decide.decide")
        if name == "supersede":
            _flag(one, "number", type=_record_number)
        _flag(one, "id")
        _flag(one, "--issue", default="")
        _flag(one, "--pr", default="")
        files = [file.value for file in RecordFile]
        _flag(one, "--to", choices=files, default=files[0])
        _switch(one, "--anyway", text="flag.objected")
        writes(one)
    one = at_home.add("reject", "decide.decide")
    _flag(one, "id")
    _flag(one, "--why", default="")
    one = at_home.add("withdraw", "decide.decide")
    _flag(one, "number", type=_record_number)
    _flag(one, "--why", default="")
    writes(one)
