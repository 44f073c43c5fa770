"""A plugin of the test's own, in the bot beside ours: how late the bot's event loop comes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.tests.support import stalls

_MAIN = '''"""Writes, once a second, how late the event loop was: stalls.jsonl beside this file."""

import asyncio
import json
from pathlib import Path

from astrbot.api.star import Star

from .stalls import StallWatch

FILE = Path(__file__).with_name("stalls.jsonl")


class StallMeter(Star):
    """Measures from the first moment on."""

    async def initialize(self):
        self.task = asyncio.create_task(self.measure())

    async def measure(self):
        async with StallWatch() as watch:
            while True:
                await asyncio.sleep(1)
                worst = watch.take()
                row = {"loop": worst.loop_ms, "held": worst.interpreter_ms, "where": worst.where}
                with FILE.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\\n")

    async def terminate(self):
        self.task.cancel()
'''
_ABOUT = """name: stall_meter
desc: Measures how late the event loop comes.
version: v1.0.0
author: the tests
repo: ""
"""


def install_meter(plugins: Path) -> Path:
    """Put the meter into a bot that does not run. Gives the file that it will write."""
    folder = plugins / "stall_meter"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(_MAIN, "utf-8")
    (folder / "metadata.yaml").write_text(_ABOUT, "utf-8")
    shutil.copy(stalls.__file__, folder / "stalls.py")
    return folder / "stalls.jsonl"


def read_meter(file: Path) -> list[dict[str, Any]]:
    """What it wrote; a line that a kill tore is left out."""
    if not file.exists():
        return []
    lines = file.read_text("utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines if line.endswith("}")]
