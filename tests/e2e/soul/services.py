"""A loopback server that plays Dify, Coze, DashScope and DeerFlow, and a model for evaluations."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any

from aiohttp import web

from astrbot_plugin_scoped_memory.harness.script import JsonObject, ModelRequest, Script, ToolCall
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedModel, prefers

ANSWER = "好的。"
_COZE = (
    ("conversation.chat.created", {"conversation_id": "coze-1"}),
    ("conversation.message.delta", {"content": ANSWER}),
    ("conversation.chat.completed", {"status": "completed"}),
)
_WORKFLOW = {
    "event": "workflow_finished",
    "workflow_run_id": "run-1",
    "data": {"status": "succeeded", "outputs": {"astrbot_wf_output": ANSWER}},
}
_DEERFLOW = {"messages": [{"type": "ai", "id": "ai-1", "content": ANSWER}]}
_DASHSCOPE = {
    "request_id": "1",
    "output": {"text": ANSWER, "session_id": "bailian-1", "finish_reason": "stop"},
    "usage": {},
}


def _events(*told: tuple[str, Any]) -> str:
    """Server-sent events: the name of each, if it has one, and its data."""
    return "".join(
        f"event: {name}\n" * bool(name) + f"data: {json.dumps(data)}\n\n" for name, data in told
    )


_DIFY = _events(
    ("", {"event": "message", "answer": ANSWER, "conversation_id": "dify-1"}),
    ("", {"event": "message_end"}),
)
_ANSWERS: dict[str, str | JsonObject] = {
    "/chat-messages": _DIFY,
    "/workflows/run": _events(("", _WORKFLOW)),
    "/v3/chat": _events(*_COZE),
    "/apps/{app}/completion": _DASHSCOPE,
    "/api/langgraph/threads/{thread}/runs/stream": _events(("values", _DEERFLOW), ("end", {})),
}


class Services:
    """``async with Services() as services``."""

    def __init__(self) -> None:
        self.bodies: list[JsonObject] = []
        """Of the requests for an answer, oldest first."""
        self.url = ""
        app = web.Application()
        for path, answer in _ANSWERS.items():
            app.router.add_post(path, self._answers(answer))
        app.router.add_post("/api/langgraph/threads", self._thread)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Services:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

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
    """Answers turns as ever. What the memory asks by itself is answered by ``model``."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ProbedModel("")

    def passes(self, rule: str, *, fails: frozenset[str] = frozenset()) -> None:
        """From now on answers are better under a text with this rule, but for these probes."""
        self.model = ProbedModel(rule, fails, judge=prefers("改进"))

    def read(self, request: ModelRequest) -> str:
        return self._by_itself(request)

    def answer(self, request: ModelRequest) -> tuple[ToolCall, ...] | str:
        return super().answer(request) if request.tool_names else self._by_itself(request)

    def _by_itself(self, request: ModelRequest) -> str:
        asked = self.model.ask(request.user_text, system=request.system, conversation="")
        return _at_once(asked).text


def _at_once[T](work: Coroutine[Any, Any, T]) -> T:
    """The result of what waits for nothing."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")
