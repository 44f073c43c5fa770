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
from ..models.settings import PrivacyMode
from ..texts import Spoken, nearest
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
    """A setting: how it is read, and whether a project's file may set it."""

    name: str
    read: Reader
    of_project: bool = False

    @property
    def code(self) -> str:
        """The text that says what it is for."""
        return f"setting.{self.name}"


def _text(value: object, _: Expand) -> str:
    if not isinstance(value, str):
        raise BadValue("value.text")
    line = value.strip()
    if len(line) > _LONGEST or not line.isprintable():
        raise BadValue("value.line")
    return line


def _one_of[Option: str](*options: Option) -> Callable[[object, Expand], Option]:
    def read(value: object, expand: Expand) -> Option:
        word = _text(value, expand)
        if word not in options:
            raise BadValue("value.option", options=", ".join(options))
        return options[options.index(word)]

    return read


def _tokens(value: object, _: Expand) -> int:
    if isinstance(value, str) and re.fullmatch(r"\s*[0-9]{1,9}\s*", value, re.ASCII):
        value = int(value)
    # True is an int in Python, and no number of tokens.
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadValue("value.number")
    if not MIN_TOKENS <= value <= MAX_TOKENS:
        raise BadValue("value.limits", low=MIN_TOKENS, high=MAX_TOKENS)
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
        raise BadValue("value.path")
    return expand(path)


def _embedding(value: object, expand: Expand) -> str:
    word = _text(value, expand)
    if word in EMBEDDINGS:
        return word
    path = expand(word)
    if word and is_folder(path):
        return str(path)
    listed, near = ", ".join(EMBEDDINGS), nearest(word, EMBEDDINGS)
    raise BadValue("value.embedding", options=listed, nearest=near)


def _url(value: object, expand: Expand) -> str:
    address = _text(value, expand)
    if "?" in address:
        raise BadValue("value.key_in_address")
    if address:
        from ..index.embedding.service.address import endpoint  # most homes name no service

        _checked(endpoint, address)
    return address.rstrip("/")


def _checked(check: Callable[..., object], *arguments: object) -> None:
    try:
        check(*arguments)
    except InvalidService as error:
        raise BadValue(error.said) from None


def _variable(value: object, expand: Expand) -> str:
    name = _text(value, expand)
    if not _VARIABLE.fullmatch(name):
        raise BadValue("value.variable")
    return name


def _key_file(value: object, expand: Expand) -> Path | None:
    if not _text(value, expand):
        return None
    from ..index.embedding.service.address import key_from  # most homes name no service

    path = _folder(value, expand)
    _checked(key_from, {}, "", path)
    return path


KEYS: Final[Mapping[str, Key]] = MappingProxyType({key.name: key for key in (
    Key("home", _folder),
    Key("project", _project, of_project=True),
    Key("language", _one_of(*LANGUAGES), of_project=True),
    Key("embedding", _embedding),
    Key("embedding_url", _url),
    Key("embedding_model", _text),
    Key("embedding_key_env", _variable),
    Key("embedding_key_file", _key_file),
    Key("privacy_mode", _one_of(*PrivacyMode)),
    Key("max_tokens", _tokens, of_project=True),
    Key("primer_tokens", _tokens, of_project=True),
)})  # fmt: skip
"""In the order in which they are shown."""
