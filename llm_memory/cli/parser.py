"""The command line: every command, its flags and its help. What runs a command is imported when it
runs, because an agent waits for ``serve`` to start."""

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
from .messages import say, words
from .paths import NAME, plugin_version

_PROGRAM: Final = "scoped-memory"
_KINDS: Final = ("preference", "instruction", "entity", "decision", "pattern", "task", "journal")
_MOST_LISTED: Final = 1_000
_RECORD: Final = re.compile(r"(?:D-)?(\d{1,9})", re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"argument COMMAND: invalid choice: '(.*?)'")


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser. What it parses has ``run`` for a command over a bot's store and
    ``run_home`` for one over a home: a module of this package and its function."""
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    _flag(where, "--data", "数据文件夹", f"the data folder: data/plugin_data/{NAME}", type=Path)
    _flag(where, "--memory", "记忆文件夹在别处时", "where memory_root lies elsewhere", type=Path)
    parser = _Parser(
        prog=_PROGRAM if Path(sys.argv[0]).stem == _PROGRAM else "python -m llm_memory",
        parents=[where],  # before the command, and behind it
        description=words(
            "忆域。编程助手和它们的主人用的命令见 docs/mcp.md。整个记忆库：export、restore、"
            "import、migrate-scope，先停下机器人，在插件的文件夹里运行，见 docs/transfer.md。"
            "说话习惯：soul，见 docs/soul.md。",
            "Scoped Memory. The commands for coding agents and for their owner: docs/mcp.md. Whole "
            "stores (export, restore, import, migrate-scope): stop the bot first, and run them in "
            "the plugin's folder, see docs/transfer.md. Manner (soul): docs/soul.md.",
        ),
        epilog=words(
            "退出码：0 做完，1 没有做，2 用法或输入不对，3 只做了一部分",
            "exit codes: 0 done, 1 nothing done, 2 wrong usage or input, 3 done in part",
        ),
    )
    _flag(parser, "--version", "版本号", "print the version", action=_Version, nargs=0)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parser.names = commands.choices
    _add_transfer(_Commands(commands, "run", where))
    _add_souls(commands, where)
    at_home = _Commands(commands, "run_home", setting_flags())
    _add_setup(at_home)
    _add_tools(at_home)
    _add_corrections(at_home)
    _add_decisions(at_home)
    _add_owners(at_home)
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that names the nearest command for one that it does not know."""

    names: Any = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.suggest_on_error = False  # newer versions of Python would name one, too

    def error(self, message: str) -> NoReturn:
        unknown = _UNKNOWN.match(message)
        for near in get_close_matches(unknown[1], self.names, 1) if unknown else ():
            message += "\n" + words(f"是不是 {near}？", f"did you mean {near}?")
        super().error(message)


