"""The settings of a home: defaults, then the home's file, then the project's file, then the
environment, then flags.

A repository may be hostile, so its file sets only what cannot send memories anywhere or read a
key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ..errors import HomeError
from ..models.settings import PrivacyMode
from ..vault.folder_walk import is_link
from .places import CONFIG, default_home
from .project import PROJECT_FOLDER, find_root
from .setting_values import READERS, BadValue, Language, ParseContext

PREFIX: Final = "SCOPED_MEMORY_"
DEFAULT: Final = "default"
OF_A_PROJECT: Final = frozenset({"project", "max_tokens", "primer_tokens", "language"})
"""What a project's file may set."""
_MAX_BYTES: Final = 64 * 1024
_MOST_KEYS: Final = 50
_PLACE: Final = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """What a standalone memory can be told.

    Attributes:
        home: The folder of the home, absolute.
        project: The project's name; empty to take it from the folder.
        language: Of what is said to the agent: ``auto``, ``zh`` or ``en``.
        embedding: ``auto``, ``bundled``, ``lexical``, ``http``, or the absolute path of a folder
            with a model.
        embedding_url: Address of an OpenAI-compatible embedding service, without a slash at its
            end; used with ``http``.
        embedding_model: The model's name there.
        embedding_key_env: The environment variable that holds the service's key; empty where a key
            file was named and cannot be used, for then no key is sent.
        embedding_key_file: A file that holds it, which others cannot read; it comes first.
        privacy_mode: What becomes of secrets in a text that is to be remembered.
        max_tokens: The most that a search answers with, unless the caller says otherwise.
        primer_tokens: The most that the primer answers with.
    """

    home: Path
    project: str = ""
    language: Language = "auto"
    embedding: str = "auto"
    embedding_url: str = ""
    embedding_model: str = ""
    embedding_key_env: str = "OPENAI_API_KEY"
    embedding_key_file: Path | None = None
    privacy_mode: PrivacyMode = PrivacyMode.REDACT
    max_tokens: int = 1500
    primer_tokens: int = 800


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force.

    Attributes:
        settings: The values.
        origins: By key: ``default``, the path of a file, the name of an environment variable, or
            a flag such as ``--max-tokens``.
        warnings: What was not taken and why, a line each in two languages. None holds a value.
        named: The project's name as a person gave it by a flag, a variable or the home's file;
            empty for none. What the project's own file says of it is a checkout's word.
    """

    settings: HomeSettings
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    named: str = ""


def load_settings(
    *, flags: Mapping[str, str], environ: Mapping[str, str], cwd: Path
) -> LoadedSettings:
    """Read the layers; a later one wins, key by key.

    Args:
        flags: What the command line says, by key; an empty text says nothing.
        environ: The environment. ``SCOPED_MEMORY_<KEY>`` sets a key; empty says nothing.
        cwd: The folder of the project, or one below it. Relative paths begin there.

    Raises:
        HomeError: a file is no TOML or cannot be read, a flag's value is none of its key, or a
            project's name is illegal.
    """
    merging = _Merging(environ)
    stated = {
        name.removeprefix(PREFIX).lower(): (text, name)
        for name, text in environ.items()
        if name.startswith(PREFIX) and text
    }
    said = {key: (text, flag_of(key)) for key, text in flags.items() if text}
    for layer in (stated, said):  # before the files: it tells where they are
        if "home" in layer:
            merging.take("home", *layer.pop("home"), base=cwd)
    merging.take_file(merging.home / CONFIG, only=frozenset(READERS) - {"home"})
    if root := find_root(cwd):
        merging.take_project_file(root / PROJECT_FOLDER / CONFIG)
    for layer in (stated, said):
        for key, (text, origin) in layer.items():
            merging.take(key, text, origin, base=cwd)
    return merging.done()


def flag_of(key: str) -> str:
    """Returns the flag that sets a key."""
    return "--" + key.replace("_", "-")


class _Merging:
    """The layers so far."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._values: dict[str, Any] = {"home": default_home(environ)}
        self._origins = dict.fromkeys(READERS, DEFAULT)
        self._warnings: list[str] = []
        self._named = ""
        self._keyless = False

    @property
    def home(self) -> Path:
        """The home as it stands now."""
        home: Path = self._values["home"]
        return home

    def done(self) -> LoadedSettings:
        """Returns what came of all layers."""
        if self._keyless:  # the key of another service must not be sent in its place
            self._values |= {"embedding_key_file": None, "embedding_key_env": ""}
        return LoadedSettings(
            HomeSettings(**self._values),
            MappingProxyType(self._origins),
            tuple(self._warnings),
            self._named,
        )

    def take(
        self, key: str, value: object, origin: str, *, base: Path, persons: bool = True
    ) -> None:
        """Take a value, or warn of it and keep the one of the layers before; that of a flag must be
        a good one. ``persons``: a person on this machine said it. Raises HomeError."""
        reader = READERS.get(key)
        if reader is None:
            self._warn(origin, _unknown(key))
            return
        try:
            read = reader(value, ParseContext(base, self._environ))
        except BadValue as error:
            if origin == flag_of(key):  # the person is there, and means another value
                raise HomeError(f"{origin}: {error}") from error
            self._warn(origin, f"{key}：{error}")
            self._keyless |= key == "embedding_key_file"
            return
        except HomeError as error:
            raise HomeError(f"{origin}: {error}") from error
        if key == "embedding_key_file":
            self._keyless = False
        if key == "project":
            if not read:
                return  # no name says nothing
            self._named = str(read) if persons else self._named
        self._values[key], self._origins[key] = read, origin

    def take_project_file(self, path: Path) -> None:
        """Take what a repository may say. Raises HomeError."""
        if is_link(path):
            self._warn(str(path), "是链接，没有读 / is a link, not read")
            return
        self.take_file(path, only=OF_A_PROJECT, persons=False)

    def take_file(self, path: Path, *, only: frozenset[str], persons: bool = True) -> None:
        """Take the keys ``only`` of a TOML file, and warn of the others. Raises HomeError."""
        content = _read(path)
        for number, (key, value) in enumerate(content.items()):
            if number == _MOST_KEYS:
                self._warn(str(path), "还有更多的键，没有读 / more keys, not read")
                return
            if key in READERS and key not in only:
                self._warn(str(path), f"这里不能设 / cannot be set here: {key}")
            else:
                self.take(key, value, str(path), base=path.parent, persons=persons)

    def _warn(self, origin: str, text: str) -> None:
        self._warnings.append(f"{origin}: {text}")


