"""``config``: the settings in force, where each comes from, and what was passed over."""

from __future__ import annotations

import argparse
import json
import os

from ..home.project import Project, find_project
from ..home.setting_values import KEYS
from ..home.settings import HomeSettings
from ..home.workflow import role_names
from ..models.said import Said
from ..models.workflow import TOPK, Workflow
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, say, say_json, say_value, warn, words


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
        say_json(content)
        return DONE
    for name, value in values.items():
        shown = json.dumps(value, ensure_ascii=False, default=str)
        say(f"{name} = {shown}  ({loaded.origins[name]})")
    say_value("密钥", "key", key)
    where = Said("这里没有", "none here")
    if project is not None:
        own, which = project.own_store, f"{project.shown} ({project.root})"
        zh, en = ("自己的库", "its own store") if own else ("家里的一个域", "in the home")
        where = Said(f"{which}，{zh}", f"{which}, {en}")
    say_value("项目", "project", where)
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
        return Said(f"文件 {file}", f"the file {file}")
    if not name:
        return Said("没有，写的文件用不了", "none, because the file that is named cannot be used")
    zh, en = ("已设", "set") if os.environ.get(name, "").strip() else ("未设", "not set")
    return Said(f"环境变量 {name}（{zh}）", f"the environment variable {name} ({en})")


def _tell_workflow(project: Project, workflow: Workflow) -> None:
    topk = TOPK if workflow.topk is None else workflow.topk
    names = ", ".join(role_names(project.memory, workflow))
    say_value("workflow.toml", "workflow.toml", workflow.path)
    say_value("  记忆在", "  memory root", project.memory)
    say_value("  自动附上几条", "  memories given by themselves", topk)
    say_value("  角色", "  roles", names or Said("没有", "none"))
