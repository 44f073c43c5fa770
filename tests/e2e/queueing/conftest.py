"""The bot of this folder."""

from astrbot_plugin_scoped_memory.tests.e2e.bots import bot

rig = bot("queueing", scope="package")
