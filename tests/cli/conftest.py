"""No setting or folder of the machine's reaches these tests."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.agents.own_user import own_user
from astrbot_plugin_scoped_memory.tests.support.agents.shell import Shell

__all__ = ["own_user"]


@pytest.fixture
def home(own_user: Path) -> Path:
    """Where the memories of its user lie."""
    return own_user / "memories"


@pytest.fixture
def shell(own_user: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The command line in the folder of a project."""
    return Shell(capsys)
