"""The engine that tests of the plugin's own parts begin with."""

from astrbot_plugin_scoped_memory.tests.core.conftest import rig

__all__ = ["rig"]
