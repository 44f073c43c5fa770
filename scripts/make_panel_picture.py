"""The second picture in the README: the scope map in the panel of a running demo.

    make demo ARGS='--port 16185'
    .venv/bin/python scripts/make_panel_picture.py http://127.0.0.1:16185

Needs chromium and a font with Chinese characters, such as Noto Sans CJK.
"""

import asyncio
import base64
import itertools
import json
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import checkout

checkout.register()

from astrbot_plugin_scoped_memory.harness.panel import USER  # noqa: E402
from astrbot_plugin_scoped_memory.harness.settings import PASSWORD  # noqa: E402

TARGET = checkout.ROOT / "docs" / "images" / "panel.png"

_CHROMIUM = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--window-size=1200,900",
)
# The panel asks for a new password at the first login; the picture is of something else.
_DISMISS = "document.querySelectorAll('.v-overlay-container').forEach(e => e.remove())"
_GEAR = """[...document.querySelectorAll('.v-card')].find(c => c.innerText.includes('忆域'))
.querySelector('.mdi-cog').closest('button').click()"""
_CHANGE = """[...document.querySelectorAll('.v-overlay--active button')]
.find(b => b.innerText === '修改').click()"""
_DRAWN_SECONDS = 3.0


class Tab:
    """A browser tab, spoken to in the DevTools protocol."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """One command; its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            answer = json.loads(await self._socket.receive_str())
            if answer.get("id") == number:
                result: dict[str, Any] = answer["result"]
                return result

    async def show(self, url: str) -> None:
        """Go to a page and wait until it is drawn."""
        await self.call("Page.navigate", url=url)
        await asyncio.sleep(_DRAWN_SECONDS)

    async def run(self, script: str) -> None:
        """Run a script in the page, and wait for what it changes."""
        answer = await self.call("Runtime.evaluate", expression=script)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"the panel is not what it was: {script}")
        await asyncio.sleep(_DRAWN_SECONDS / 2)


@asynccontextmanager
async def chromium(session: aiohttp.ClientSession) -> AsyncIterator[Tab]:
    """A headless browser with one tab."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise FileNotFoundError("chromium is not installed")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *_CHROMIUM, f"--user-data-dir={profile}", "about:blank"]
        process = await asyncio.create_subprocess_exec(
            *command, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
        )
        try:
            port = await _port(process)
            async with session.get(f"http://127.0.0.1:{port}/json") as response:
                tabs = await response.json()
            address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            await process.wait()


async def _port(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async for line in process.stderr:
        if match := re.search(rb"ws://127\.0\.0\.1:(\d+)/", line):
            return match[1].decode()
    raise RuntimeError("chromium ended before it listened")


async def take(panel: str) -> None:
    """Log in, open the plugin's configuration and its scope map, and write the picture."""
    async with aiohttp.ClientSession() as session, chromium(session) as tab:
        login = {"username": USER, "password": PASSWORD}
        async with session.post(f"{panel}/api/v1/auth/login", json=login) as response:
            token = (await response.json())["data"]["token"]
        await tab.show(panel)
        for key, value in (("token", token), ("user", USER), ("astrbot-locale", "zh-CN")):
            await tab.call(
                "Runtime.evaluate",
                expression=f"localStorage.setItem({json.dumps(key)}, {json.dumps(value)})",
            )
        await tab.show(f"{panel}/?again#/extension/plugins")
        for step in (_DISMISS, _GEAR, _CHANGE):
            await tab.run(step)
        picture = await tab.call("Page.captureScreenshot", format="png")
    TARGET.write_bytes(base64.b64decode(picture["data"]))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/make_panel_picture.py PANEL_URL")
    asyncio.run(take(sys.argv[1].rstrip("/")))
    print(TARGET)
