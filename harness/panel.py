"""AstrBot's web panel, as its owner uses it: login, plugin settings, web chat."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from .opened import Opened
from .release import PLUGIN
from .script import JsonObject
from .settings import PASSWORD
from .waiting import until

USER = "astrbot"


class PanelError(RuntimeError):
    """The panel refused; the message is its own."""


class Panel(Opened):
    """`async with Panel(url) as panel`: logs in when first needed and again after a 401."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._token: str | None = None

    async def _open(self, stack: AsyncExitStack) -> None:
        session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120))
        self._client = await stack.enter_async_context(session)

    async def config(self) -> JsonObject:
        data = await self.call("GET", f"/api/v1/plugins/config?plugin_id={PLUGIN}")
        config: JsonObject = data["config"]
        return config

    async def save(self, **changes: object) -> None:
        """Changes these settings and saves all, as the panel does; the plugin is reloaded."""
        config = await self.config() | changes
        body: JsonObject = {"plugin_id": PLUGIN, "config": config}
        await self.call("PUT", "/api/v1/plugins/config", body)

    async def map_scopes(self, mapping: dict[str, str]) -> None:
        await self.save(conversation_scope_map=mapping)

    async def enable(self, *, enabled: bool) -> None:
        body: JsonObject = {"plugin_id": PLUGIN, "enabled": enabled}
        await self.call("PATCH", "/api/v1/plugins/enabled", body)

    async def install(self, archive: Path) -> None:
        """Uploads a zip, as the plugin page's "from a file" does; an older copy is replaced.

        AstrBot installs what the zip requires and loads the plugin before it answers.
        """
        form = aiohttp.FormData()
        content = await asyncio.to_thread(archive.read_bytes)
        form.add_field("file", content, filename=archive.name)
        url = f"{self.url}/api/v1/plugins/install/upload"
        async with self._client.post(url, data=form, headers=await self._headers()) as answer:
            _unwrap(answer.status, await answer.text())

    async def uninstall(self, *, config: bool, data: bool) -> None:
        body: JsonObject = {"delete_config": config, "delete_data": data}
        await self.call("DELETE", f"/api/v1/plugins/{PLUGIN}", body)

    async def reload(self) -> None:
        await self.call("POST", "/api/v1/plugins/reload", {"plugin_id": PLUGIN})

    async def activated(self, *, within: float = 60.0) -> None:
        """Waits until the plugin is active; PanelError if AstrBot could not load it."""

        async def probe() -> bool:
            rows = await self.call("GET", "/api/v1/plugins")
            row = next((row for row in rows if row.get("name") == PLUGIN), None)
            if row is None:
                failed = await self.call("GET", "/api/v1/plugins/failed")
                if PLUGIN in failed:
                    raise PanelError(f"the plugin did not load: {failed[PLUGIN]}")
            return row is not None and bool(row.get("activated"))

        await until(probe, within=within, what="the activated plugin")

    async def status(self) -> JsonObject:
        data: JsonObject = await self.call("GET", f"/api/v1/plugins/extensions/{PLUGIN}/status")
        return data

    async def ready(self, *, within: float = 60.0) -> JsonObject:

        async def probe() -> JsonObject | None:
            try:
                status = await self.status()
            except PanelError:  # the route is gone for a moment while the plugin reloads
                return None
            return status if status.get("ready") else None

        return await until(probe, within=within, what="ready in the plugin's status")

    async def indexed(self, *, within: float = 90.0) -> JsonObject:
        """The status, once the index is ready and has caught up, or there is none."""

        async def probe() -> JsonObject | None:
            status = await self.ready(within=within)
            ready = status["index"] in {"ready", "lexical"}
            return status if ready and not status["backlog"] else None

        return await until(probe, within=within, what="a ready index in the plugin's status")

    async def without_login(self, path: str) -> int:
        async with self._client.get(self.url + path) as answer:
            return answer.status

    async def chat(self, session_id: str, text: str) -> str:
        """Says `text` in the web chat, as the panel's user; gives the bot's answer."""
        pieces: list[str] = []
        whole: str | None = None
        body = {"message": text, "session_id": session_id, "enable_streaming": False}
        url = self.url + "/api/chat/send"
        async with self._client.post(url, json=body, headers=await self._headers()) as answer:
            async for line in answer.content:
                if not line.startswith(b"data:"):
                    continue
                event = json.loads(line.removeprefix(b"data:"))
                match event.get("type"):
                    case "plain":
                        pieces.append(str(event.get("data", "")))
                    case "complete":
                        whole = str(event.get("data", ""))
                    case "end":
                        break
        return whole or "".join(pieces)

    async def call(self, method: str, path: str, body: JsonObject | None = None) -> Any:
        """The `data` of the panel's answer (or all of it where a plugin wraps nothing).

        Raises PanelError with the panel's own message.
        """
        for attempt in (1, 2):
            headers = await self._headers()
            async with self._client.request(
                method, self.url + path, json=body, headers=headers
            ) as answer:
                if answer.status == 401 and attempt == 1:
                    self._token = None
                    continue
                return _unwrap(answer.status, await answer.text())
        raise PanelError(f"{method} {path}: login refused")

    async def _headers(self) -> dict[str, str]:
        if self._token is None:
            body = {"username": USER, "password": PASSWORD}
            async with self._client.post(f"{self.url}/api/v1/auth/login", json=body) as answer:
                self._token = str(_unwrap(answer.status, await answer.text())["token"])
        return {"Authorization": f"Bearer {self._token}"}


def _unwrap(status: int, text: str) -> Any:
    try:
        payload = json.loads(text)
    except ValueError as error:
        raise PanelError(f"HTTP {status}: {text[:300]}") from error
    if not isinstance(payload, dict) or payload.get("status") not in {"ok", "error", "warning"}:
        return payload
    if payload["status"] != "ok" or status >= 400:
        raise PanelError(f"HTTP {status}: {payload.get('message')}")
    return payload.get("data", {})
