"""The settings of a home in layers: defaults, the home's file, the project's file, the environment,
flags. A later layer wins, key by key.

A repository may be hostile, so its file sets only what cannot send memories anywhere or read a
key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ..errors import HomeError
from ..models.settings import PrivacyMode
from ..storage.files import is_link
from ..storage.toml_file import read_toml
from ..texts import Said, at, nearest
from .places import CONFIG, PROJECT_FOLDER, default_home, expanded
from .project import find_root
from .setting_values import KEYS, BadValue, Language, spoken

PREFIX: Final = "SCOPED_MEMORY_"
DEFAULT: Final = "default"
_MOST_KEYS: Final = 50
_UNUSABLE: Final = object()


@dataclass(frozen=True, slots=True)
class HomeSettings:
    """What a standalone memory can be told; ``KEYS`` says what each is for.

    Attributes:
        home: Absolute.
        embedding: A word, or the absolute path of a folder with a model.
        embedding_url: Without a slash at its end.
        embedding_key_env: Empty where a key file was named and cannot be used: no key is sent then.
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
        warnings: What was not taken and why, a line each. None holds a value.
        named: The project's name as a person gave it by a flag, a variable or the home's file;
            empty for none. What the project's own file says of it is a checkout's word.
    """

    settings: HomeSettings
    origins: Mapping[str, str]
    warnings: tuple[Said, ...] = ()
    named: str = ""


def load_settings(
    *, flags: Mapping[str, str], environ: Mapping[str, str], cwd: Path
) -> LoadedSettings:
    """Returns what the layers come to: ``flags`` by key, and ``SCOPED_MEMORY_<KEY>`` of the
    environment; an empty text says nothing. Relative paths begin at ``cwd``, the folder of the
    project or one below it.

    Raises HomeError where a file is no TOML or cannot be read, a flag's value is none of its key,
    or a project's name is illegal.
    """
    layers = _Layers(environ)
    said = [
        (name.removeprefix(PREFIX).lower(), text, name)
        for name, text in environ.items()
        if name.startswith(PREFIX) and text
    ]
    said += [(name, text, flag_of(name)) for name, text in flags.items() if text]
    for name, text, origin in said:  # before the files: it tells where they are
        if name == "home":
            layers.take(name, text, origin, base=cwd)
    layers.take_file(layers.values["home"] / CONFIG)
    if root := find_root(cwd):
        layers.take_file(root / PROJECT_FOLDER / CONFIG, of_project=True)
    for name, text, origin in said:
        if name != "home":
            layers.take(name, text, origin, base=cwd)
    return layers.done()


def flag_of(name: str) -> str:
    """Returns the flag that sets a key."""
    return "--" + name.replace("_", "-")


class _Layers:
    """What the layers so far come to."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.values: dict[str, Any] = {"home": default_home(environ)}
        self._origins = dict.fromkeys(KEYS, DEFAULT)
        self._warnings: list[Said] = []
        self._named = ""

    def done(self) -> LoadedSettings:
        if self.values.get("embedding_key_file") is _UNUSABLE:
            # The key of another service must not be sent in its place.
            self.values |= {"embedding_key_file": None, "embedding_key_env": ""}
        settings, origins = HomeSettings(**self.values), MappingProxyType(self._origins)
        return LoadedSettings(settings, origins, tuple(self._warnings), self._named)

    def take_file(self, path: Path, *, of_project: bool = False) -> None:
        """Take what a TOML file may set, and warn of the rest. Raises HomeError."""
        if of_project and is_link(path):
            self._warnings.append(at(path, "path.link"))
            return
        for number, (name, value) in enumerate(read_toml(path).items()):
            if number == _MOST_KEYS:
                self._warnings.append(at(path, "value.more"))
                return
            key = KEYS.get(name)
            if key and (name == "home" or (of_project and not key.of_project)):
                self._warnings.append(at(path, "value.not_here", name=name))
            else:
                self.take(name, value, str(path), base=path.parent, of_project=of_project)

    def take(
        self, name: str, value: object, origin: str, *, base: Path, of_project: bool = False
    ) -> None:
        """Take a value, or warn of it and keep the one of the layers before. Raises HomeError for
        a flag's, whose person is there and means another value."""
        key = KEYS.get(name)
        if key is None:
            # A stranger may have written it: no escape of a terminal goes through.
            near = nearest(name, tuple(KEYS))
            self._warnings.append(at(origin, "value.unknown", name=f"{name[:40]!a}", nearest=near))
            return
        try:
            read = key.read(value, lambda path: expanded(path, base, self._environ))
        except HomeError as error:
            if origin == flag_of(name) or not isinstance(error, BadValue):
                raise HomeError(at(origin, error.said)) from error
            self._warnings.append(at(origin, at(name, error.said)))
            if name == "embedding_key_file":
                self.values[name] = _UNUSABLE
            return
        if name == "project":
            if not read:
                return  # no name says nothing
            self._named = self._named if of_project else str(read)
        self.values[name], self._origins[name] = read, origin


def config_text(language: str, project: str = "") -> str:
    """Returns a settings file with every key and its default as a comment: a home's, which sets
    nothing, or a project's, which sets its name alone."""
    plain, speech = HomeSettings(Path()), spoken(language)
    text = Said("home.config_head").text(speech) + "\n"
    for name, key in KEYS.items():
        if name == "home" or (project and not key.of_project):
            continue
        stated = project if name == "project" else ""
        # Of text and whole numbers, JSON writes what TOML reads.
        value = json.dumps(stated or getattr(plain, name) or "", ensure_ascii=False)
        mark = "" if stated else "# "
        text += f"\n# {Said(key.code).text(speech)}\n{mark}{name} = {value}\n"
    return text