def _unknown(key: str) -> str:
    # The key stands in a file of a stranger's, perhaps: no escape of a terminal goes through.
    near = get_close_matches(key, READERS, 1)
    meant = f"；是不是 / did you mean {near[0]}?" if near else ""
    return f"没有这个键 / unknown key: {key[:40]!a}{meant}"


def _read(path: Path) -> dict[str, Any]:
    """Returns what a TOML file holds; nothing if there is none. Raises HomeError."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise HomeError(f"读不了 / cannot be read: {path} ({error.strerror})") from error
    if len(raw) > _MAX_BYTES:
        raise HomeError(f"太大了，不像设置 / too large for settings: {path}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        raise _broken(path, before, "not UTF-8") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.fullmatch(str(error))
        reason, line, column = found.groups() if found else (str(error), None, None)
        raise _broken(path, text, reason, line, column) from error
    except RecursionError as error:
        raise HomeError(f"嵌套太深 / nested too deeply: {path}") from error


def _broken(
    path: Path, before: str, reason: str, line: str | None = None, column: str | None = None
) -> HomeError:
    """Without ``line`` and ``column`` the fault stands at the end of ``before``."""
    lines = before.split("\n")
    return HomeError(
        f"{path}: 第 {line or len(lines)} 行第 {column or len(lines[-1]) + 1} 列不是合法的 TOML / "
        f"not valid TOML at line {line or len(lines)}, column {column or len(lines[-1]) + 1}: "
        f"{reason}"
    )
