"""`make soak ARGS="--seed 7 --seconds 60"`."""

from __future__ import annotations

import secrets

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Heard only where this folder is named on the command line."""
    parser.addoption("--seed", type=int, default=None, help="of every choice; random by default")
    parser.addoption("--seconds", type=float, default=None, help="of load, instead of the usual")


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its option
def pytest_configure(config: pytest.Config) -> None:
    """One seed for our own choices and for hypothesis, which is printed: the same seed makes the
    same stories."""
    if config.option.seed is None:
        config.option.seed = secrets.randbelow(1_000_000)
    config.option.hypothesis_seed = config.option.seed


def pytest_report_header(config: pytest.Config) -> str:
    """Printed above all tests."""
    return f'seed {config.option.seed}: to play this again, make soak ARGS="--seed ..."'


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The one that was printed."""
    given: int = request.config.option.seed
    return given


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> float | None:
    """None for the usual length."""
    given: float | None = request.config.option.seconds
    return given
