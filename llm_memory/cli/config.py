"""``config``: the settings in force, where each comes from, and what was passed over."""

from __future__ import annotations

import argparse
import json
import os

from ..home.project import Project, find_project
from ..home.setting_values import KEYS
from ..home.settings import HomeSettings
from ..home.workflow import role_names
from ..models.workflow import TOPK, Workflow
from ..texts import Said
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, say, show, show_json, warn, words


def show_config(args: argparse.Namespace) -> int:
    """Print the settings. The key of an embedding service is never printed. Raises HomeError."""
    loaded = read_settings(args)
    project = find_project(project_folder(args), loaded.settings.project, home=loaded.settings.home)
    key = key_source(loaded.settings)
    values = {name: getattr(loaded.settings, name) or "" for name in KEYS}
    if wants_json(args):
        content = {
            "settings": {
                name: {"value": value, "origin": loaded.origins[name]}
                for name, value in values.items()
            },
            "key": words(key),
            "project": project and project.content(),
            "warnings": list(map(words, loaded.warnings)),
        }
        show_json(content)
        return DONE
    for name, value in values.items():
        shown = json.dumps(value, ensure_ascii=False, default=str)
        show(f"{name} = {shown}  ({loaded.origins[name]})")
    say("settings.key", source=key)
    where = Said("settings.no_project")
    if project is not None:
        own, name, root = project.own_store, project.shown, project.root
        where = Said("settings.own_store" if own else "settings.in_home", name=name, root=root)
    say("settings.project", project=where)
    told = loaded.warnings
    if project is not None and project.workflow is not None:
        _tell_workflow(project, project.workflow)
        told += project.workflow.warnings
    warn(told)
    return DONE


def key_source(settings: HomeSettings) -> Said:
    """Returns where the key of an embedding service comes from, never the key."""
    file, name = settings.embedding_key_file, settings.embedding_key_env
    if file is not None:
        return Said("settings.key_file", path=file)
    if not name:
        return Said("settings.key_lost")
    is_set = bool(os.environ.get(name, "").strip())
    return Said("settings.key_set" if is_set else "settings.key_unset", name=name)


def _tell_workflow(project: Project, workflow: Workflow) -> None:
    topk = TOPK if workflow.topk is None else workflow.topk
    roles = ", ".join(role_names(project.memory, workflow)) or Said("common.none")
    say("settings.workflow", path=workflow.path, root=project.memory, topk=topk, roles=roles)
