"""`make soak SEED=7 ARGS="--seconds 60"`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Heard only where this folder is named on the command line."""
    parser.addoption("--seconds", type=float, default=None, help="of load, instead of the usual")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The one that `make soak` prints, of every choice: hypothesis' own."""
    return int(request.config.getoption("--hypothesis-seed") or 1)


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float | None:
    """None for the usual length."""
    given: float | None = request.config.getoption("--seconds")
    return given
