"""The server that a foreign collection may lie on, and a folder for a store beside a bot."""

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.migration.test_adoption import Simple
from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import server  # noqa: F401


@pytest.fixture
def simple(tmp_path: Path) -> Simple:
    """Nothing in it yet."""
    return Simple(tmp_path / "own", tmp_path / "plugin_data")
