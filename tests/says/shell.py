"""The command line and the tools of a coding agent, each in one process.

- ``$ scoped-memory log "…"``: a command in the folder of the project; an exit code other than 0
  stands behind the answer. ``$ VARIABLE=value scoped-memory …`` sets one.
- ``$ cat file``, ``rm``, ``mkdir``, ``cd``, ``echo "…" > file``: what a person does to files.
- ``agent> memory_search(query="…")``: a tool over the MCP server's own front.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.tests.says.cast import called
from astrbot_plugin_scoped_memory.tests.says.transcript import Alike
from astrbot_plugin_scoped_memory.tests.support.agents.agents import AgentRig, agent_home
from astrbot_plugin_scoped_memory.tests.support.dictionary import put_dictionary

_SET = re.compile(r"[A-Z_]+=")


class ShellCast:
    """A user with a project; an agent's home is opened when the first tool is called."""

    def __init__(self, user: Path, language: str, environ: pytest.MonkeyPatch) -> None:
        self._user, self._environ = user, environ
        self._folder = user / "code" / "shop"
        self._open = contextlib.AsyncExitStack()
        self._agents: AgentRig | None = None
        self.alike = Alike(user)
        environ.setenv("SCOPED_MEMORY_LANGUAGE", language.partition("-")[0])
        environ.setenv("COLUMNS", "200")
        environ.setenv("LOGNAME", "lee")
        put_dictionary(user / "memories")

    async def __aenter__(self) -> ShellCast:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def play(self, given: str) -> str:
        """Returns what is answered to a line of a page."""
        given = self.alike.meant(given)
        if given.startswith("$ "):
            said = await asyncio.to_thread(self._shell, given[2:])
        else:
            said = await self._tool(*given.split("> ", 1))
        return self.alike.told(said)

    async def _tool(self, who: str, words: str) -> str:
        if self._agents is None:
            self._agents = await self._open.enter_async_context(agent_home(self._user / "agents"))
            await self._agents.until_ready()
        name, arguments = called(words)
        answer = await self._agents.call(name, who.partition("@")[2], **arguments)
        return f"{answer.text}\n(error)" if answer.failed else answer.text

    def _shell(self, line: str) -> str:
        line, _, tail = line.partition(" | tail -")
        words = shlex.split(line)
        with pytest.MonkeyPatch.context() as environ:
            environ.chdir(self._folder)
            while _SET.match(words[0]):
                name, _, value = words.pop(0).partition("=")
                environ.setenv(name, value)
            said = self._run(words)
        return "\n".join(said.splitlines()[-int(tail) :]) if tail else said

    def _run(self, words: list[str]) -> str:
        match words:
            case ["scoped-memory", *arguments]:
                return _ran(arguments)
            case ["cat", file]:
                return (self._folder / file).read_text("utf-8")
            case ["rm", file]:
                (self._folder / file).unlink()
            case ["mkdir", file]:
                (self._folder / file).mkdir(parents=True)
            case ["cd", file]:
                self._folder = (self._folder / file).resolve()
            case ["echo", *text, ">", file]:
                path = self._folder / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join(text).replace("\\n", "\n") + "\n", "utf-8")
            case _:
                raise AssertionError(words)
        return ""


_USAGE = re.compile(r"^usage: .*?\n(?=\S|\n)", re.MULTILINE | re.DOTALL)
_CHOICES = re.compile(r"\(choose from .*?\)")
"""argparse's own words: other versions of Python have others."""


def _ran(arguments: list[str]) -> str:
    """Both streams of a command, and the exit code where it is not 0."""
    said, code = io.StringIO(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    told = _CHOICES.sub("(choose from …)", _USAGE.sub("", said.getvalue()))
    return told + (f"[exit {code}]" if code else "")
