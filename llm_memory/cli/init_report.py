"""What ``init`` did, or would do: as lines for a person, and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..composition.openclaw_adoption import Adopted
from ..home.file_changes import Change
from ..home.project import Project
from ..migration.openclaw_store import ForeignStore
from ..models.said import Said
from .messages import DONE, PARTLY, fail, say, say_json, say_value, warn, words


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


def tell(report: Report, *, as_json: bool) -> int:
    """Print the report. Returns the exit code."""
    if as_json:
        say_json(_content(report))
    else:
        _print(report)
    partly = any(one.store.refused or (one.done and one.done.refused) for one in report.adoptions)
    return PARTLY if report.errors or partly else DONE


def _print(report: Report) -> None:
    dry, project = report.dry, report.project
    if dry:
        say("只是预演，什么也没有改：", "a dry run, nothing was changed:")
    say_value("家", "home", report.home)
    if project is not None:
        say_value("项目", "project", f"{project.shown} ({project.root})")
    for folder in report.folders:
        say_value("会建" if dry else "建了", "would make" if dry else "made", folder)
    for change in report.changes:
        _print_change(change, report)
    for adoption in report.adoptions:
        _print_adoption(adoption)
    if report.written:
        say("已打开的编程助手要重开一次", "coding agents that are open must be restarted")
    warn(report.notes)
    for error in report.errors:
        fail(error)


def _print_change(change: Change, report: Report) -> None:
    path, copy = change.path, report.written.get(change.path)
    if not change.needed:
        say_value("不变", "unchanged", path)
    elif report.dry:
        say_value("会写", "would write", path)
        for line in change.shown.splitlines():
            say(f"    + {line}")
    elif path not in report.written:
        say_value("没有写", "not written", path)
    else:
        say_value("写了", "wrote", f"{path} ({copy.name})" if copy else path)


def _print_adoption(adoption: AdoptionReport) -> None:
    top, store, done, project = adoption.top, adoption.store, adoption.done, adoption.project
    files, count, turns = store.files, len(store.memories), store.turns
    say(
        f"{top} → {project.name if project else '家'}：{files} 个文件，{count} 条；"
        f"整段的对话不收，有 {turns} 段",
        f"{top} → {project.name if project else 'the home'}: {files} files, {count} memories, "
        f"{turns} whole conversations left out",
    )
    for path, why in store.refused:
        say_value("  没有读", "  not read", f"{path}: {words(why)}")
    if done is not None:
        new, known, refused, hidden = done.stored, done.known, len(done.refused), done.redacted
        say(
            f"  新收 {new} 条，早已有 {known}，没收下 {refused}，隐去一部分 {hidden}",
            f"  {new} new, {known} known, {refused} refused, {hidden} partly hidden",
        )
        for text, reason in done.refused:
            say_value(f"  没收下（{reason}）", f"  refused ({reason})", text)


def _content(report: Report) -> dict[str, object]:
    return {
        "dry_run": report.dry,
        "home": report.home,
        "project": report.project and report.project.content(),
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
        "notes": list(map(words, report.notes)),
        "errors": list(map(words, report.errors)),
    }


def _adopted(adoption: AdoptionReport) -> dict[str, object]:
    store, counts = adoption.store, adoption.done or Adopted()
    return {
        "path": adoption.top,
        "project": adoption.project and adoption.project.name,
        "files": store.files,
        "memories": len(store.memories),
        "conversations": store.turns,
        "not_read": [{"path": path, "why": words(why)} for path, why in store.refused],
        "done": adoption.done is not None,
        **asdict(counts),
        "refused": [{"text": text, "why": why} for text, why in counts.refused],
    }
