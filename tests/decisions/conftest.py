"""A user of one's own, for tests of the command line."""

from astrbot_plugin_scoped_memory.tests.support.agents.own_user import own_user

__all__ = ["own_user"]
