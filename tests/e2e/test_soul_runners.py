"""What reaches a service of another maker that answers in the place of AstrBot's own agent, of a
learned manner: what the table in docs/soul.md says, seen in the requests of a real bot."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from astrbot_plugin_scoped_memory.harness.places import Place, group
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.script import JsonObject
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

OWN_ROOM = group(6100)
"""AstrBot's own agent answers there."""
WISH = "说话温和一点。"
MANNER = f"\n# 学到的说话习惯\n- {WISH}\n"
ANSWER = "好的。"


class Services:
    """``async with Services() as services``: a loopback server that plays Dify, Coze, DashScope
    and DeerFlow."""

    def __init__(self) -> None:
        self.bodies: list[JsonObject] = []
        """Of the requests for an answer, oldest first."""
        self.url = ""
        app = web.Application()
        app.router.add_post("/chat-messages", self._dify)
        app.router.add_post("/workflows/run", self._dify_workflow)
        app.router.add_post("/v3/chat", self._coze)
        app.router.add_post("/apps/{app}/completion", self._dashscope)
        app.router.add_post("/api/langgraph/threads", self._thread)
        app.router.add_post("/api/langgraph/threads/{thread}/runs/stream", self._deerflow)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Services:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _dify(self, http: web.Request) -> web.Response:
        self.bodies.append(await http.json())
        said = {"event": "message", "answer": ANSWER, "conversation_id": "dify-1"}
        return events(("", said), ("", {"event": "message_end"}))

    async def _dify_workflow(self, http: web.Request) -> web.Response:
        self.bodies.append(await http.json())
        data = {"status": "succeeded", "outputs": {"astrbot_wf_output": ANSWER}}
        done = {"event": "workflow_finished", "workflow_run_id": "run-1", "data": data}
        return events(("", done))

    async def _coze(self, http: web.Request) -> web.Response:
        self.bodies.append(await http.json())
        return events(
            ("conversation.chat.created", {"conversation_id": "coze-1"}),
            ("conversation.message.delta", {"content": ANSWER}),
            ("conversation.chat.completed", {"status": "completed"}),
        )

    async def _dashscope(self, http: web.Request) -> web.Response:
        self.bodies.append(await http.json())
        output = {"text": ANSWER, "session_id": "bailian-1", "finish_reason": "stop"}
        return web.json_response({"request_id": "1", "output": output, "usage": {}})

    async def _thread(self, _: web.Request) -> web.Response:
        return web.json_response({"thread_id": "deer-1"})

    async def _deerflow(self, http: web.Request) -> web.Response:
        self.bodies.append(await http.json())
        said = {"messages": [{"type": "ai", "id": "ai-1", "content": ANSWER}]}
        return events(("values", said), ("end", {}))


def events(*told: tuple[str, JsonObject]) -> web.Response:
    """Server-sent events: the name of each, if it has one, and its data."""
    lines = [
        f"event: {name}\n" * bool(name) + f"data: {json.dumps(data)}\n\n" for name, data in told
    ]
    return web.Response(text="".join(lines), content_type="text/event-stream")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def services() -> AsyncIterator[Services]:
    async with Services() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def rig(tmp_path_factory: pytest.TempPathFactory, services: Services) -> AsyncIterator[Rig]:
    """A bot whose default persona has learned a manner."""

    def redirected(bot: Rig) -> None:
        # The one service whose address AstrBot's settings do not hold.
        bot.bot.environment = {"DASHSCOPE_HTTP_BASE_URL": services.url}

    root: Path = tmp_path_factory.mktemp("runners-bot")
    async with Rig(root, admins=[ADMIN.user_id], before_start=redirected) as running:
        await running.onebot.ask(OWN_ROOM, ADMIN, f"/memory soul propose {WISH}")
        await running.onebot.ask(OWN_ROOM, ADMIN, "/memory soul apply")
        assert (await running.turn(OWN_ROOM, MEMBER, "在吗")).first.system.endswith(MANNER)
        yield running


