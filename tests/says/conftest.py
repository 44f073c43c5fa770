"""No setting or folder of the machine's reaches these tests."""

from astrbot_plugin_scoped_memory.tests.support.agents.own_user import own_user

__all__ = ["own_user"]
