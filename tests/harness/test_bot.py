"""How a bot's end is told, and what its settings are made of."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.bot import STARTED, AstrBotProcess, BotDied
from astrbot_plugin_scoped_memory.harness.rig import PATIENCE, merged
from astrbot_plugin_scoped_memory.harness.settings import BotSettings
from astrbot_plugin_scoped_memory.harness.waiting import free_port

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="signals"),
]

BOT = """#!{python}
import http.server, signal, sys

class Panel(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

{at_sigterm}
print({started!r}, flush=True)
http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Panel).serve_forever()
"""
EXITS = "signal.signal(signal.SIGTERM, lambda *_: sys.exit({}))"


async def started(root: Path, at_sigterm: str) -> AstrBotProcess:
    """A program in the place of AstrBot, up."""
    port = free_port()
    program = root / "bot.py"
    program.write_text(
        BOT.format(python=sys.executable, started=STARTED, port=port, at_sigterm=at_sigterm),
        encoding="utf-8",
    )
    program.chmod(0o755)
    bot = AstrBotProcess(root, BotSettings("", port, free_port()), python=program)
    await bot.start()
    return bot


@pytest.mark.parametrize(
    ("at_sigterm", "status"), [("", -signal.SIGTERM), (EXITS.format(0), 0)], ids=["killed", "ends"]
)
async def test_an_end_by_sigterm_has_its_own_status(
    tmp_path: Path, at_sigterm: str, status: int
) -> None:
    bot = await started(tmp_path, at_sigterm)
    assert bot.sigterm() == status
    assert not bot.running


async def test_an_end_by_anything_else_is_no_end_by_sigterm(tmp_path: Path) -> None:
    bot = await started(tmp_path, EXITS.format(3))
    with pytest.raises(BotDied, match="status 3"):
        bot.sigterm()


def test_settings_are_merged_deeply() -> None:
    given = {"advanced": {"migration_batch": 2}, "embedding": "auto"}
    assert merged(PATIENCE, given) == {
        "advanced": {**PATIENCE["advanced"], "migration_batch": 2},
        "embedding": "auto",
    }
    assert merged(PATIENCE, {"advanced": {"recall_deadline_ms": 1}})["advanced"] == {
        "recall_deadline_ms": 1
    }
    assert "migration_batch" not in PATIENCE["advanced"]