def settings(runner: str, url: str) -> JsonObject:
    """What an owner fills in for it."""
    return {
        "dify": {"dify_api_key": "key", "dify_api_base": url},
        "coze": {"coze_api_key": "key", "bot_id": "bot", "coze_api_base": url},
        "dashscope": {"dashscope_api_key": "key", "dashscope_app_id": "app"},
        "deerflow": {"deerflow_api_base": url},
    }[runner]


async def answered_by(rig: Rig, place: Place, runner: str, config: JsonObject) -> None:
    """The owner has this runner answer there, by a profile of settings of its own."""
    profile = await rig.panel.call("GET", "/api/v1/config-profiles/default")
    whole = {**profile["config"], "agent_runner": {"runner_type": runner, "config": config}}
    body: JsonObject = {"name": f"{runner}-{place.number}", "config": whole}
    made = await rig.panel.call("POST", "/api/v1/config-profiles", body)
    route = {"config_id": made["conf_id"]}
    await rig.panel.call("PUT", f"/api/v1/config-routes/{place.umo}", route)


def variable(body: JsonObject) -> Any:
    return body["inputs"]["system_prompt"]


def system(messages: list[JsonObject]) -> Any:
    """What the messages with the role of the system hold, None if there is none."""
    return "".join(one["content"] for one in messages if one["role"] == "system") or None


def coze(body: JsonObject) -> Any:
    return system(body["additional_messages"])


def deerflow(body: JsonObject) -> Any:
    return system(body["input"]["messages"])


def anywhere(body: JsonObject) -> Any:
    """The manner, wherever it stands in the request."""
    return MANNER if WISH in json.dumps(body, ensure_ascii=False) else None


ALWAYS, NEVER = (MANNER,) * 3, (None,) * 3
FIRST = (MANNER, None, MANNER)
RUNNERS = [
    pytest.param("dify", {"dify_api_type": "chat"}, variable, ALWAYS, id="dify-chat"),
    pytest.param("dify", {"dify_api_type": "agent"}, variable, ALWAYS, id="dify-agent"),
    pytest.param("dify", {"dify_api_type": "chatflow"}, variable, ALWAYS, id="dify-chatflow"),
    pytest.param("dify", {"dify_api_type": "workflow"}, variable, ALWAYS, id="dify-workflow"),
    pytest.param("coze", {"auto_save_history": True}, coze, FIRST, id="coze-keeps-history"),
    pytest.param("coze", {"auto_save_history": False}, coze, ALWAYS, id="coze"),
    pytest.param("deerflow", {}, deerflow, ALWAYS, id="deerflow"),
    pytest.param("dashscope", {}, anywhere, NEVER, id="dashscope-agent"),
    pytest.param("dashscope", {"dashscope_app_type": "workflow"}, anywhere, NEVER, id="dashscope"),
]
"""The runner, a setting of it, where a request of it has the manner, and what is there in the first
turn of a conversation, in the second, and in the first of the next."""


@pytest.mark.parametrize(("runner", "more", "found", "told"), RUNNERS)
async def test_a_runner_is_told_what_the_page_says(
    rig: Rig,
    services: Services,
    room: Place,
    runner: str,
    more: JsonObject,
    found: Any,
    told: tuple[str | None, ...],
) -> None:
    await answered_by(rig, room, runner, {**settings(runner, services.url), **more})
    before, words = len(services.bodies), ("在吗", "那下周呢", "你好")
    for said in words:
        if said == words[-1]:
            await rig.onebot.ask(room, ADMIN, "/reset")
        assert (await rig.turn(room, MEMBER, said)).reply == ANSWER
    bodies = services.bodies[before:]
    assert [found(body) for body in bodies] == [*told]
    for said, body in zip(words, bodies, strict=True):
        assert said in json.dumps(body, ensure_ascii=False)
