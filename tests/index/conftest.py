"""A server for all tests of Chroma."""

from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import server  # noqa: F401
