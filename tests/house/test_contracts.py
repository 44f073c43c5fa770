"""The layers of the house hold, and would not hold with a forbidden import in them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import checkout
import pytest

from astrbot_plugin_scoped_memory.tests.house.source import ROOT, files

LINTER = Path(sys.executable).with_name("lint-imports")


def lint(farm: Path) -> tuple[int, str]:
    """Run all contracts over the package in `farm`; the exit status and what it printed."""
    config = checkout.ROOT / "pyproject.toml"
    done = subprocess.run(
        [LINTER, "--config", config, "--no-cache", "--no-logo"],
        cwd=farm,
        env={**os.environ, "PYTHONPATH": str(farm), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_contract_is_kept(tmp_path: Path) -> None:
    status, output = lint(checkout.farm(tmp_path))
    assert status == 0, output
    assert "0 broken" in output


PLANTS = {
    "recall uses a write": ("llm_memory/recall", "from .. import remember", "engine"),
    "an index uses recall": ("llm_memory/index", "from .. import recall", "engine"),
    "the vault uses an index": ("llm_memory/vault", "from .. import index", "engine"),
    "a store uses the catalogue": ("llm_memory/storage", "from .. import catalogue", "engine"),
    "a model uses a text's words": ("llm_memory/models", "from .. import text", "engine"),
    "tasks use the primer": ("llm_memory/tasks", "from .. import primer", "engine"),
    "a write uses reflection for its type": (
        "llm_memory/remember",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import reflection",
        "engine",
    ),
    "a service uses the composition": (
        "llm_memory/service",
        "from .. import composition",
        "engine",
    ),
    "the catalogue asks who may see": ("llm_memory/catalogue", "from .. import scopes", "engine"),
    "scopes read the vault": ("llm_memory/scopes", "from .. import vault", "engine"),
    "the runtime stores": ("llm_memory/runtime", "from .. import storage", "engine"),
    "a person's edits migrate": ("llm_memory/sync", "from .. import migration", "engine"),
    "recall opens an index": (
        "llm_memory/recall",
        "from ..index.vector import vector_store",
        "indexes",
    ),
    "the nightly run opens an index": (
        "llm_memory/consolidation",
        "from ..index.lexical import lexical_index",
        "indexes",
    ),
    "a migration opens an index": (
        "llm_memory/migration",
        "from ..index.vector import vector_store",
        "indexes",
    ),
    "a module has no place in the engine": ("llm_memory", "", "engine"),
    "a rule uses the engine's front door": (
        "llm_memory/recall/rules",
        "from ... import build_engine",
        "front door",
    ),
    "the engine uses AstrBot": ("llm_memory/service", "import astrbot", "no AstrBot"),
    "the engine uses AstrBot's logger, late": (
        "llm_memory/storage",
        "def log():\n    from astrbot.api import logger\n    return logger",
        "no AstrBot",
    ),
    "the engine uses the core": ("llm_memory/service", "from ... import core", "plugin"),
    "the core uses a tool": ("core", "from .. import tools", "plugin"),
    "the core uses main": ("core/services", "from ... import main", "plugin"),
    "a tool uses main": ("tools", "from .. import main", "plugin"),
    "the core uses the harness": ("core", "from .. import harness", "plugin"),
    "a rule logs": ("llm_memory/reflection/rules", "import logging", "rules"),
    "a format logs": ("llm_memory/vault/markdown", "import loguru", "rules"),
    "a rule opens a store": ("llm_memory/scopes/rules", "from ...storage import sqlite", "rules"),
    "reflection decides": (
        "llm_memory/reflection",
        "from ..decisions import recorder",
        "one writer",
    ),
    "a tool of agents decides": (
        "llm_memory/mcp_server",
        "from ..decisions.shared_files import SharedFiles",
        "one writer",
    ),
    "a tool of the bot decides": ("tools", "from ..llm_memory import decisions", "one writer"),
    "a bot reads a home's file": ("core", "from ..llm_memory.home import settings", "no home"),
    "reflection changes a soul": ("llm_memory/reflection", "from .. import soul", "one soul"),
    "a tool of the bot changes a soul": ("tools", "from ..llm_memory import soul", "one soul"),
    "a rule starts a task": ("llm_memory/recall/rules", "import asyncio", "rules"),
}
TITLES = {
    "front door": "Nothing in the engine comes in by its front door",
    "engine": "The engine: an import goes down",
    "plugin": "The plugin: main >",
    "no AstrBot": "The engine knows no AstrBot",
    "rules": "Rules are pure",
    "one writer": "One writer of shared/",
    "no home": "A bot needs no home",
    "one soul": "One way to a soul:",
    "indexes": "The indexes are asked through",
}


def planted(name: str) -> str:
    """The module that breaks a contract by this plant."""
    return f"planted_{list(PLANTS).index(name)}"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each broken contract where every plant stands, by the contract's title."""
    farm = checkout.farm(tmp_path_factory.mktemp("planted"), copy=True)
    for name, (folder, code, _) in PLANTS.items():
        place = farm / checkout.NAME / folder
        assert place.is_dir(), f"{folder} does not exist"
        (place / f"{planted(name)}.py").write_text(code + "\n", encoding="utf-8")
    status, output = lint(farm)
    assert status != 0, output
    _, _, told = output.partition("Broken contracts\n")
    # Each title is underlined.
    pieces = re.split(r"^(.+)\n-{5,}\n", told, flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_import_breaks_its_contract(broken: dict[str, str], name: str) -> None:
    title = TITLES[PLANTS[name][-1]]
    (said,) = [said for contract, said in broken.items() if contract.startswith(title)]
    assert re.search(rf"\.{planted(name)}( ->|$)", said, re.MULTILINE), said


def test_engines_are_put_together_in_one_place() -> None:
    """Tests name what they replace: a second assembly would itself be what is tested."""
    parts = ("llm_memory", "core", "tools", "harness", "benchmarks", "scripts", "tests")
    made = {
        path.relative_to(ROOT).as_posix()
        for part in parts
        for path in files(part)
        if re.search(r"\b(EngineParts|assemble)\(", path.read_text("utf-8"))
    }
    assert made == {"llm_memory/composition/assembly.py", "llm_memory/composition/engine.py"}
