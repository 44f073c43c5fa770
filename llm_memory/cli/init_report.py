"""What ``init`` did, or would do: as lines for a person, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..home.adoption import Adopted
from ..home.file_changes import Change
from ..home.foreign_store import ForeignStore
from ..home.project import Project
from ..models.said import Said
from .messages import DONE, PARTLY, fail, say, warn, words


@dataclass(slots=True)
class AdoptionReport:
    """A folder that is taken in, whose it is (None: all projects'), and what became of it."""

    top: Path
    store: ForeignStore
    project: Project | None
    done: Adopted | None = None


@dataclass(slots=True)
class Report:
    """All that was planned and done.

    Attributes:
        written: For each file that was written, the copy of what stood there.
    """

    dry: bool
    home: Path
    project: Project | None
    folders: list[Path] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    written: dict[Path, Path | None] = field(default_factory=dict)
    adoptions: list[AdoptionReport] = field(default_factory=list)
    notes: list[Said] = field(default_factory=list)
    errors: list[Said] = field(default_factory=list)

    def note(self, zh: str, en: str) -> None:
        """Add what the person should know."""
        self.notes.append(Said(zh, en))

    def fail(self, zh: str, en: str) -> None:
        """Add what could not be done."""
        self.errors.append(Said(zh, en))


def tell(report: Report, *, as_json: bool) -> int:
    """Print the report. Returns the exit code."""
    if as_json:
        say(json.dumps(_content(report), ensure_ascii=False, indent=2, default=str))
    else:
        for zh, en in _lines(report):
            say(zh, en)
        warn(report.notes)
        for error in report.errors:
            fail(error.zh, error.en)
    partly = any(one.store.refused or (one.done and one.done.refused) for one in report.adoptions)
    return PARTLY if report.errors or partly else DONE


def _lines(report: Report) -> Iterator[tuple[str, str]]:
    """Yields each line in Chinese and in English."""
    dry, project = report.dry, report.project
    if dry:
        yield "只是预演，什么也没有改：", "a dry run, nothing was changed:"
    yield f"家：{report.home}", f"home: {report.home}"
    if project is not None:
        name, root = project.name, project.root
        yield f"项目：{name}（{root}）", f"project: {name} ({root})"
    for folder in report.folders:
        yield (
            f"{'会建' if dry else '建了'}：{folder}",
            f"{'would make' if dry else 'made'}: {folder}",
        )
    for change in report.changes:
        yield _change_line(change, report)
        for line in change.shown.splitlines() if dry and change.needed else ():
            yield (f"    + {line}",) * 2
    for adoption in report.adoptions:
        yield from _adoption_lines(adoption)
    if report.written:
        yield "已打开的编程助手要重开一次", "coding agents that are open must be restarted"


def _change_line(change: Change, report: Report) -> tuple[str, str]:
    path, copy = change.path, report.written.get(change.path)
    if not change.needed:
        return f"不变：{path}", f"unchanged: {path}"
    if report.dry:
        return f"会写：{path}", f"would write: {path}"
    if path not in report.written:
        return f"没有写：{path}", f"not written: {path}"
    if copy is None:
        return f"写了：{path}", f"wrote: {path}"
    return f"写了：{path}（原来的：{copy.name}）", f"wrote: {path} (former: {copy.name})"


def _adoption_lines(adoption: AdoptionReport) -> Iterator[tuple[str, str]]:
    top, store, done, project = adoption.top, adoption.store, adoption.done, adoption.project
    files, count, turns = store.files, len(store.memories), store.turns
    yield (
        f"{top} → {project.name if project else '家'}：{files} 个文件，{count} 条；"
        f"整段的对话不收，有 {turns} 段",
        f"{top} → {project.name if project else 'the home'}: {files} files, {count} memories, "
        f"{turns} whole conversations left out",
    )
    for path, why in store.refused:
        yield f"  没有读：{path}：{why}", f"  not read: {path}: {why}"
    if done is not None:
        new, known, refused, hidden = done.stored, done.known, len(done.refused), done.redacted
        yield (
            f"  新收 {new} 条，早已有 {known}，没收下 {refused}，隐去一部分 {hidden}",
            f"  {new} new, {known} known, {refused} refused, {hidden} partly hidden",
        )
        for text, why in done.refused:
            yield f"  没收下（{why}）：{text}", f"  refused ({why}): {text}"


def _content(report: Report) -> dict[str, object]:
    """Returns the report for JSON; its paths are to be made text."""
    return {
        "dry_run": report.dry,
        "home": report.home,
        "project": report.project.content() if report.project else None,
        "folders": report.folders,
        "files": [
            {
                "path": change.path,
                "change": change.kind,
                "written": change.path in report.written,
                "backup": report.written.get(change.path),
            }
            for change in report.changes
        ],
        "adopted": [_adopted(adoption) for adoption in report.adoptions],
        "notes": [words(one.zh, one.en) for one in report.notes],
        "errors": [words(one.zh, one.en) for one in report.errors],
    }


def _adopted(adoption: AdoptionReport) -> dict[str, object]:
    store, counts = adoption.store, adoption.done or Adopted()
    return {
        "path": adoption.top,
        "project": adoption.project.name if adoption.project else None,
        "files": store.files,
        "memories": len(store.memories),
        "conversations": store.turns,
        "not_read": [{"path": path, "why": why} for path, why in store.refused],
        "done": adoption.done is not None,
        **asdict(counts),
        "refused": [{"text": text, "why": why} for text, why in counts.refused],
    }
