"""The server that a foreign collection may lie on."""

from astrbot_plugin_scoped_memory.tests.support.servers.chroma_server import server  # noqa: F401
