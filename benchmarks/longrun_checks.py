"""What must hold after weeks of the loop, counted in what was shown, sent and stored."""

from __future__ import annotations

import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longrun_world import MARKS, Fact

from astrbot_plugin_scoped_memory.llm_memory import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.passages import place_name
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault

JUDGMENT = re.compile(r"(?P<who>\S+?)的(?P<topic>\S+?)是(?P<value>\S+)")
"""What the reader makes of what was mentioned."""
_FILES_OF_A_SCOPE, _FILES_OF_A_DAY, _BACKUPS = 30, 3, 7
"""Topics, pages, their former texts and archives; a journal, what left that day; those kept."""
_LAST_CALL = 1.02
"""What a call costs is known when it was made: the last one of a day may go over."""
_FLAT, _FLAT_MB = 1.15, 64
"""So much more at the end than in the middle: there are more memories, and noise."""
_SETTLED_DAYS, _STARTING_MB = 7, 160
"""In a run of a few days the index's process may come up between the two looks."""


@dataclass
class Leaks:
    """Words of a private scope in what belongs to another, by where they were looked for."""

    looked: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)

    def look(self, where: str, scope: str, texts: Iterable[str]) -> None:
        """Texts that may hold words of `scope` and of public, and of no other."""
        for text in texts:
            self.looked[where] += 1
            self.found[where] += sum(
                mark in text for name, mark in MARKS.items() if name not in (scope, "public")
            )

    def figures(self) -> dict[str, Any]:
        """How many texts were looked at, and how many strange words were in them."""
        return {
            where: {"texts": self.looked[where], "leaks": self.found[where]}
            for where in sorted(self.looked)
        }


def look_at_store(root: Path, leaks: Leaks) -> None:
    """Files of scopes with their archives, rows of the loop's file, files of backups."""
    for path in sorted((root / "memory" / "scopes").rglob("*")):
        if path.is_file():
            scope = path.relative_to(root / "memory" / "scopes").parts[0]
            leaks.look("files", scope, [path.read_text(encoding="utf-8", errors="replace")])
    for scope, text in _rows(root / "state" / "loop.sqlite"):
        leaks.look("rows", scope, [text])
    for path in sorted((root / "backups" / "daily").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                scope = name.split("/")[1] if name.startswith("scopes/") else ""
                leaks.look("backups", scope, [archive.read(name).decode(errors="replace")])


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """Each row that has a scope, and the rows that have none, under none."""
    with closing(sqlite3.connect(path)) as base:
        tables = [
            row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for table in tables:
            columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
            for row in base.execute(f"SELECT * FROM {table}"):  # noqa: S608  (names of its own)
                values = dict(zip(columns, row, strict=True))
                yield str(values.pop("scope", "")), " ".join(map(str, values.values()))


def kept_turns(root: Path) -> set[str]:
    """What was said, of the turns that are still in the loop's file."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as base:
        return {text for (text,) in base.execute("SELECT user_text FROM turn")}


def spent_by_day(root: Path) -> dict[str, dict[str, int]]:
    """What the loop has counted, by local day: the budget's days."""
    with closing(sqlite3.connect(root / "state" / "loop.sqlite")) as base:
        rows = base.execute("SELECT day, calls, failed, tokens FROM spent").fetchall()
    return {day: {"calls": calls, "failed": failed, "tokens": n} for day, calls, failed, n in rows}


def memories_of(root: Path) -> list[StoredMemory]:
    """All that live, from the files."""
    vault = MarkdownVault(root / "memory")
    return [stored for scope in vault.scopes() for stored in vault.read(scope).memories]


def living_figures(root: Path, facts: Mapping[Fact, str]) -> dict[str, int]:
    """What became of what was mentioned.

    `lost`: neither among the living nor in the archive of its scope. `twice`: living memories that
    say of somebody's thing what another one says to the same readers. `outdated`: living ones of
    which the opposite was said later. `mixed`: memories whose words belong to another scope than
    their folder.
    """
    stated: Counter[tuple[Fact, str]] = Counter()
    places: set[tuple[str, Fact, str]] = set()
    mixed = 0
    for stored in memories_of(root):
        found = JUDGMENT.fullmatch(stored.memory.judgment.strip())
        if found is None:
            continue
        fact = Fact(stored.scope.name, found["who"], found["topic"])
        stated[fact, found["value"]] += 1
        places.add((place_name(stored), fact, found["value"]))
        mixed += not found["value"].startswith(MARKS[stored.scope.name])
    archives = {scope: _archive(root, scope) for scope in MARKS}
    living = {fact for fact, _ in stated}
    return {
        "mentioned": len(facts),
        "known": sum(stated[fact, value] > 0 for fact, value in facts.items()),
        "in_archive_only": sum(
            fact not in living and _says(archives[fact.scope], fact) for fact in facts
        ),
        "lost": sum(fact not in living and not _says(archives[fact.scope], fact) for fact in facts),
        "twice": stated.total() - len(places),
        "outdated": sum(facts.get(fact) != value for fact, value in stated),
        "mixed": mixed,
    }


def _archive(root: Path, scope: str) -> str:
    folder = root / "memory" / "scopes" / scope / "archive"
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md")))


def _says(text: str, fact: Fact) -> bool:
    return f"{fact.who}的{fact.topic}" in text


def what_holds(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the loop promises, and whether this run kept it."""
    days = list(figures["days"].values())
    last, middle = days[-1], days[(len(days) - 1) // 2]
    memories, queue = figures["memories"], figures["queue"]
    a_scope = _FILES_OF_A_SCOPE + _FILES_OF_A_DAY * len(days)
    more_mb = _FLAT_MB if len(days) >= _SETTLED_DAYS else _STARTING_MB
    return {
        "no turn is lost or read twice": not any(
            figures[name] for name in ("turns_lost", "turns_refused", "turns_read_twice")
        ),
        "no memory is lost or there twice": not memories["lost"] and not memories["twice"],
        "no word of a scope is outside of it": not memories["mixed"]
        and not any(place["leaks"] for place in figures["isolation"].values()),
        "the queue is read to its end": not queue["end"] and not queue["dead"],
        "no day costs more than its tokens": figures["tokens"]["most_a_day"]
        <= figures["budget"] * _LAST_CALL,
        "files stay few": last["memory_files"] <= figures["scopes"] * a_scope
        and last["backups_files"] <= _BACKUPS,
        "memory use is flat": last["rss_mb"]
        <= max(middle["rss_mb"] * _FLAT, middle["rss_mb"] + more_mb),
    }
