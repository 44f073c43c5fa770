"""``init``: makes a home, and has the coding agents of a project find it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from ..errors import HomeError, ScopedMemoryError
from ..home.agent_stores import place_of
from ..home.clients import CLIENTS, clients_of, plan_clients
from ..home.file_changes import Change, apply
from ..home.making import (
    launch_of,
    make_folders,
    missing_folders,
    plan_config,
    plan_layout,
    plan_mark,
)
from ..home.places import is_above_user, user_folder
from ..home.project import Project, find_project, find_root, name_of
from ..home.settings import PREFIX, LoadedSettings, flag_of, load_settings
from ..home.trusted_roots import is_trusted, trust_root
from ..migration.openclaw_store import find_store, import_file, is_global, read_store
from ..models.data_models import Refused
from ..models.settings import EngineSettings
from ..service.paths import local_now
from ..text.refusal_words import refusal_words
from ..texts import Said, at
from ..vault.notes.root_notes import named, notes_in_root
from .files import imported
from .home_flags import project_folder, read_settings, wants_json
from .init_report import AdoptionReport, Report, tell
from .messages import Refusal, agrees, shown


def init(args: argparse.Namespace) -> int:
    """Plan all, then do it: what cannot be done is said before anything is written. Raises
    HomeError and Refusal."""
    loaded = read_settings(args)
    folder = project_folder(args).resolve()
    home = loaded.settings.home
    project = _project(folder, loaded, store=args.store)
    # A store that the checkout brings is agreed to by --store, one of workflow.toml's by init.
    own = project if project and (args.store or project.stated_root) else None
    told = project.workflow.warnings if project and project.workflow else ()
    report = Report(args.dry_run, home, project, notes=[*loaded.warnings, *told])
    report.changes = [
        plan_config(home, loaded.settings.language),
        *_project_changes(args, loaded, folder, report),
        *(plan_layout(own, loaded.settings.language) if own and own.workflow else ()),
    ]
    if own and (older := tuple(notes_in_root(own.memory))):
        names, memory = shown(named(older)), own.memory
        report.note("setup.root_notes", path=memory, names=names)
    report.folders = missing_folders(home, own)
    report.adoptions = [_adoption(path, project) for path in args.adopt]
    if not report.dry:
        if own is not None and not (args.yes or own.is_memory_inside):
            _ask(home, own)
        make_folders(report.folders, home)
        if own is not None:
            trust_root(home, *own.agreement)
        _write(report)
        _take(report, loaded)
    return tell(report, as_json=wants_json(args))


def _ask(home: Path, project: Project) -> None:
    """Ask once whether memories may lie outside the project. Raises Refusal."""
    if is_trusted(home, *project.agreement):
        return
    question = Said("setup.outside", path=project.memory)
    if not sys.stdin.isatty():
        raise Refusal("setup.add_yes", question=question)
    if not agrees(question):
        raise Refusal("cli.nothing_changed")


def _project(folder: Path, loaded: LoadedSettings, *, store: bool) -> Project | None:
    """The project that the folder is or belongs to. One that nothing marks becomes a project now,
    unless it is the user's own folder or lies above that."""
    if is_above_user(folder):
        return None
    root, named = find_root(folder), loaded.settings.project
    if root is None or (store and root != folder):
        return Project(named or name_of(folder), folder, own_store=store)
    found = find_project(folder, named, home=loaded.settings.home)
    return replace(found, own_store=True) if found and store else found


def _project_changes(
    args: argparse.Namespace, loaded: LoadedSettings, folder: Path, report: Report
) -> list[Change]:
    """Plan the project's files; what its user should know goes into the notes. Raises HomeError."""
    project, home = report.project, report.home
    clients = [flag for flag in CLIENTS if getattr(args, flag.removeprefix("--"))]
    if project is None:
        if clients or args.store:
            raise HomeError(at(folder, "setup.no_place"))
        report.note("setup.home_alone")
        return []
    changes = []
    if find_root(folder) is None or loaded.origins["project"] == flag_of("project"):
        mark = plan_mark(project.root, project.name, loaded.settings.language)
        # What the project's file says by itself.
        environ = {f"{PREFIX}HOME": str(home)}
        stated = load_settings(flags={}, environ=environ, cwd=project.root).settings.project
        if not mark.needed and stated != project.name:
            raise HomeError("setup.other_name", path=mark.path)
        changes.append(mark)
    if project.root != folder:
        report.note("setup.root_above", path=project.root)
    paths, scope = place_of(loaded, replace(project, own_store=False))
    if (args.store or project.stated_root) and (paths.memory / scope.folder).exists():
        report.note("setup.former", scope=scope.name)
    clients = clients or clients_of(folder)
    if not clients:
        report.note("setup.no_client")
    launch = launch_of(loaded.settings, loaded.origins["home"])
    chosen = clients or [next(iter(CLIENTS))]
    return changes + plan_clients(folder, chosen, launch, loaded.settings.language)


def _adoption(path: Path, project: Project | None) -> AdoptionReport:
    """Raises HomeError."""
    top = find_store(path.expanduser().absolute())
    everywhere = is_global(top, project.root if project else None, user_folder(os.environ))
    if project is None and not everywhere:
        raise HomeError(at(top, "setup.foreign"))
    return AdoptionReport(top, read_store(top), None if everywhere else project)


def _write(report: Report) -> None:
    """Write the files. Raises Refusal if the first one cannot be; later ones are noted."""
    now = local_now()
    for change in filter(lambda one: one.needed, report.changes):
        try:
            report.written[change.path] = apply(change, now)
        except HomeError as error:
            if not report.written:
                raise Refusal(error.said) from error
            report.errors.append(error.said)


def _take(report: Report, loaded: LoadedSettings) -> None:
    """Take the former stores in; what cannot be is noted."""
    settings = EngineSettings(privacy_mode=loaded.settings.privacy_mode, open_retry_seconds=0.0)
    for adoption in report.adoptions:
        top = adoption.top
        paths, scope = place_of(loaded, adoption.project)
        lines = import_file(adoption.store.memories, local_now())
        taking = imported(paths, settings, lines, scope.name, keep_trust=False, new=True)
        try:
            done = asyncio.run(taking)
        except (ScopedMemoryError, OSError) as error:
            report.errors.append(Said("common.at", where=top, why=error))
            continue
        if isinstance(done, Refused):
            report.errors.append(at(top, refusal_words(done)))
            continue
        adoption.done = done
        if done.stopped_at:
            report.errors.append(at(top, "setup.no_room"))
