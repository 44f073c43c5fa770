"""What ``init`` says it did, or would do: for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..home.adoption import Adopted
from ..home.file_changes import Change
from ..home.foreign_store import ForeignStore
from ..home.project import Project
from .messages import DONE, PARTLY, fail, say, warn


@dataclass(slots=True)
class AppliedChange:
    """A planned change, whether it was written, and the copy of what stood there."""

    change: Change
    written: bool = False
    copy: Path | None = None


@dataclass(slots=True)
class AdoptionReport:
    """A folder that is taken in, whose it is (None: all projects'), and what became of it."""

    top: Path
    store: ForeignStore
    project: Project | None
    done: Adopted | None = None

    @property
    def partly(self) -> bool:
        """True if something of it was not taken."""
        return bool(self.store.refused) or (
            self.done is not None and (bool(self.done.refused) or self.done.stopped)
        )


@dataclass(slots=True)
class Report:
    """All that was planned and done."""

    dry: bool
    home: Path
    project: Project | None
    folders: list[Path] = field(default_factory=list)
    changes: list[AppliedChange] = field(default_factory=list)
    adoptions: list[AdoptionReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        """The exit code."""
        partly = self.errors or any(adoption.partly for adoption in self.adoptions)
        return PARTLY if partly else DONE


def tell(report: Report) -> int:
    """Say it to a person. Returns the exit code."""
    if report.dry:
        say("试一试，什么也没有改 / a dry run, nothing was changed:")
    say(f"家 / home: {report.home}")
    if report.project is not None:
        say(f"项目 / project: {report.project.name} ({report.project.root})")
    for folder in report.folders:
        say(f"{'会建 / would make' if report.dry else '建了 / made'}: {folder}")
    changes = (line for done in report.changes for line in _change_lines(done, dry=report.dry))
    adoptions = (line for adoption in report.adoptions for line in _adoption_lines(adoption))
    for line in (*changes, *adoptions):
        say(line)
    if any(done.written for done in report.changes):
        say("已打开的客户端要重开一次 / clients that are open must be restarted")
    warn(report.notes)
    for error in report.errors:
        fail(error)
    return report.code


def _change_lines(done: AppliedChange, *, dry: bool) -> Iterator[str]:
    path = done.change.path
    if not done.change.needed:
        yield f"不变 / unchanged: {path}"
    elif dry:
        yield f"会写 / would write: {path}"
        yield from (f"    + {line}" for line in done.change.shown.splitlines())
    elif not done.written:
        yield f"没有写 / not written: {path}"
    else:
        kept = f"（原来的 / former: {done.copy.name}）" if done.copy else ""
        yield f"写了 / wrote: {path}{kept}"


def _adoption_lines(adoption: AdoptionReport) -> Iterator[str]:
    store, done = adoption.store, adoption.done
    target = "家 / the home" if adoption.project is None else adoption.project.name
    yield (
        f"{adoption.top} → {target}: {store.files} 个文件、{len(store.memories)} 条 / "
        f"{store.files} files, {len(store.memories)} memories"
    )
    if store.turns:
        yield (
            f"  {store.turns} 段整段对话不是记忆，没有收 / {store.turns} whole conversations are "
            "no memories, left out"
        )
    for path, why in store.refused:
        yield f"  没有读 / not read: {path}：{why}"
    if done is None:
        return
    yield (
        f"  新收 {done.stored}，早已有 {done.known}，没收下 {len(done.refused)}，隐去一部分 "
        f"{done.redacted} / {done.stored} new, {done.known} known, {len(done.refused)} refused, "
        f"{done.redacted} partly hidden"
    )
    for text, why in done.refused:
        yield f"  没收下 / refused ({why}): {text}"
    if done.stopped:
        yield "  写不下了，同一条命令会接着做 / no room, the same command goes on"


def tell_json(report: Report) -> int:
    """Say it to a program, as one object. Returns the exit code."""
    project = report.project
    content = {
        "dry_run": report.dry,
        "home": str(report.home),
        "project": None
        if project is None
        else {"name": project.name, "root": str(project.root), "own_store": project.own_store},
        "folders": [str(folder) for folder in report.folders],
        "files": [
            {
                "path": str(done.change.path),
                "change": _kind(done.change),
                "written": done.written,
                "backup": None if done.copy is None else str(done.copy),
            }
            for done in report.changes
        ],
        "adopted": [_adopted(adoption) for adoption in report.adoptions],
        "notes": report.notes,
        "errors": report.errors,
    }
    say(json.dumps(content, ensure_ascii=False, indent=2))
    return report.code


def _kind(change: Change) -> str:
    if not change.needed:
        return "none"
    return "new" if change.before is None else "changed"


def _adopted(adoption: AdoptionReport) -> dict[str, object]:
    store, done = adoption.store, adoption.done
    counts = done or Adopted()
    return {
        "path": str(adoption.top),
        "project": None if adoption.project is None else adoption.project.name,
        "files": store.files,
        "memories": len(store.memories),
        "conversations": store.turns,
        "not_read": [{"path": path, "why": why} for path, why in store.refused],
        "done": done is not None,
        "stored": counts.stored,
        "known": counts.known,
        "redacted": counts.redacted,
        "refused": [{"text": text, "why": why} for text, why in counts.refused],
        "stopped": counts.stopped,
    }
