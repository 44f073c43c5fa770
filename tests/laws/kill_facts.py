"""What an engine tells and what stands in its files, as facts: two states can be compared."""

from __future__ import annotations

import contextlib
import os
import re
import time
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import ConversationId
from astrbot_plugin_scoped_memory.tests.support.engines import Rig

type Fact = tuple[str, str, str]
"""Of what kind, where, and what."""
type Facts = Counter[Fact]

ARCHIVED, LIVING, WRITTEN = "archived", "living", "written"
_ENTRY = re.compile(r"^## (.+?) \^(m-[0-9a-z]+)$", re.MULTILINE)
_PAGES = ("MEMORY.md", "PRIMER.md")
_END = '{"type": "end"'
_LONG_AGO = 3600


async def facts_of(rig: Rig, places: Iterable[ConversationId]) -> Facts:
    """For each place its scope, whether it is paused, and what it sees; what stands in the files;
    how much waits to be read."""
    found: Facts = Counter()
    living: dict[tuple[str, str], str] = {}
    for where in places:
        report = await rig.engine.service.describe(conversation_id=where)
        resolution = report.resolution
        scope = resolution.name or "<read only>"
        found["scope", where.umo, scope] = 1
        found["paused", where.umo, ""] = report.paused is not None
        for one in rig.engine.parts.exclusions.of(resolution.name):
            found["never", where.umo, one.words] = 1
        for one in await rig.engine.service.newest(conversation_id=where):
            living[one.scope.name, one.memory.memory_id] = one.memory.judgment
    found.update((LIVING, scope, words) for (scope, _), words in living.items())
    found.update(in_files(rig.root))
    waiting = (await rig.engine.status()).loop.queue.waiting
    found.update(("waiting", "", f"{number}") for number in range(1, waiting + 1))
    return +found


def in_files(root: Path) -> Facts:
    """The entries of each scope's files as often as they stand there; those of its archive once,
    for a kill may leave the same one there twice."""
    found: Facts = Counter()
    for scope, path in _markdown(root):
        inside = path.relative_to(root / "memory" / "scopes" / scope).parts
        if path.name in _PAGES:
            continue
        for words, _ in _ENTRY.findall(path.read_text("utf-8")):
            if inside[0] == "archive":
                found[ARCHIVED, scope, words] = 1
            else:
                found[WRITTEN, scope, words] += 1
    return found


def id_of(root: Path, words: str) -> str:
    """Of the entry of these words, wherever it stands."""
    for _, path in _markdown(root):
        for found, memory_id in _ENTRY.findall(path.read_text("utf-8")):
            if found == words:
                return str(memory_id)
    return ""


def _markdown(root: Path) -> Iterator[tuple[str, Path]]:
    scopes = root / "memory" / "scopes"
    for path in sorted(scopes.rglob("*.md")):
        yield path.relative_to(scopes).parts[0], path


def whole_files(folder: Path) -> Facts:
    """Whether there is a zip, or a file of lines that has its end, and whether one has none."""
    found: Facts = Counter()
    for path in folder.glob("*.jsonl"):
        *_, last = ["", *path.read_text("utf-8").splitlines()]
        is_whole = last.startswith(_END)
        found["file", folder.name, "whole" if is_whole else "half"] = 1
    for path in folder.glob("*.zip"):
        found["file", folder.name, "whole" if zipfile.is_zipfile(path) else "half"] = 1
    return found


def age_unfinished(root: Path) -> None:
    """What a killed process was writing is cleared away, and an empty page is written to, when
    nobody can be writing it any more."""
    then = time.time() - _LONG_AGO
    empty = [page for page in root.glob("memory/**/*.md") if not page.stat().st_size]
    for path in scratch(root) + empty:
        with contextlib.suppress(FileNotFoundError):
            os.utime(path, (then, then))


def scratch(root: Path) -> list[Path]:
    """Files and folders that are written to take another one's place, or to go again."""
    return [path for path in root.rglob("*") if path.name.endswith(".tmp")]


def differences(found: Facts, wanted: Facts) -> list[str]:
    """What is not as it should be, in words. An archive may also hold what a kill left there of an
    entry that lives, or that was there before."""
    found = Counter({fact: n for fact, n in found.items() if fact[0] != ARCHIVED or fact in wanted})
    lost = [f"lost: {' '.join(fact)}" for fact in (wanted - found).elements()]
    return lost + [f"too much: {' '.join(fact)}" for fact in (found - wanted).elements()]


def cut_off(found: Facts, start: Facts, whole: Facts) -> list[str]:
    """What a deed of several steps may not leave where it was cut off: each of them is done or not
    done, and what is being moved is in one place or the other, never in both or in none."""
    wrong = [
        f"{' '.join(fact)}: {found[fact]} times"
        for fact in found | start | whole
        if fact[0] != ARCHIVED and not _between(found[fact], start[fact], whole[fact])
    ]
    held, before, after = map(_wherever, (found, start, whole))
    wrong += [
        f"{' '.join(what)}: {held[what]} times anywhere"
        for what in held | before | after
        if not _between(held[what], before[what], after[what])
    ]
    return wrong


def _between(found: int, start: int, whole: int) -> bool:
    return min(start, whole) <= found <= max(start, whole)


def _wherever(facts: Facts) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for (kind, _, what), count in facts.items():
        if kind != ARCHIVED:
            found[kind, what] += count
    return found


def kinds(facts: Facts, *wanted: str) -> Facts:
    """Those of some kinds."""
    return Counter({fact: count for fact, count in facts.items() if fact[0] in wanted})
