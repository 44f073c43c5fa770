"""A follower's side: the store of another process, by the calls that its owner answers."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, Final

from ..errors import OtherProtocol, OwnerGone, ScopedMemoryError
from .calls import NO_SUCH_CALL, BadCall, decode_answer, encode_arguments, forwarding
from .endpoint import PROTOCOL, Endpoint, parse_answer
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
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self.memory: SharedMemory = forwarding(self._call, SharedMemory)
        self.owner: OwnerMemory = forwarding(self._call, OwnerMemory)

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        status, answer = await self._post(name, encode_arguments(name, arguments))
        if status == HTTPStatus.OK:
            try:
                return decode_answer(name, answer)
            except BadCall as error:
                raise OwnerGone(str(error)) from error
        said = answer.get("error") if isinstance(answer, dict) else None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.SERVICE_UNAVAILABLE):
            raise OwnerGone(said or f"status {status}")  # another owner has this port by now
        if said and said.startswith(NO_SUCH_CALL):
            raise ScopedMemoryError(
                f"the program that has the store open (process {self._endpoint.pid}) does not know "
                f"{name!r}: it is older, or a bot; restart it with this version"
            )
        raise ScopedMemoryError(said or f"status {status}")

    async def _post(self, name: str, arguments: dict[str, Any]) -> tuple[int, Any]:
        """Raises OwnerGone."""
        owner = self._endpoint
        try:
            async with asyncio.timeout(self._seconds), self._turn:
                reader, writer = await asyncio.open_connection(owner.host, owner.port)
                try:
                    writer.write(owner.request(name, arguments))
                    told = await reader.read()
                finally:
                    writer.close()
            return parse_answer(told)
        except (OSError, ValueError, IndexError, RecursionError) as error:
            raise OwnerGone(str(error) or "timed out") from error
