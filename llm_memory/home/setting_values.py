"""The settings of a home, each with what it may hold, read from TOML or from text."""

from __future__ import annotations

import locale
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

from ..errors import HomeError, InvalidService
from ..models.said import Spoken, did_you_mean
from ..models.settings import PrivacyMode
from .places import is_folder
from .project import check_name

type Language = Literal["auto", "zh", "en"]
LANGUAGES: Final[tuple[str, ...]] = get_args(Language.__value__)
EMBEDDINGS: Final = ("auto", "bundled", "lexical", "http")
"""What ``embedding`` may be besides the path of a folder with a model."""
MIN_TOKENS, MAX_TOKENS = 100, 8000
_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,63}", re.ASCII)
_LONGEST: Final = 1000


def spoken(language: str) -> Spoken:
    """Returns the language; for ``auto`` what the machine's locale says."""
    if language == "auto":
        said = os.environ.get("LC_ALL") or os.environ.get("LANG") or locale.getlocale()[0] or ""
        language = "zh" if said.lower().startswith(("zh", "chinese")) else "en"
    return "zh" if language == "zh" else "en"


class BadValue(HomeError):
    """A value that its key cannot hold. The message says why, without the value: it may be a
    secret."""


type Expand = Callable[[str], Path]
"""Makes a path absolute, from where the value stands."""
type Reader = Callable[[object, Expand], object]
"""Takes a value as TOML or the command line has it. Raises BadValue."""


@dataclass(frozen=True, slots=True)
class Key:
    """A setting: how it is read, what it is for, and whether a project's file may set it."""

    name: str
    read: Reader
    zh: str
    en: str
    of_project: bool = False


def _text(value: object, _: Expand) -> str:
    if not isinstance(value, str):
        raise BadValue("要文字", "must be text")
    line = value.strip()
    if len(line) > _LONGEST or not line.isprintable():
        raise BadValue("要一行文字", "must be one line of text")
    return line


def _one_of[Option: str](*options: Option) -> Callable[[object, Expand], Option]:
    def read(value: object, expand: Expand) -> Option:
        word = _text(value, expand)
        if word not in options:
            listed = ", ".join(options)
            raise BadValue(f"只能是 {listed}", f"must be one of {listed}")
        return options[options.index(word)]

    return read


def _tokens(value: object, _: Expand) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value, re.ASCII):
        value = int(value)
    # True is an int in Python, and no number of tokens.
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadValue("要整数", "must be a whole number")
    if not MIN_TOKENS <= value <= MAX_TOKENS:
        limits = f"{MIN_TOKENS}–{MAX_TOKENS}"
        raise BadValue(f"要在 {limits} 之间", f"must be {limits}")
    return value


def _project(value: object, expand: Expand) -> str:
    """Raises HomeError: with another name, memories would silently go elsewhere."""
    name = _text(value, expand)
    if name:
        check_name(name)
    return name


def _folder(value: object, expand: Expand) -> Path:
    path = _text(value, expand)
    if not path:
        raise BadValue("要一个路径", "must be a path")
    return expand(path)


def _embedding(value: object, expand: Expand) -> str:
    word = _text(value, expand)
    if word in EMBEDDINGS:
        return word
    path = expand(word)
    if word and is_folder(path):
        return str(path)
    listed, meant = ", ".join(EMBEDDINGS), did_you_mean(word, EMBEDDINGS)
    raise BadValue(
        f"只能是 {listed} 或已有的模型文件夹{meant.zh}",
        f"must be one of {listed} or an existing folder with a model{meant.en}",
    )


def _url(value: object, expand: Expand) -> str:
    address = _text(value, expand)
    if "?" in address:
        raise BadValue(
            "地址里不能有密钥，请用 embedding_key_env 或 embedding_key_file",
            "no key in the address: use embedding_key_env or embedding_key_file",
        )
    if address:
        from ..index.embedding.service.address import endpoint  # most homes name no service

        _checked(endpoint, address)
    return address.rstrip("/")


def _checked(check: Callable[..., object], *arguments: object) -> None:
    try:
        check(*arguments)
    except InvalidService as error:
        raise BadValue(error.zh, str(error)) from None


def _variable(value: object, expand: Expand) -> str:
    name = _text(value, expand)
    if not _VARIABLE.fullmatch(name):
        raise BadValue(
            "要环境变量的名字（大写），不是密钥本身",
            "must be the name of an environment variable (upper case), not the key itself",
        )
    return name


def _key_file(value: object, expand: Expand) -> Path | None:
    if not _text(value, expand):
        return None
    from ..index.embedding.service.api_key import key_from  # most homes name no service

    path = _folder(value, expand)
    _checked(key_from, {}, "", path)
    return path


KEYS: Final[Mapping[str, Key]] = MappingProxyType({key.name: key for key in (
    Key("home", _folder, "记忆的家，一个文件夹", "the folder of the home"),
    Key("project", _project, "项目名，空着就用文件夹的名字",
        "the project's name, empty for that of its folder", of_project=True),
    Key("language", _one_of(*LANGUAGES), "说什么语言：auto, zh, en",
        "the language: auto, zh, en", of_project=True),
    Key("embedding", _embedding, "auto, bundled, lexical, http，或一个模型文件夹",
        "auto, bundled, lexical, http, or a folder with a model"),
    Key("embedding_url", _url,
        "嵌入服务的地址：https://api.openai.com/v1, http://localhost:11434/v1",
        "the embedding service: https://api.openai.com/v1, http://localhost:11434/v1"),
    Key("embedding_model", _text, "那里的模型名：text-embedding-3-small",
        "the model's name there: text-embedding-3-small"),
    Key("embedding_key_env", _variable, "密钥在哪个环境变量里",
        "the environment variable that holds the service's key"),
    Key("embedding_key_file", _key_file, "或者密钥在哪个文件里（chmod 600），写了就只用它",
        "or the file that holds it (chmod 600), which comes first"),
    Key("privacy_mode", _one_of(*PrivacyMode), "密码和号码：redact 隐去, reject 不记, off 照记",
        "passwords and numbers: redact hides them, reject refuses the text, off keeps them"),
    Key("max_tokens", _tokens, "一次搜索最多多少 token，100–8000",
        "the most tokens of a search, 100–8000", of_project=True),
    Key("primer_tokens", _tokens, "开场摘要最多多少 token，100–8000",
        "the most tokens of the primer, 100–8000", of_project=True),
)})  # fmt: skip
"""In the order in which they are shown."""
