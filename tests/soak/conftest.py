"""`make soak ARGS="--seed 7 --seconds 60"`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.load.figures import Figures

_RESULTS = Path(__file__).resolve().parents[2] / "build" / "soak"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Heard only where this folder is named on the command line."""
    parser.addoption("--seed", type=int, default=None, help="of every choice; random by default")
    parser.addoption("--seconds", type=float, default=None, help="of load, instead of the usual")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The table shows it: the same seed makes the same choices."""
    given: int | None = request.config.getoption("--seed", None)
    return secrets.randbelow(1_000_000) if given is None else given


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float | None:
    """None for the usual length."""
    given: float | None = request.config.getoption("--seconds", None)
    return given


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[[Figures], None]:
    """Print figures as a table and keep them in build/soak/."""

    def showing(figures: Figures) -> None:
        path = figures.save(_RESULTS)
        with capsys.disabled():
            print(f"\n{figures.table()}\n  kept in {path.relative_to(_RESULTS.parents[1])}")  # noqa: T201

    return showing
