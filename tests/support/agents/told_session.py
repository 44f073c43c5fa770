"""A project's day, played by real programs and told as a transcript that a page can hold.

What differs from day to day and from machine to machine is told alike: the user's folder is ``~``,
the ids are ``m-01``, ``m-02``, … and ``n-01``, … in the order in which they are told, each day is
2026-11-23, each time 12:40, each process is 4711, and the digits of a digest are left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from astrbot_plugin_scoped_memory.tests.support.agents import sdk_client

CLIENT = "cursor"
_DAY, _CLOCK = "2026-11-23", "12:40"
_ALIKE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"), f"{_DAY}T{_CLOCK}:00+08:00"),
    (re.compile(r"\d{4}-\d\d-\d\d(?!T)"), _DAY),
    (re.compile(r"(?<![\d:+-])\d\d:\d\d(?= · )"), _CLOCK),
    (re.compile(rf"(?<={_DAY} )\d\d:\d\d"), _CLOCK),
    (re.compile(r"sha256:[0-9a-f]+"), "sha256:…"),
    (re.compile(r"(?<=held by process )\d+"), "4711"),
)
_ID = re.compile(r"\b([mn])-[0-9a-z]{16,}")
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class ToldSession:
    """Runs programs in a project, one after another; ``steps`` are what was told of them."""

    def __init__(self, folder: Path, user: Path, environ: Mapping[str, str]) -> None:
        """``folder`` is the project's; ``environ`` is set on top of this process's own."""
        self.folder = folder
        self._user = user
        self._environ = {**os.environ, **environ}
        self._steps: list[list[str]] = []
        self._names: dict[str, str] = {}
        self._numbers = {"m": count(1), "n": count(1)}

    @property
    def steps(self) -> list[str]:
        """Each as the lines of a block."""
        return ["\n\n".join(step) + "\n" for step in self._steps]

    def begin(self) -> None:
        """What follows is another step."""
        self._steps.append([])

    async def shell(self, *arguments: str, code: int = 0, told: bool = True) -> str:
        """Run a command that ends with ``code``. Returns what it prints, untouched; without
        ``told`` the transcript has the command alone."""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-P", "-m", "llm_memory", *arguments],
            cwd=self.folder,
            env=self._environ,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
        )
        said = (done.stdout + done.stderr).rstrip("\n")
        assert done.returncode == code, said
        ended = f"（退出码 {code}）" if code else ""
        command = f"$ scoped-memory {' '.join(map(_quoted, arguments))}"
        self._tell(command, said if told else "", ended)
        return said

    def notes(self, folder: str) -> None:
        """Show which Markdown files a folder has."""
        found = sorted(
            path.relative_to(self.folder) for path in self.folder.glob(f"{folder}/**/*.md")
        )
        self._tell(f"$ find {folder} -name '*.md' | sort", *(path.as_posix() for path in found))

    def file(self, path: str) -> str:
        """Show a file. Returns its text."""
        text = (self.folder / path).read_text("utf-8")
        self._tell(f"$ cat {path}", text.rstrip("\n"))
        return text

    @contextlib.asynccontextmanager
    async def agent(self, role: str, *, called: str = "") -> AsyncIterator[Agent]:
        """A coding agent in a role, over the SDK's own client, with a server of its own.
        ``called``: in the transcript, if not as its role."""
        from mcp import ClientSession
        from mcp.types import Implementation

        command = [sys.executable, "-P", "-m", "llm_memory", "serve", "--role", role]
        asked = {"command": command, "env": self._environ, "cwd": str(self.folder)}
        info = Implementation(name=CLIENT, version="1")
        async with (
            sdk_client.streams(asked) as (read, write),
            ClientSession(read, write, client_info=info) as session,
        ):
            await session.initialize()
            yield Agent(called or role, session, self._tell)

    def _tell(self, *lines: str) -> None:
        self._steps[-1].append(self._alike("\n".join(line for line in lines if line)))

    def _alike(self, text: str) -> str:
        text = "\n".join(line.rstrip() for line in text.split("\n")).replace(str(self._user), "~")
        for pattern, instead in _ALIKE:
            text = pattern.sub(instead, text)
        return _ID.sub(self._name, text)

    def _name(self, found: re.Match[str]) -> str:
        if found[0] not in self._names:
            self._names[found[0]] = f"{found[1]}-{next(self._numbers[found[1]]):02d}"
        return self._names[found[0]]


class Agent:
    """Calls tools."""

    def __init__(self, name: str, session: object, tell: Callable[..., None]) -> None:
        self._name = name
        self._session = session
        self._tell = tell

    async def __call__(self, tool: str, *, fails: bool = False, **given: str) -> str:
        """Returns the answer, untouched. ``fails``: the client is told of an error."""
        result = await self._session.call_tool(tool, given)  # type: ignore[attr-defined]
        said, failed = sdk_client.told(result)
        assert failed is fails, said
        written = ", ".join(
            f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in given.items()
        )
        self._tell(f"{self._name}> {tool}({written})", said)
        return said


def _quoted(argument: str) -> str:
    return argument if re.fullmatch(r"[\w./#=-]+", argument) else f'"{argument}"'


def told_in(page: str) -> list[str]:
    """The steps that a page holds, its blocks ``console``."""
    return _BLOCK.findall(page)


def retold(page: str, steps: Sequence[str]) -> str:
    """The page with these steps in the place of its own."""
    rest = iter(steps)
    return _BLOCK.sub(lambda found: f"```console\n{next(rest, found[1])}```", page)
