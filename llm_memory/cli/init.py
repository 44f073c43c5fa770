"""``init``: makes a home, and has the coding agents of a project find it."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import replace
from pathlib import Path

from ..composition.paths import local_now
from ..errors import HomeError, ScopedMemoryError
from ..home.adoption import adopt
from ..home.clients import Client, clients_of, plan_clients
from ..home.file_changes import Change, apply
from ..home.foreign_store import find_store, is_global, read_store
from ..home.making import launch_of, make_folders, missing_folders, plan_config, plan_mark
from ..home.memory_home import is_named, project_scope
from ..home.project import (
    Project,
    find_project,
    find_root,
    home_paths,
    is_above_user,
    name_of,
    project_paths,
)
from ..home.settings import PREFIX, LoadedSettings, flag_of, load_settings
from ..home.trusted_roots import trust_root
from ..models.scope import PUBLIC_NAME
from .home_flags import project_folder, read_settings, wants_json
from .init_report import AdoptionReport, AppliedChange, Report, tell, tell_json
from .paths import plugin_version


def init(args: argparse.Namespace) -> int:
    """Plan all, then do it: what cannot be done is said before anything is written. Raises
    HomeError."""
    loaded = read_settings(args)
    folder = project_folder(args).resolve()
    home = loaded.settings.home
    report = Report(args.dry_run, home, _project(folder, loaded, store=args.store))
    report.notes += loaded.warnings
    changes = [plan_config(home)]
    if report.project is not None:
        changes += _project_changes(args, loaded, folder, report.project, report.notes)
    elif args.claude or args.cursor or args.agents or args.store:
        raise HomeError(
            f"{folder}：这里不能当项目，请到项目的文件夹里来，或写 --project-folder / no "
            "project can be here, go to a project's folder or name it with --project-folder"
        )
    else:
        report.notes.append("这里不是项目，只建家 / no project here, the home alone is made")
    report.folders = missing_folders(home, folder if args.store else None)
    report.changes = [AppliedChange(change) for change in changes]
    report.adoptions = [_adoption(path, report.project) for path in args.adopt]
    if not report.dry:
        make_folders(report.folders, home)
        if args.store and report.project is not None:
            trust_root(home, report.project.root)
        _write(report)
        _take(report, loaded)
    return tell_json(report) if wants_json(args) else tell(report)


def _project(folder: Path, loaded: LoadedSettings, *, store: bool) -> Project | None:
    """The project that the folder is or belongs to. One that nothing marks becomes a project now,
    unless it is the user's own folder or lies above that."""
    if is_above_user(folder):
        return None
    root, named = find_root(folder), loaded.settings.project
    if root is None or (store and root != folder):
        return Project(named or name_of(folder), folder, own_store=store)
    found = find_project(folder, named)
    return replace(found, own_store=True) if found and store else found


def _project_changes(
    args: argparse.Namespace,
    loaded: LoadedSettings,
    folder: Path,
    project: Project,
    notes: list[str],
) -> list[Change]:
    """Raises HomeError."""
    changes = []
    marked, home = find_root(folder), loaded.settings.home
    if marked is None or loaded.origins["project"] == flag_of("project"):
        mark = plan_mark(project.root, project.name)
        if not mark.needed and _stated_name(project.root, home) != project.name:
            raise HomeError(
                f"{mark.path} 里写着别的项目名，请改那里 / names another project, change it there"
            )
        changes.append(mark)
    if project.root != folder:
        notes.append(
            f"项目的根在上面，客户端多半在那里打开 / the project's root is above, clients are "
            f"opened there mostly: {project.root}"
        )
    scope = project_scope(project, named=is_named(loaded)).name
    if args.store and (home_paths(home).memory / "scopes" / scope).exists():
        notes.append(
            f"这个项目以前的记忆还在家里的域“{scope}”，可以导出再导入 / its memories of before "
            f"stay in the home's scope {scope}, see export and import"
        )
    launch = launch_of(loaded.settings, loaded.origins["home"])
    clients = frozenset(client for client in Client if getattr(args, client.option))
    if not clients and not (clients := clients_of(folder)):
        notes.append(
            "没看出用的是哪个客户端，写了 Claude Code 的；别的见 --cursor、--agents / no client "
            "was recognised, so Claude Code's files are written; see --cursor, --agents"
        )
        clients = frozenset({Client.FIRST})
    return changes + plan_clients(folder, clients, launch, loaded.settings.language)


def _stated_name(root: Path, home: Path) -> str:
    """The name in a project's file alone. Raises HomeError."""
    environ = {PREFIX + "HOME": str(home)}
    return load_settings(flags={}, environ=environ, cwd=root).settings.project


def _adoption(path: Path, project: Project | None) -> AdoptionReport:
    """Raises HomeError."""
    top = find_store(path.expanduser().absolute())
    if is_global(top, project.root if project else None, os.environ):
        return AdoptionReport(top, read_store(top), None)
    if project is None:
        raise HomeError(
            f"{top}：是一个项目的，请到那个项目里来 / belongs to a project, run this in that "
            "project"
        )
    return AdoptionReport(top, read_store(top), project)


def _write(report: Report) -> None:
    """Raises HomeError if nothing was written; later ones are noted."""
    now = local_now()
    for done in report.changes:
        if not done.change.needed:
            continue
        try:
            done.copy = apply(done.change, now)
            done.written = True
        except HomeError as error:
            if not any(other.written for other in report.changes):
                raise
            report.errors.append(str(error))


def _take(report: Report, loaded: LoadedSettings) -> None:
    home = report.home
    for adoption in report.adoptions:
        project = adoption.project
        own = project is not None and project.own_store
        paths = project_paths(home, project) if project and own else home_paths(home)
        scope = PUBLIC_NAME
        if project is not None and not own:
            scope = project_scope(project, named=is_named(loaded)).name
        try:
            adoption.done = asyncio.run(
                adopt(
                    adoption.store.memories,
                    paths,
                    scope,
                    privacy=loaded.settings.privacy_mode,
                    version=plugin_version(),
                )
            )
        except (ScopedMemoryError, OSError) as error:
            report.errors.append(f"{adoption.top}：{error}")