class _Version(argparse.Action):
    """Looks the version up when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        say(f"{_PROGRAM} {plugin_version().removeprefix('v')}")
        parser.exit()


class _Commands:
    """The commands over one kind of store: what runs them stands under ``runs``, and all have the
    flags of ``flags``."""

    def __init__(self, commands: Any, runs: str, flags: argparse.ArgumentParser) -> None:
        self._commands, self._runs, self._flags = commands, runs, flags

    def add(self, name: str, run: str, zh: str, en: str, *about: str, **more: Any) -> Any:
        """Returns the parser of a new command. ``about`` is a longer description, in both."""
        text = words(*about) if about else words(zh, en)
        flags = [self._flags]
        one = self._commands.add_parser(
            name, parents=flags, help=words(zh, en), description=text, **more
        )
        one.set_defaults(**{self._runs: run})
        return one


def _flag(one: Any, name: str, zh: str, en: str, **settings: Any) -> None:
    one.add_argument(name, help=words(zh, en), **settings)


def _switch(one: Any, name: str, zh: str, en: str) -> None:
    _flag(one, name, zh, en, action="store_true")


def _add_transfer(commands: _Commands) -> None:
    """Add the commands over a bot's whole store."""
    anyway = ("忘掉、改过、移走的也要", "also what was forgotten, edited or moved away since")
    out = ("整个记忆库和设置到一个文件", "a whole store and the settings into one file")
    one = commands.add("export", "files.export", *out, aliases=["backup"])
    _flag(one, "file", "默认在 exports/", "in exports/ by default", type=Path, nargs="?")
    _flag(one, "--scope", "只要这个域，可重复", "this scope alone", action="append")
    back = ("原样放回：域、文件、编号都不变，不过关卡", "put back as it was, past gate and privacy")
    one = commands.add("restore", "files.restore", *back)
    one.add_argument("file", type=Path)
    _flag(one, "--scope", "只放回这个域，可重复", "this scope alone", action="append")
    _switch(one, "--yes", "不问，直接放回", "do not ask")
    _switch(one, "--anyway", *anyway)
    into = ("并入一个域，过关卡和隐私，去重", "into one scope, through gate and privacy")
    one = commands.add("import", "files.import_", *into)
    one.add_argument("file", type=Path)
    _flag(one, "--scope", "并入哪个域", "which scope", required=True)
    _switch(one, "--anyway", *anyway)
    _switch(one, "--new", "这个域可以是新的", "the scope may be new")
    _switch(one, "--keep-trust", "文件里写着可信的仍算可信", "what it calls trusted stays trusted")
    privacy = [mode.value for mode in PrivacyMode]
    _flag(one, "--privacy", "默认按面板的设置", "the panel's setting by default", choices=privacy)
    talk = (
        "一条记忆出自哪段对话，机器人开着也行",
        "the talk a memory came from, bot running or not",
    )
    one = commands.add("transcript", "transcript.transcript", *talk)
    _flag(one, "pointer", "编号或出处", "its id or pointer: m-01…, entities.md#m-01…")
    old = ("旧记忆收到哪里了，还原，收回", "how far old memories are; reverse, take back")
    one = commands.add("migrate-scope", "migration.migrate_scope", *old)
    ways = one.add_mutually_exclusive_group()
    _switch(ways, "--status", "到哪里了（默认）", "how far (default)")
    _switch(ways, "--dry-run", "只算不做", "numbers alone")
    former = ("旧集合里的每一条恢复原来的元数据", "give each record its former metadata back")
    _switch(ways, "--reverse", *former)
    _flag(ways, "--take-back", "收回一批收进来的", "take a batch out of the vault", metavar="BATCH")


def _add_souls(commands: Any, where: argparse.ArgumentParser) -> None:
    """Add ``soul`` and its actions."""
    flags = argparse.ArgumentParser(
        add_help=False, parents=[where], argument_default=argparse.SUPPRESS
    )
    _flag(flags, "--role", "哪个人格，不写是没有人格时", "which persona, none by default")
    _switch(flags, "--json", "输出 JSON", "print JSON")
    about = ("人格学到的说话习惯，默认只看", "the manner a persona has learned, shown by default")
    soul = _Commands(commands, "run", flags).add("soul", "soul.soul", *about)
    of_soul = _Commands(soul.add_subparsers(dest="action", metavar="ACTION"), "run", flags)
    soul.set_defaults(action="show", role="", json=False)

    def add(name: str, zh: str, en: str) -> Any:
        return of_soul.add(name, "soul.soul", zh, en)

    add("show", "正在用的、等着的、不对的（默认）", "what is in force, waits, is wrong (default)")
    one = add("propose", "提议一种说话方式", "wish for a manner")
    _flag(one, "wish", "想要的说话方式，一句话", "the manner, in a sentence")
    open_one = ("提议的编号，不写是等着的那个", "a proposal's number, else the one that waits")
    for name, zh, en in (
        ("diff", "一个提议改了什么", "what a proposal changes"),
        ("apply", "只按规则评估，然后生效", "evaluate by the rules alone, put it in force"),
        ("veto", "否决；正在用的就退回", "end a proposal; if in force, give back what was before"),
    ):
        _flag(add(name, zh, en), "number", *open_one, type=_number, nargs="?")
    one = add("rollback", "退回以前的一版", "give an earlier version back")
    version = ("第几版，不写是上一版", "its number, else the one before")
    _flag(one, "number", *version, type=_number, nargs="?")
    add("log", "变更记录", "the record of changes")
    add("verify", "记录、各版本、SOUL.md 对得上吗", "whether record, versions and SOUL.md agree")
    add("adopt", "收下手改的 SOUL.md", "put a SOUL.md that was edited by hand in force")
    add("discard", "丢弃手改的，留一份", "drop what was edited by hand, and keep a copy")


