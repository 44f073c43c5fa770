"""What a page is: Markdown with blocks ``console``, in which lines that are given stand above what
was answered to them.

A line is given if it begins with ``$``, ``*`` or ``name>``; every other one is an answer's. What
differs from run to run is told alike: see ``Alike``. Of an answer of three lines or more ``…``
stands for lines that the page has shown before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from astrbot_plugin_scoped_memory.core import ROOT

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_GIVEN = re.compile(r"(?:[$*]|[\w@-]{1,40}>) ")
_ID = re.compile(r"\b([mnb])-(?!0+\b)[0-9a-z]{10,}")
_NAMED = re.compile(r"\b[mnb]-\d\d\b")
_LONG = 3
_DAY = "2026-03-02"
_TIME = r"\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:[+-]\d\d:\d\d|Z)?"


def given_in(page: str) -> list[str]:
    """What a page gives, in its order."""
    lines = (line for block in _BLOCK.findall(page) for line in block.splitlines())
    return [line for line in lines if _GIVEN.match(line)]


def told_in(page: str) -> str:
    """What a page says was answered."""
    lines = (line for block in _BLOCK.findall(page) for line in block.splitlines())
    return "\n".join(line for line in lines if not _GIVEN.match(line))


def retold(page: str, answers: Sequence[str]) -> str:
    """The page with these answers in the place of its own."""
    rest, shown = iter(answers), set[str]()

    def block(found: re.Match[str]) -> str:
        lines = list[str]()
        for line in found[1].splitlines():
            if _GIVEN.match(line):
                lines += [line, *_abridged(list(_lines(next(rest))), shown)]
        return "\n".join(["```console", *lines, "```"])

    return _BLOCK.sub(block, page)


def _lines(said: str) -> Iterator[str]:
    for line in said.splitlines():
        if line.strip():
            yield f" {line}".rstrip() if _GIVEN.match(line) else line.rstrip()


def _abridged(lines: list[str], shown: set[str]) -> Iterator[str]:
    """A longer answer without what the page has shown before, but for its first line."""
    short, left_out = len(lines) < _LONG, False
    for number, line in enumerate(lines):
        if short or not number or line not in shown:
            yield line
            left_out = False
        elif not left_out:
            yield "…"
            left_out = True
    shown.update(lines)


class Alike:
    """Tells alike what differs from run to run.

    Ids are ``m-01``, ``n-01``, ``b-01``, … in the order in which they are told; the machine's own
    day is 2026-03-02, each time 12:40; folders, digests, processes, ports and durations have one
    name each.
    """

    def __init__(self, *folders: Path) -> None:
        """``folders`` are called ``~``, the outermost last."""
        self._names: dict[str, str] = {}
        self._numbers = {kind: count(1) for kind in "mnb"}
        self._folders = {str(folder): "~" for folder in folders}
        self._folders |= {sys.executable: "python", str(ROOT): "~/plugin"}
        now = datetime.now().astimezone()
        days = [now + timedelta(days=offset) for offset in (-1, 0, 1)]
        dashed = "|".join(f"{day:%Y-%m-%d}" for day in days)
        short = "|".join(f"{day:%m-%d}" for day in days)
        plain = "|".join(f"{day:%Y%m%d}" for day in days)
        self._rules = [
            (re.compile(rf"(?:{dashed})"), _DAY),
            (re.compile(rf"(?<![\d-])(?:{short})(?![\d-])"), _DAY[5:]),
            (re.compile(rf"(?:{plain})"), _DAY.replace("-", "")),
            (re.compile(rf"(\d\d-\d\d[ T]){_TIME}"), r"\g<1>12:40"),
            (re.compile(r"(\b20\d{6}-)\d{6}"), r"\g<1>124000"),
            (re.compile(r"(?<![\w-])[0-9a-f]{12,}\b"), "…"),
            (re.compile(r"(?<=sha256:)[0-9a-f]+"), "…"),
            (re.compile(r"\d+ (?=毫秒|ms\b)"), "9 "),
            (re.compile(r"(?<=\[Errno )\d+"), "…"),
            (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "8765"),
            (re.compile(r"(process:? |进程 |进程：)\d+"), r"\g<1>4711"),
        ]

    def told(self, text: str) -> str:
        """What a page holds."""
        for folder, name in self._folders.items():
            text = text.replace(folder, name)
        text = _ID.sub(self._name, text)
        for pattern, instead in self._rules:
            text = pattern.sub(instead, text)
        return text

    def meant(self, text: str) -> str:
        """What a page gives, with the ids that were told under these names."""
        ids = {name: one for one, name in self._names.items()}
        return _NAMED.sub(lambda found: ids.get(found[0], found[0]), text)

    def _name(self, found: re.Match[str]) -> str:
        if found[0] not in self._names:
            self._names[found[0]] = f"{found[1]}-{next(self._numbers[found[1]]):02d}"
        return self._names[found[0]]
