"""What ``init`` did, or would do: as lines for a person, and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..home.file_changes import Change
from ..home.project import Project
from ..migration.openclaw_store import ForeignStore
from ..models.transfer import Imported
from ..texts import Said
from .messages import DONE, PARTLY, fail, say, show, show_json, warn, words


@dataclass(slots=True)
class AdoptionReport:
    """A folder that is taken in, whose it is (None: all projects'), and what became of it."""

    top: Path
    store: ForeignStore
    project: Project | None
    done: Imported | None = None

    def refused(self) -> list[tuple[str, str]]:
        """Returns the beginning of each text that was not taken in, and why. The header stands
        above the first one."""
        return [
            (
                self.store.memories[line.number - 2].judgment[:40],
                str(line.rejected.reason if line.rejected else line.fault),
            )
            for line in (self.done.lines if self.done else ())
        ]


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

    def note(self, code: str, /, **params: object) -> None:
        """Add what the person should know."""
        self.notes.append(Said(code, **params))


def tell(report: Report, *, as_json: bool) -> int:
    """Print the report. Returns the exit code."""
    if as_json:
        show_json(_content(report))
    else:
        _print(report)
    partly = any(one.store.refused or (one.done and one.done.refused) for one in report.adoptions)
    return PARTLY if report.errors or partly else DONE


def _print(report: Report) -> None:
    dry, project = report.dry, report.project
    if dry:
        say("cli.dry_run")
    say("settings.home", path=report.home)
    if project is not None:
        say("settings.project", project=f"{project.shown} ({project.root})")
    for folder in report.folders:
        say("setup.would_make" if dry else "setup.made", path=folder)
    for change in report.changes:
        _print_change(change, report)
    for adoption in report.adoptions:
        _print_adoption(adoption)
    if report.written:
        say("setup.restart")
    warn(report.notes)
    for error in report.errors:
        fail(error)


def _print_change(change: Change, report: Report) -> None:
    path, copy = change.path, report.written.get(change.path)
    if not change.needed:
        say("setup.unchanged", path=path)
    elif report.dry:
        say("setup.would_write", path=path)
        for line in change.shown.splitlines():
            show(f"    + {line}")
    elif path not in report.written:
        say("setup.not_written", path=path)
    else:
        say("setup.wrote", path=f"{path} ({copy.name})" if copy else path)


def _print_adoption(adoption: AdoptionReport) -> None:
    top, store, done, project = adoption.top, adoption.store, adoption.done, adoption.project
    say(
        "setup.adoption",
        path=top,
        whose=project.name if project else Said("home.itself"),
        files=store.files,
        memories=len(store.memories),
        talks=store.turns,
    )
    for path, why in store.refused:
        say("setup.not_read", path=path, why=why)
    if done is not None:
        counts = {"refused": done.refused, "hidden": done.redacted}
        say("setup.adopted", new=done.stored, known=done.known, **counts)
        for text, reason in adoption.refused():
            say("setup.refused", reason=reason, text=text)


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
    store, done = adoption.store, adoption.done or Imported("")
    return {
        "path": adoption.top,
        "project": adoption.project and adoption.project.name,
        "files": store.files,
        "memories": len(store.memories),
        "conversations": store.turns,
        "not_read": [{"path": path, "why": words(why)} for path, why in store.refused],
        "done": adoption.done is not None,
        "stored": done.stored,
        "known": done.known,
        "redacted": done.redacted,
        "stopped": done.stopped_at > 0,
        "refused": [{"text": text, "why": why} for text, why in adoption.refused()],
    }
