"""The values of a home's settings: what each key may hold, read from TOML or from text."""

from __future__ import annotations

import locale
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args
from urllib.parse import urlsplit

from ..models.settings import PrivacyMode
from ..storage.files import OTHERS
from ..vault.folder_walk import is_link
from .places import expanded, is_folder
from .project import check_name

type Language = Literal["auto", "zh", "en"]
LANGUAGES: Final[tuple[str, ...]] = get_args(Language.__value__)


def spoken(language: str) -> Literal["zh", "en"]:
    """Returns the language; for ``auto`` what the machine's locale says."""
    if language == "auto":
        said = os.environ.get("LC_ALL") or os.environ.get("LANG") or locale.getlocale()[0] or ""
        language = "zh" if said.lower().startswith(("zh", "chinese")) else "en"
    return "zh" if language == "zh" else "en"


EMBEDDINGS: Final = ("auto", "bundled", "lexical", "http")
"""What ``embedding`` may be besides the path of a folder with a model."""
MIN_TOKENS, MAX_TOKENS = 100, 8000
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}", re.ASCII)
_LONGEST: Final = 1000


class BadValue(ValueError):
    """A value that its key cannot hold. The message says why, without the value: it may be a
    secret."""


@dataclass(frozen=True, slots=True)
class ParseContext:
    """Where a value stands: relative paths begin at ``base``."""

    base: Path
    environ: Mapping[str, str]


def _text(value: object, _: ParseContext) -> str:
    if not isinstance(value, str):
        raise BadValue("要文字 / must be text")
    text = value.strip()
    if len(text) > _LONGEST or not text.isprintable():
        raise BadValue("要一行文字 / must be one line of text")
    return text


def _option(*options: str) -> Callable[[object, ParseContext], str]:
    def read(value: object, context: ParseContext) -> str:
        text = _text(value, context)
        if text not in options:
            raise BadValue(f"只能是 / must be one of {', '.join(options)}")
        return text

    return read


def _tokens(value: object, _: ParseContext) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value, re.ASCII):
        value = int(value)
    # True is an int in Python, and no number of tokens.
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadValue("要整数 / must be a whole number")
    if not MIN_TOKENS <= value <= MAX_TOKENS:
        raise BadValue(f"要在 {MIN_TOKENS}–{MAX_TOKENS} 之间 / must be {MIN_TOKENS}–{MAX_TOKENS}")
    return value


def _project(value: object, context: ParseContext) -> str:
    """Raises HomeError: with another name, memories would silently go elsewhere."""
    name = _text(value, context)
    if name:
        check_name(name)
    return name


def _folder(value: object, context: ParseContext) -> Path:
    text = _text(value, context)
    if not text:
        raise BadValue("要一个路径 / must be a path")
    return expanded(text, context.base, context.environ)


def _embedding(value: object, context: ParseContext) -> str:
    text = _text(value, context)
    if text in EMBEDDINGS:
        return text
    folder = expanded(text, context.base, context.environ)
    if text and is_folder(folder):
        return str(folder)
    near = get_close_matches(text, EMBEDDINGS, 1)
    meant = f"；是不是 / did you mean {near[0]}?" if near else ""
    raise BadValue(
        f"只能是 {', '.join(EMBEDDINGS)} 或已有的模型文件夹 / must be one of these or an existing "
        f"folder with a model{meant}"
    )


def _url(value: object, context: ParseContext) -> str:
    text = _text(value, context)
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and bool(parts.hostname)
        secret = parts.username is not None or bool(parts.query)
    except ValueError:
        known = secret = False
    if not known:
        raise BadValue("要 http:// 或 https:// 地址 / must be an http:// or https:// address")
    if secret:
        raise BadValue(
            "地址里不能有密钥，请用 embedding_key_env 或 embedding_key_file / no key in the "
            "address: use embedding_key_env or embedding_key_file"
        )
    return text.rstrip("/")


def _variable(value: object, context: ParseContext) -> str:
    text = _text(value, context)
    if not _VARIABLE.fullmatch(text):
        raise BadValue(
            "要环境变量的名字（大写），不是密钥本身 / must be the name of an environment variable "
            "(upper case), not the key itself"
        )
    return text


def _key_file(value: object, context: ParseContext) -> Path | None:
    if isinstance(value, str) and not value.strip():
        return None
    path = _folder(value, context)
    if fault := key_file_fault(path):
        raise BadValue(fault)
    return path


def key_file_fault(path: Path) -> str:
    """Returns why a file may not hold the key of an embedding service; empty if it may. Other
    users of the machine must not be able to read it."""
    try:
        status = path.lstat()
    except OSError as error:
        # Without the path: a person may have put the key itself here.
        return f"读不了 / cannot be read: {error.strerror}"
    if is_link(path) or not stat.S_ISREG(status.st_mode):
        return f"不是普通文件 / not a plain file: {path}"
    if os.name != "nt" and status.st_mode & OTHERS:
        return f"别人也能读它，请先 / others can read it, first run: chmod 600 {path}"
    return ""


type Reader = Callable[[object, ParseContext], object]

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "home": _folder,
        "project": _project,
        "language": _option(*LANGUAGES),
        "embedding": _embedding,
        "embedding_url": _url,
        "embedding_model": _text,
        "embedding_key_env": _variable,
        "embedding_key_file": _key_file,
        "privacy_mode": lambda value, context: PrivacyMode(
            _option(*(mode.value for mode in PrivacyMode))(value, context)
        ),
        "max_tokens": _tokens,
        "primer_tokens": _tokens,
    }
)
"""By key, in the order in which they are shown. Each takes a value as TOML or the command line has
it, and raises BadValue."""