def _add_setup(commands: _Commands) -> None:
    """Add ``init``, ``config`` and ``serve``."""
    one = commands.add(
        "init", "init.init",
        "编程助手的记忆：建好，并让它们找得到", "memory for coding agents: set it up",
        "建好记忆的家，并在当前项目里让编程助手找得到它。不写客户端就看用着哪些。原有的内容不丢，"
        "改前留 .bak，再运行一次什么也不变。",
        "Make the home, and have the coding agents of this project find it. Without a client it "
        "looks which are used. Nothing that is there is lost, a .bak is kept, and a second run "
        "changes nothing.",
    )  # fmt: skip
    files = "Claude Code: .mcp.json, CLAUDE.md"
    _switch(one, "--claude", f"{files}、两个钩子", f"{files}, two hooks")
    files = "Cursor: .cursor/mcp.json, .cursor/rules/"
    _switch(one, "--cursor", files, files)
    _switch(one, "--agents", "AGENTS.md：只写怎么用", "AGENTS.md: how to use it, alone")
    _switch(one, "--codex", "Codex：提问前的钩子", "Codex: the hook before prompts")
    _switch(one, "--gemini", "Gemini CLI：提问前的钩子", "Gemini CLI: the hook before prompts")
    _switch(one, "--hooks", "Claude Code：只要钩子，不用 MCP", "Claude Code: hooks alone, no MCP")
    store = ("项目的记忆放在项目里，可以提交", "the project's memories lie in it, to be committed")
    _switch(one, "--store", *store)
    adopt = ("收下以前的 .openclaw_memory，只读它，可重复", "take in a former one, only read")
    _flag(one, "--adopt", *adopt, type=Path, action="append", default=[], metavar="PATH")
    _switch(one, "--yes", "记忆放在项目外面时不问", "do not ask where memories lie outside it")
    _switch(one, "--dry-run", "只说会做什么", "say what would be done, do nothing")
    commands.add(
        "config", "config.show_config",
        "编程助手的记忆：每项设置的值和来处", "each setting, its value and where it comes from",
        "每项设置的值和来处。后面的盖过前面的：默认、家里的 config.toml、项目的 "
        ".scoped-memory/config.toml、环境变量 SCOPED_MEMORY_<KEY>、命令行。",
        "Each setting, its value and origin. The later wins: default, the home's config.toml, the "
        "project's .scoped-memory/config.toml, the environment (SCOPED_MEMORY_<KEY>), flags.",
    )  # fmt: skip
    one = commands.add(
        "serve", "serve.serve",
        "给编程助手用的 MCP 服务", "the MCP server for coding agents",
        "MCP 服务，经 stdin/stdout；编程助手自己会启动它（见 init）。docs/mcp.md",
        "The MCP server over stdin and stdout; a coding agent starts it by itself (see init). "
        "docs/mcp.md",
    )  # fmt: skip
    _add_role(one)
    _flag(one, "--http", "改用 HTTP", "over HTTP instead", type=int, metavar="PORT")
    _flag(one, "--host", "HTTP 的地址", "HTTP's address", default="127.0.0.1")
    _add_bot_flags(one)


def _add_bot_flags(one: Any) -> None:
    """Add the flags that name a bot's store."""
    _flag(
        one, "--bot",
        "用机器人的记忆：它的数据文件夹；机器人要开着 advanced.mcp_share",
        "a bot's memory, by its data folder; advanced.mcp_share has to be on",
        type=Path, metavar="FOLDER",
    )  # fmt: skip
    elsewhere = (
        "用别处机器人的记忆，配 --token-file",
        "a bot's memory elsewhere, with --token-file",
    )
    _flag(one, "--connect", *elsewhere, metavar="HOST:PORT")
    token = ("--connect 或 --http 的令牌", "the token of --connect, or of --http")
    _flag(one, "--token-file", *token, type=Path, metavar="FILE")


