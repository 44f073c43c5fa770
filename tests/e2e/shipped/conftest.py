"""The bot of this folder: its owner has installed the plugin and set nothing."""

from astrbot_plugin_scoped_memory.tests.e2e.bots import bot

rig = bot("shipped", scope="package")
