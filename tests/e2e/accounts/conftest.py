"""A bot with a Telegram account beside its QQ one, and with an embedding provider, that shares its
memory with coding agents."""

import json
import sys

from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.accounts.bot_api import Telegram
from astrbot_plugin_scoped_memory.tests.e2e.bots import bot
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import environ_of


def with_a_server_of_its_own(rig: Rig) -> None:
    """AstrBot is an MCP client, too; here it starts a server over a home beside its memory."""
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "llm_memory", "serve", "--project", "notes"],
        "env": environ_of(rig.root / "home", "zh"),
        "active": True,
    }
    text = json.dumps({"mcpServers": {"notes": server}})
    (rig.bot.data / "mcp_server.json").write_text(text, "utf-8")


rig = bot("accounts", scope="package", telegram=Telegram(), before_start=with_a_server_of_its_own)