def _add_role(one: Any) -> None:
    _flag(one, "--role", "项目的一个角色", "a role of the project", metavar="NAME")


def _add_tools(commands: _Commands) -> None:
    """Add the commands that do what a tool of the MCP server does."""

    def add(name: str, zh: str, en: str) -> Any:
        one = commands.add(name, "agent_commands.run", zh, en)
        _add_bot_flags(one)
        _add_role(one)
        return one

    one = add("primer", "开场摘要", "what a session begins with")
    _switch(one, "--quiet", "没有记忆时不作声", "silent without any")
    before = ("编程助手提问前的钩子；找记忆用 search", "a hook before prompts; to look, use search")
    one = commands.add("recall", "hook.hook", *before)
    said = ("从标准输入读客户端的 JSON", "reads the client's JSON from stdin")
    _flag(one, "--hook", *said, action="store_true", required=True)
    one = add("search", "找记忆", "find memories")
    _flag(one, "query", "找什么", "what to look for")
    _flag(one, "--level", "哪一级", "which level", choices=["all", "project", "global"])
    one = add("log", "记一条", "store one fact")
    _flag(one, "content", "一句完整的话，- 从标准输入读", "a sentence, - reads stdin")
    _flag(one, "--type", "归到哪里", "where it is filed", choices=_KINDS)
    one = add("read", "读全文", "read in full")
    _flag(one, "path", "出处，或 project/decisions.md:10-40", "a pointer or a path")
    one = add("tasks", "任务", "tasks")
    form = '[{"title","status":"open|done"}]'
    _flag(one, "tasks_json", f"{form}，默认只列出", f"{form}, lists by default", nargs="?")


