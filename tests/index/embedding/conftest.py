"""A service of embeddings on loopback."""

from collections.abc import Iterator

import pytest

from astrbot_plugin_scoped_memory.tests.support.servers.embedding_server import (
    EmbeddingServer,
    serving,
)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A new one, which answers well until a test says otherwise."""
    with serving() as running:
        yield running
