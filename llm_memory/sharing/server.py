"""The owner's side: answers calls of other processes on a loopback port."""

from __future__ import annotations

import asyncio
import hmac
import http.client
import io
import json
import re
import socket
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from ..errors import EngineClosed, EngineOff, ScopedMemoryError
from ..log import logger
from .calls import BadCall, call, decode_arguments, encode_answer, port_of
from .endpoint import PROTOCOL, Endpoint
from .ports import OwnerMemory, SharedMemory

_REQUEST: Final = re.compile(rf"POST /v{PROTOCOL}/(\S*) HTTP/1\..*")
LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104  (what an owner may have said, for a container)
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of a call."""
_HEAD_BYTES: Final = 16 * 1024
REQUEST_SECONDS: Final = 10.0
"""For a request to come, and for its answer to be taken."""
MOST_STRANGERS: Final = 128
"""Connections that have not shown the token yet. One more closes the oldest of them."""
MOST_CALLS: Final = 256
"""Calls under way. One more is told that the owner is busy, as by one that is gone."""
_AT_ONCE: Final = 128
"""Connections that are taken before they are counted, or wait to be taken."""
_GRACE_SECONDS: Final = 1.0
"""For calls that began, when the server closes."""


class _Refused(Exception):
    """What is answered in place of a call."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class SharingServer:
    """``open``, then ``close``. One call a connection, in as much of HTTP as ``RemoteMemory``
    speaks. Whatever connects and says nothing is closed, and takes no descriptor of the program."""

    def __init__(
        self,
        memory: SharedMemory,
        folder: Path,
        *,
        owner: OwnerMemory | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        seconds: float = REQUEST_SECONDS,
    ) -> None:
        """``folder`` is where the endpoint file goes; port 0 takes a free one; ``seconds``: the
        most that a request may take to come. Without an ``owner`` there are no owner's calls."""
        self._asked: dict[type, object] = {SharedMemory: memory}
        if owner is not None:
            self._asked[OwnerMemory] = owner
        self._folder = folder
        self._host, self._port = host, port
        self._seconds = seconds
        self._endpoint: Endpoint | None = None
        self._server: asyncio.Server | None = None
        self._strangers: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._calls: set[asyncio.Task[Any]] = set()

    async def open(self) -> Endpoint:
        """Listen, and write where. Raises OSError, and ImportError without pydantic."""
        await asyncio.to_thread(call, "read")
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = socket.create_server((self._host, self._port), family=family, backlog=_AT_ONCE)
        host = LOOPBACK if self._host in _ANY else self._host
        endpoint = self._endpoint = Endpoint.at(host, listening.getsockname()[1])
        self._server = await asyncio.start_server(
            self._connected, sock=listening, limit=_HEAD_BYTES, backlog=_AT_ONCE
        )
        try:
            await asyncio.to_thread(endpoint.write, self._folder)
        except BaseException:
            await self.close()
            raise
        logger.info("shared", host=endpoint.host, port=endpoint.port)
        return endpoint

    async def close(self) -> None:
        """Answer the calls that began, and stop listening. Idempotent."""
        endpoint, self._endpoint = self._endpoint, None
        server, self._server = self._server, None
        if endpoint is not None:
            await asyncio.to_thread(endpoint.remove, self._folder)
        if server is not None:
            server.close()
        for writer in self._strangers.values():
            writer.transport.abort()
        if self._calls:
            _, late = await asyncio.wait(self._calls, timeout=_GRACE_SECONDS)
            for task in late:
                task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        if len(self._strangers) >= MOST_STRANGERS:
            self._strangers.pop(next(iter(self._strangers))).transport.abort()
        self._strangers[task] = writer
        writer.transport.set_write_buffer_limits(high=0)  # `drain` waits until all is sent
        try:
            async with asyncio.timeout(self._seconds):
                name, length = self._admitted(await reader.readuntil(b"\r\n\r\n"), task)
                body = await reader.readexactly(length)
            await self._answer(writer, *await self._answered(name, body))
        except _Refused as error:
            await self._answer(writer, error.status, {"error": str(error)})
        except asyncio.LimitOverrunError:
            await self._answer(writer, HTTPStatus.BAD_REQUEST, {"error": "a head of no end"})
        except (TimeoutError, asyncio.IncompleteReadError, OSError):
            pass  # a caller that left, or said nothing
        finally:
            self._strangers.pop(task, None)
            self._calls.discard(task)
            writer.close()

    async def _answer(
        self, writer: asyncio.StreamWriter, status: HTTPStatus, answer: dict[str, Any]
    ) -> None:
        # In ASCII: what is named in an error may hold lone surrogates.
        body = json.dumps(answer).encode()
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        try:
            async with asyncio.timeout(self._seconds):
                await writer.drain()
        except (TimeoutError, OSError):
            writer.transport.abort()

    def _admitted(self, head: bytes, task: asyncio.Task[Any]) -> tuple[str, int]:
        """Returns the name of the call and the length of its arguments; who shows the token is no
        stranger any more. Raises _Refused."""
        first, _, rest = head.partition(b"\r\n")
        asked = _REQUEST.fullmatch(first.decode("latin-1"))
        try:
            headers = http.client.parse_headers(io.BytesIO(rest))
        except http.client.HTTPException as error:
            raise _Refused(HTTPStatus.BAD_REQUEST, type(error).__name__) from error
        token = self._endpoint.token if self._endpoint else ""
        shown = headers.get("authorization", "").removeprefix("Bearer ")
        if not token or not hmac.compare_digest(shown.encode(), token.encode()):
            raise _Refused(HTTPStatus.UNAUTHORIZED, "a wrong token")
        self._strangers.pop(task, None)
        if len(self._calls) >= MOST_CALLS:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many calls at once")
        self._calls.add(task)
        if asked is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "no such path")
        length = headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise _Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"more than {MOST_BYTES} bytes, or of no stated length",
            )
        return asked[1], int(length)

    async def _answered(self, name: str, body: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
        try:
            asked = self._asked[port_of(name, self._asked)]
            arguments = decode_arguments(name, json.loads(body))
            if OwnerMemory not in self._asked:
                # Of a bot a role is a persona, which the scope map may name: no agent's to choose.
                where = arguments["conversation_id"]
                arguments["conversation_id"] = replace(where, persona=None)
            value = await getattr(asked, name)(**arguments)
            return HTTPStatus.OK, encode_answer(name, value)
        except (EngineClosed, EngineOff) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        except (BadCall, ValueError, RecursionError) as error:
            return HTTPStatus.BAD_REQUEST, {"error": str(error)}
        except (ScopedMemoryError, OSError) as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": str(error)}
        except Exception as error:  # noqa: BLE001  (a caller would take no answer for a dead owner)
            logger.error("call_failed", name=name, error=repr(error))
            return HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"{type(error).__name__} in {name}"}