def _record_number(text: str) -> int:
    """Returns the number in ``D-0007`` or ``7``. Raises ArgumentTypeError for any other text."""
    found = _RECORD.fullmatch(text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(words("要写成 D-0007", "must be like D-0007"))
    return int(found[1])


def _number(text: str) -> int:
    """Returns a number of lines. Raises ArgumentTypeError for any other text."""
    if not text.isdecimal() or not 0 < int(text) <= _MOST_LISTED:
        raise argparse.ArgumentTypeError(words("要是 1 到 1000 的数", "must be from 1 to 1000"))
    return int(text)


def _add_corrections(commands: _Commands) -> None:
    """Add what an owner does to single memories."""
    named = (
        "编号或出处：m-01…, global/entities.md#m-01…",
        "an id or pointer: m-01…, global/entities.md#m-01…",
    )
    one = commands.add(
        "list", "owner_commands.list_", "列出最新的记忆", "list memories, the newest first"
    )
    _flag(one, "words", "只要有这些词的", "only those that hold each word", nargs="*")
    _flag(one, "--level", "哪一级", "which level", choices=["project", "global"])
    _flag(one, "--limit", "最多几条", "how many at most", type=_number, default=20)
    gone = ("忘记，可以 undo", "forget memories; undo brings them back")
    one = commands.add("forget", "owner_commands.correct", *gone)
    _flag(one, "ids", *named, nargs="+", metavar="id")
    other = ("换一种说法，可以 undo", "give a memory other words; undo takes them back")
    one = commands.add("edit", "owner_commands.correct", *other)
    _flag(one, "ids", *named, nargs=1, metavar="id")
    _flag(one, "content", "一句完整的话，- 从标准输入读", "a sentence, - reads stdin")
    back = ("撤销最后一次忘记或修改", "take back the last forget or edit, of a memory or at all")
    one = commands.add("undo", "owner_commands.correct", *back)
    _flag(one, "ids", *named, nargs="*", metavar="id")
    one = commands.add(
        "trust", "trust.trust",
        "认可编程助手记下的一条", "vouch for what an agent logged",
        "认可编程助手记下的一条：它算你说的。是长期指示的话，移到 instructions.md，开场摘要里就当"
        "指示。改的是 Markdown 文件，服务开着也行。",
        "Vouch for a memory that an agent logged: it counts as yours. A standing instruction moves "
        "to instructions.md, and the primer gives it as a rule. This edits the Markdown file, "
        "whether or not a server runs.",
    )  # fmt: skip
    _flag(one, "id", *named)
    _switch(one, "--no", "收回认可", "take the voucher back")


def _add_decisions(commands: _Commands) -> None:
    """Add ``decide`` and its actions."""
    about = ("提议的和定下的；接受、否决、取代、撤回", "what is proposed and decided; decide on it")
    # What stands behind the action is read here, too: --pr is no short form of --project.
    decide = commands.add("decide", "decide.decide", *about, allow_abbrev=False)
    actions = decide.add_subparsers(dest="action", required=True, metavar="ACTION")
    at_home = _Commands(actions, "run_home", setting_flags())

    def add(name: str, zh: str, en: str) -> Any:
        return at_home.add(name, "decide.decide", zh, en)

    def writes(one: Any) -> None:
        _flag(one, "--by", "谁定的，默认是你的用户名", "who decides, by default you", default="")
        _switch(one, "--yes", "直接写，不先看", "write it, without showing it first")

    named = ("提议的编号、它的开头，或出处", "a proposal's id, its beginning, or a pointer")
    one = add("list", "提议和在用的决定", "proposals, and the decisions in force")
    _switch(one, "--all", "不再有效的也要", "also what holds no longer")
    one = at_home.add("propose", "agent_commands.run", "提议一个决定", "propose a decision")
    _flag(one, "content", "一句完整的话，- 从标准输入读", "a sentence, - reads stdin")
    _flag(one, "--why", "理由", "the reason", default="")
    one.set_defaults(command="log", type="decision")
    for name, zh, en in (
        ("accept", "接受提议，写进 shared/", "accept a proposal, for all to read in shared/"),
        ("supersede", "接受提议，取代一条决定", "accept a proposal in place of a decision"),
    ):
        one = add(name, zh, en)
        if name == "supersede":
            _flag(one, "number", "D-0001", "D-0001", type=_record_number)
        _flag(one, "id", *named)
        _flag(one, "--issue", "#12、owner/repo#12 或网址", "#12, owner/repo#12, URL", default="")
        _flag(one, "--pr", "同上", "likewise", default="")
        files = [file.value for file in RecordFile]
        _flag(one, "--to", "写进哪个文件", "which file", choices=files, default=files[0])
        _switch(one, "--anyway", "有异议也写", "also where there are objections")
        writes(one)
    one = add("reject", "否决提议", "reject a proposal")
    _flag(one, "id", *named)
    _flag(one, "--why", "理由", "the reason", default="")
    one = add("withdraw", "撤回决定", "withdraw a decision")
    _flag(one, "number", "D-0001", "D-0001", type=_record_number)
    _flag(one, "--why", "理由", "the reason", default="")
    writes(one)


def _add_owners(commands: _Commands) -> None:
    """Add what an owner does to whole stores."""
    state = ("开着没有、有多少、索引、警告", "what is open, how many, the indexes, warnings")
    commands.add("status", "status.status", *state)
    one = commands.add(
        "index", "index.index",
        "把索引补到和文件一样", "bring the indexes up to the files",
        "把词语和向量的索引补到和文件一样，说明各有多少。平时不用运行：serve 自己会跟上。"
        "退出码：0 做完，1 没有做（别的程序开着它），3 只有向量没有做完。",
        "Bring the indexes of words and vectors up to the files, and count them. serve does so by "
        "itself. Exit codes: 0 done, 1 nothing done (another program has it open), 3 all but the "
        "vectors.",
    )  # fmt: skip
    kept = ("先删掉索引再建，算过的向量留着", "from nothing; vectors that were computed are kept")
    _switch(one, "--rebuild", *kept)
