"""A loopback server that speaks OpenAI's chat, embeddings and models endpoints by script."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack

from aiohttp import web

from .opened import Opened, serve
from .script import (
    Answer,
    Failure,
    JsonObject,
    ModelRequest,
    Reading,
    Rule,
    Script,
    ToolCall,
    is_reading,
)
from .vectors import base64_floats, vector
from .waiting import until_true

CHAT_MODEL = "scripted-chat"
EMBEDDING_MODEL = "scripted-embedding"


class ScriptedModel(Opened):
    """`async with ScriptedModel() as model`: listens, logs each request whole, answers by rule."""

    def __init__(self, *, dimensions: int = 64) -> None:
        self.requests: list[ModelRequest] = []
        """Turns of chats."""
        self.readings: list[ModelRequest] = []
        """What the memory asks by itself, of turns that are over."""
        self.reading_tokens = 1
        """What the service says that each answer to those cost."""
        self.embedded: list[str] = []
        self.embeds = True
        """Else its service of vectors answers with an error."""
        self.dimensions = dimensions
        self.script = Script()
        self.port = 0
        self._answering = asyncio.Event()
        self._answering.set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def on(self, contains: str, *rounds: ToolCall | tuple[ToolCall, ...], then: Answer) -> None:
        """If the user's own words contain `contains`: these tool rounds (a call, or several at
        once), then these words."""
        as_tuples = tuple(r if isinstance(r, tuple) else (r,) for r in rounds)
        self.script.rules.insert(0, Rule(contains, as_tuples, then))

    def on_reflection(self, contains: str, reply: Reading) -> None:
        """What is learned where turns with `contains` are read; each rule serves once.

        A reply that is a function sees the request, and may answer text that is no JSON.
        """
        self.script.readings.append((contains, reply))

    def hold(self) -> None:
        """From now on requests are logged but not answered, until `release`."""
        self._answering.clear()

    def release(self) -> None:
        self._answering.set()

    def asked(self, words: str) -> list[ModelRequest]:
        return [request for request in self.requests if words in request.user_text]

    async def was_asked(self, words: str, *, within: float = 30.0) -> None:
        await until_true(lambda: self.asked(words) != [], within=within)

    async def _open(self, stack: AsyncExitStack) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/embeddings", self._embeddings)
        app.router.add_get("/v1/models", self._models)
        self.port = await serve(app, stack)
        stack.callback(self._answering.set)

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = ModelRequest(await http.json())
        reads = is_reading(request)
        (self.readings if reads else self.requests).append(request)
        await self._answering.wait()
        answer = self.script.read(request) if reads else self.script.answer(request)
        if isinstance(answer, Failure):
            return web.json_response({"error": {"message": "scripted"}}, status=answer.status)
        message, reason = _message(answer, serial=len(self.requests))
        if request.body.get("stream"):
            return await _streamed(http, message, reason)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {**_USAGE, "completion_tokens": self.reading_tokens} if reads else _USAGE
        return web.json_response({**_head("chat.completion"), "choices": [choice], "usage": usage})

    async def _embeddings(self, http: web.Request) -> web.Response:
        body: JsonObject = await http.json()
        texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
        self.embedded += texts
        if not self.embeds:
            return web.json_response({"error": {"message": "scripted failure"}}, status=500)
        vectors = [vector(text, self.dimensions) for text in texts]
        packed = body.get("encoding_format") == "base64"
        rows = [
            {"object": "embedding", "index": i, "embedding": base64_floats(v) if packed else v}
            for i, v in enumerate(vectors)
        ]
        return web.json_response(
            {"object": "list", "data": rows, "model": EMBEDDING_MODEL, "usage": _USAGE}
        )

    async def _models(self, http: web.Request) -> web.Response:
        rows = [{"id": name, "object": "model"} for name in (CHAT_MODEL, EMBEDDING_MODEL)]
        return web.json_response({"object": "list", "data": rows})


_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _head(kind: str) -> JsonObject:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": CHAT_MODEL}


def _message(answer: tuple[ToolCall, ...] | str, *, serial: int) -> tuple[JsonObject, str]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}, "stop"
    calls = [
        {
            "id": f"call_{serial}_{index}",
            "type": "function",
            "function": {"name": item.name, "arguments": _arguments(item.arguments)},
        }
        for index, item in enumerate(answer)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"


def _arguments(arguments: Mapping[str, object] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


async def _streamed(http: web.Request, message: JsonObject, reason: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(http)
    delta = {key: value for key, value in message.items() if value is not None}
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": i, **c} for i, c in enumerate(delta["tool_calls"])]
    for choice in (
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ):
        chunk = {**_head("chat.completion.chunk"), "choices": [choice]}
        await response.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response
