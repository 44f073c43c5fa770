"""What each setting is for, in a line; and the two settings files as they are written first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from .settings import OF_A_PROJECT, HomeSettings

WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "home": "记忆的家，一个文件夹 / the folder of the home",
        "project": "项目名，空着就用文件夹的名字 / the project's name, empty: its folder's",
        "language": "说话用的语言 / the language: auto, zh, en",
        "embedding": "auto, bundled, lexical, http, 或模型文件夹 / or a folder with a model",
        "embedding_url": "embedding = http 时的地址 / its address: https://api.openai.com/v1, "
        "http://localhost:11434/v1",
        "embedding_model": "那里的模型名 / the model's name there: text-embedding-3-small",
        "embedding_key_env": "密钥在哪个环境变量里 / the variable that holds the key",
        "embedding_key_file": "或密钥在哪个文件里（chmod 600） / or the file that holds it",
        "privacy_mode": "密码和号码：redact 隐去, reject 不记, off 照记 / "
        "secrets: hidden, refused, kept",
        "max_tokens": "一次搜索最多多少 token，100–8000 / the most of one search",
        "primer_tokens": "开场摘要最多多少 token，100–8000 / the most of the primer",
    }
)
_HEAD: Final = (
    "# 记忆的设置；去掉行首的 # 就生效。看现在的值：python -m llm_memory config\n"
    "# Settings of the memory; remove the # to set one. What is in force: python -m llm_memory "
    "config\n"
)


def config_text() -> str:
    """Returns a home's settings file that sets nothing, with every key and its default."""
    plain = HomeSettings(Path())
    keys = [key for key in WORDS if key != "home"]
    return _HEAD + "".join(f"\n{_line(key, getattr(plain, key))}" for key in keys)


def project_text(name: str) -> str:
    """Returns a project's settings file that sets its name alone."""
    plain = HomeSettings(Path())
    others = [key for key in WORDS if key in OF_A_PROJECT - {"project"}]
    named = f"\n# {WORDS['project']}\nproject = {_toml(name)}\n"
    return _HEAD + named + "".join(f"\n{_line(key, getattr(plain, key))}" for key in others)


def _line(key: str, value: object) -> str:
    return f"# {WORDS[key]}\n# {key} = {_toml(value)}\n"


def _toml(value: object) -> str:
    # Of text and whole numbers, JSON writes what TOML reads.
    return json.dumps("" if value is None else value, ensure_ascii=False)
