"""A follower's side: the store of another process, by the calls that its owner answers."""

from __future__ import annotations

import asyncio
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from ..errors import OtherProtocol, OwnerGone, ScopedMemoryError
from .calls import NO_SUCH_CALL, PROTOCOL, BadCall, decode_answer, encode_arguments, forwarding
from .endpoint import Endpoint
from .ports import OwnerMemory, SharedMemory

_AT_ONCE: Final = 64
"""Calls under way; more wait."""
CALL_SECONDS: Final = 30.0


class RemoteMemory:
    """Has no engine and knows no scope. Every method of ``memory`` and ``owner`` raises OwnerGone
    where the owner does not answer, and ScopedMemoryError with what it said where it refused."""

    def __init__(self, endpoint: Endpoint, *, seconds: float = CALL_SECONDS) -> None:
        """Raises OtherProtocol. ``seconds``: the most a call takes."""
        if endpoint.protocol != PROTOCOL:
            raise OtherProtocol(
                f"the owner speaks protocol {endpoint.protocol}, this program {PROTOCOL}: "
                "both must be of one version"
            )
        self._endpoint = endpoint
        self._seconds = seconds
        # Threads of its own: a call that waits must not take one that others need.
        self._threads = ThreadPoolExecutor(_AT_ONCE, "owner")
        self.memory: SharedMemory = forwarding(self._call, SharedMemory)
        self.owner: OwnerMemory = forwarding(self._call, OwnerMemory)

    def close(self) -> None:
        """Let go of the threads. A call under way ends by itself, and one that waits for a thread
        finds the owner gone: were it cancelled, so would be who asked. Idempotent."""
        self._threads.shutdown(wait=False)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        body = json.dumps(encode_arguments(name, arguments)).encode()
        loop = asyncio.get_running_loop()
        try:
            asked = loop.run_in_executor(self._threads, self._post, name, body)
        except RuntimeError as error:  # another call has found the owner gone, and closed this
            raise OwnerGone("closed") from error
        status, answer = await asked
        if status == http.HTTPStatus.OK:
            try:
                return decode_answer(name, answer)
            except BadCall as error:
                raise OwnerGone(str(error)) from error
        said = answer.get("error") if isinstance(answer, dict) else None
        if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.SERVICE_UNAVAILABLE):
            raise OwnerGone(said or f"status {status}")  # another owner has this port by now
        if said and said.startswith(NO_SUCH_CALL):
            raise ScopedMemoryError(
                f"the program that has the store open (process {self._endpoint.pid}) does not know "
                f"{name!r}: it is older, or a bot; restart it with this version"
            )
        raise ScopedMemoryError(said or f"status {status}")

    def _post(self, name: str, body: bytes) -> tuple[int, Any]:
        """Blocks. Raises OwnerGone."""
        owner = self._endpoint
        connection = http.client.HTTPConnection(owner.host, owner.port, timeout=self._seconds)
        headers = {"Authorization": f"Bearer {owner.token}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"/v{PROTOCOL}/{name}", body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise OwnerGone(str(error) or type(error).__name__) from error
        finally:
            connection.close()
