"""The owner's side: answers calls of other processes on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import EngineClosed, EngineOff, ScopedMemoryError
from ..log import logger
from .calls import PROTOCOL, BadCall, decode_arguments, encode_answer
from .endpoint import Endpoint
from .ports import SharedMemory

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

PATH: Final = f"/v{PROTOCOL}"
LOOPBACK: Final = "127.0.0.1"
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104  (what an owner may have said, for a container)
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of a call."""
_GRACE_SECONDS: Final = 1
"""For calls that began, when the server closes."""


class SharingServer:
    """``open``, then ``close``. starlette and uvicorn come with the MCP SDK, and with AstrBot."""

    def __init__(
        self, memory: SharedMemory, folder: Path, *, host: str = LOOPBACK, port: int = 0
    ) -> None:
        """``folder`` is where the endpoint file goes; port 0 takes a free one."""
        self._memory = memory
        self._folder = folder
        self._host, self._port = host, port
        self._endpoint: Endpoint | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def open(self) -> Endpoint:
        """Listen, and write where. Raises OSError, and ImportError without starlette and
        uvicorn."""
        app, server_class, config_class = await asyncio.to_thread(_load, self._call)
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = socket.create_server((self._host, self._port), family=family)
        host = LOOPBACK if self._host in _ANY else self._host
        endpoint = Endpoint.at(host, listening.getsockname()[1])
        # What uvicorn logs would be the addresses of local programs.
        config = config_class(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        self._server = server_class(config)
        self._endpoint = endpoint
        self._serving = asyncio.create_task(self._server.serve(sockets=[listening]))
        try:
            await asyncio.to_thread(endpoint.write, self._folder)
        except BaseException:
            await self.close()
            raise
        logger.info("别的程序可以用这份记忆了：{}:{}", endpoint.host, endpoint.port)
        return endpoint

    async def close(self) -> None:
        """Answer the calls that began, and stop listening. Idempotent."""
        if self._endpoint is not None:
            await asyncio.to_thread(self._endpoint.remove, self._folder)
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        self._endpoint = self._server = self._serving = None

    async def _call(self, request: Request) -> Response:
        from starlette.responses import Response

        status, answer = await self._answered(request)
        # In ASCII: what is named in an error may hold lone surrogates.
        return Response(json.dumps(answer), status_code=status, media_type="application/json")

    async def _answered(self, request: Request) -> tuple[int, dict[str, Any]]:
        token = self._endpoint.token if self._endpoint else ""
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not token or not hmac.compare_digest(shown.encode(), token.encode()):
            return 401, {"error": "a wrong token"}
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, {"error": f"more than {MOST_BYTES} bytes, or of no stated length"}
        name = request.path_params["name"]
        try:
            arguments = decode_arguments(name, await request.json())
            value = await getattr(self._memory, name)(**arguments)
            return 200, encode_answer(name, value)
        except (EngineClosed, EngineOff) as error:
            return 503, {"error": str(error)}
        except (BadCall, ValueError, RecursionError) as error:
            return 400, {"error": str(error)}
        except (ScopedMemoryError, OSError) as error:
            return 500, {"error": str(error)}
        except Exception as error:  # noqa: BLE001  (a caller would take no answer for a dead owner)
            logger.error("别的程序的 {} 出错：{!r}", name, error)
            return 500, {"error": f"{type(error).__name__} in {name}"}


def _load(call: Any) -> tuple[Starlette, type[uvicorn.Server], type[uvicorn.Config]]:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Signals are for the program that we are part of."""
            yield

    return (
        Starlette(routes=[Route(f"{PATH}/{{name}}", call, methods=["POST"])]),
        Server,
        uvicorn.Config,
    )
