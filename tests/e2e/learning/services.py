"""A loopback server that plays Dify, Coze, DashScope and DeerFlow, and a model for evaluations."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any

from aiohttp import web

from astrbot_plugin_scoped_memory.harness.opened import Opened, serve
from astrbot_plugin_scoped_memory.harness.script import JsonObject, ModelRequest, Script, ToolCall
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedModel, prefers

ANSWER = "好的。"


def _events(*told: tuple[str, Any]) -> str:
    """Server-sent events: the name of each, if it has one, and its data."""
    return "".join(
        f"event: {name}\n" * bool(name) + f"data: {json.dumps(data)}\n\n" for name, data in told
    )


_ANSWERS: dict[str, str | JsonObject] = {
    "/chat-messages": _events(
        ("", {"event": "message", "answer": ANSWER, "conversation_id": "dify-1"}),
        ("", {"event": "message_end"}),
    ),
    "/v3/chat": _events(
        ("conversation.chat.created", {"conversation_id": "coze-1"}),
        ("conversation.message.delta", {"content": ANSWER}),
        ("conversation.chat.completed", {"status": "completed"}),
    ),
    "/apps/{app}/completion": {
        "request_id": "1",
        "output": {"text": ANSWER, "session_id": "bailian-1", "finish_reason": "stop"},
        "usage": {},
    },
    "/api/langgraph/threads/{thread}/runs/stream": _events(
        ("values", {"messages": [{"type": "ai", "id": "ai-1", "content": ANSWER}]}), ("end", {})
    ),
}


class Services(Opened):
    """``async with Services() as services``."""

    def __init__(self) -> None:
        self.bodies: list[JsonObject] = []
        """Of the requests for an answer, oldest first."""
        self.url = ""

    async def _open(self, stack: AsyncExitStack) -> None:
        app = web.Application()
        for path, answer in _ANSWERS.items():
            app.router.add_post(path, self._answers(answer))
        app.router.add_post("/api/langgraph/threads", self._thread)
        self.url = f"http://127.0.0.1:{await serve(app, stack)}"

    def _answers(self, answer: str | JsonObject) -> Any:
        async def said(http: web.Request) -> web.Response:
            self.bodies.append(await http.json())
            if isinstance(answer, str):
                return web.Response(text=answer, content_type="text/event-stream")
            return web.json_response(answer)

        return said

    async def _thread(self, _: web.Request) -> web.Response:
        return web.json_response({"thread_id": "deer-1"})


class Mind(Script):
    """Answers turns, and readings of them, as ever. What a soul asks is answered by ``model``."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ProbedModel("")

    def passes(self, rule: str, *, fails: frozenset[str] = frozenset()) -> None:
        """From now on answers are better under a text with this rule, but for these probes."""
        self.model = ProbedModel(rule, fails, judge=prefers("改进"))

    def answer(self, request: ModelRequest) -> tuple[ToolCall, ...] | str:
        if request.tool_names:
            return super().answer(request)
        return self.model.answer(request.system, request.user_text)
