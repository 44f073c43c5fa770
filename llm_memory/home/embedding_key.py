"""The key of an embedding service: read where it is sent, shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from ..errors import HomeError
from .setting_values import key_file_fault
from .settings import HomeSettings

_MAX_BYTES: Final = 4096


def read_key(settings: HomeSettings, environ: Mapping[str, str]) -> str:
    """Returns the key, empty where there is none: many services on one's own machine want none.

    The file comes before the environment, for a person named it, while the variable has a default.

    Raises:
        HomeError: the file cannot be read, or others can read it. The message does not hold the
            key.
    """
    path = settings.embedding_key_file
    if path is None:
        return environ.get(settings.embedding_key_env, "").strip()
    if fault := key_file_fault(path):
        raise HomeError(f"embedding_key_file：{fault}")
    try:
        with path.open("rb") as file:
            key = file.read(_MAX_BYTES).decode("ascii").strip()
    except OSError as error:
        raise HomeError(f"embedding_key_file：{path} ({os.strerror(error.errno or 0)})") from error
    except UnicodeDecodeError:
        # The error itself quotes what it read.
        raise HomeError(f"embedding_key_file：不是密钥 / holds no key: {path}") from None
    if not key.isprintable():
        raise HomeError(f"embedding_key_file：要只有一行 / must be one line: {path}")
    return key


def key_source(settings: HomeSettings, environ: Mapping[str, str]) -> str:
    """Returns where the key comes from and whether there is one, never the key."""
    if settings.embedding_key_file is not None:
        return f"文件 / file {settings.embedding_key_file}"
    name = settings.embedding_key_env
    there = "已设 / set" if environ.get(name, "").strip() else "未设 / not set"
    return f"环境变量 / environment variable {name} ({there})"
