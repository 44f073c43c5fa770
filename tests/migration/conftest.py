"""The server that a foreign collection may lie on."""

from astrbot_plugin_scoped_memory.tests.support.chroma_server import server  # noqa: F401
