"""The layers of the house, which `make contracts` checks, would not hold with a forbidden import
in them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import checkout
import pytest

LINTER = Path(sys.executable).with_name("lint-imports")
PLANTS = (
    ("llm_memory/recall", "from .. import remember", "The engine: an import goes down"),
    (
        "llm_memory/remember",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import reflection",
        "The engine: an import goes down",
    ),
    ("llm_memory", "", "The engine: an import goes down"),  # a module without a place
    (
        "llm_memory/consolidation",
        "from ..index.lexical import lexical_index",
        "The indexes are asked through",
    ),
    (
        "llm_memory/recall/rules",
        "from ... import build_engine",
        "Nothing in the engine comes in by its front door",
    ),
    (
        "llm_memory/storage",
        "def log():\n    from astrbot.api import logger\n    return logger",
        "The engine knows no AstrBot",
    ),
    ("core", "from .. import harness", "The plugin: main >"),
    ("llm_memory/recall/rules", "import asyncio", "Rules are pure"),
    ("llm_memory/reflection", "from ..decisions import recorder", "One writer of shared/"),
    ("core", "from ..llm_memory.home import settings", "A bot needs no home"),
    ("tools", "from ..llm_memory import soul", "One way to a soul:"),
)
"""The folder that a module is planted in, what it holds, and the contract that it breaks."""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said of each broken contract where every plant stands, by the contract's title."""
    farm = checkout.farm(tmp_path_factory.mktemp("planted"), copy=True)
    for number, (folder, code, _) in enumerate(PLANTS):
        place = farm / checkout.NAME / folder
        assert place.is_dir(), f"{folder} does not exist"
        (place / f"planted_{number}.py").write_text(code + "\n", encoding="utf-8")
    done = subprocess.run(
        [LINTER, "--config", checkout.ROOT / "pyproject.toml", "--no-cache", "--no-logo"],
        cwd=farm,
        env={**os.environ, "PYTHONPATH": str(farm), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0, done.stdout
    _, _, told = done.stdout.partition("Broken contracts\n")
    # Each title is underlined.
    pieces = re.split(r"^(.+)\n-{5,}\n", told, flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


@pytest.mark.parametrize("number", range(len(PLANTS)))
def test_a_planted_import_breaks_its_contract(broken: dict[str, str], number: int) -> None:
    title = PLANTS[number][-1]
    (said,) = [said for contract, said in broken.items() if contract.startswith(title)]
    assert re.search(rf"\.planted_{number}( ->|$)", said, re.MULTILINE), said
