"""``config``: the settings in force, where each comes from, and what was passed over."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict

from ..home.project import find_project
from ..home.setting_values import KEYS
from ..home.settings import HomeSettings, LoadedSettings
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, say, warn, words


def show_config(args: argparse.Namespace) -> int:
    """Print the settings. The key of an embedding service is never printed. Raises HomeError."""
    loaded = read_settings(args)
    project = find_project(project_folder(args), loaded.settings.project)
    source = _key_source(loaded.settings)
    values = _values(loaded)
    if wants_json(args):
        content = {
            "settings": {
                key: {"value": value, "origin": loaded.origins[key]}
                for key, value in values.items()
            },
            "key": source,
            "project": None
            if project is None
            else {
                "name": project.name,
                "root": str(project.root),
                "own_store": project.own_store,
            },
            "warnings": [words(one.zh, one.en) for one in loaded.warnings],
        }
        say(json.dumps(content, ensure_ascii=False, indent=2))
        return DONE
    for key, value in values.items():
        say(f"{key} = {json.dumps(value, ensure_ascii=False)}  ({loaded.origins[key]})")
    say(f"密钥 / key: {source}")
    if project is None:
        say("项目：这里没有 / project: none here")
    else:
        where = "自己的库 / its own store" if project.own_store else "家里的一个域 / in the home"
        say(f"项目 / project: {project.name} ({project.root}), {where}")
    warn(loaded.warnings)
    return DONE


def _values(loaded: LoadedSettings) -> dict[str, str | int]:
    values = asdict(loaded.settings)
    return {
        key: value if isinstance(value, int) else "" if value is None else str(value)
        for key, value in ((key, values[key]) for key in KEYS)
    }


def _key_source(settings: HomeSettings) -> str:
    """Returns where the key of an embedding service comes from, never the key."""
    if settings.embedding_key_file is not None:
        return f"文件 / file {settings.embedding_key_file}"
    name = settings.embedding_key_env
    if not name:
        return "没有，写的文件用不了 / none: the file that is named cannot be used"
    there = "已设 / set" if os.environ.get(name, "").strip() else "未设 / not set"
    return f"环境变量 / environment variable {name} ({there})"
