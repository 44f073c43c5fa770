"""A port that a test has chosen is still free when its server opens it."""

import asyncio
import errno
import socket
import sys

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import free_port

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(sys.platform != "linux", reason="ports are kept on Linux alone"),
]


async def _serve_once(port: int) -> bytes:
    async def answer_socket(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"here")
        writer.close()

    server = await asyncio.start_server(answer_socket, "127.0.0.1", port)
    async with server:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answer = await reader.read()
        writer.close()
    return answer


async def test_a_server_listens_on_it_again_and_again() -> None:
    port = free_port()
    assert [await _serve_once(port) for _ in range(3)] == [b"here"] * 3


def test_no_other_program_can_take_it() -> None:
    port = free_port()
    with socket.socket() as other:
        with pytest.raises(OSError) as refused:
            other.bind(("127.0.0.1", port))
        assert refused.value.errno == errno.EADDRINUSE


def test_the_system_gives_it_to_nobody_who_asks_for_any_port() -> None:
    kept = {free_port() for _ in range(50)}
    others: list[socket.socket] = []
    try:
        for _ in range(400):
            other = socket.socket()
            others.append(other)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", 0))
        assert kept.isdisjoint(other.getsockname()[1] for other in others)
    finally:
        for other in others:
            other.close()


def test_who_connects_before_the_server_listens_is_refused_and_never_meets_himself() -> None:
    port = free_port()
    for _ in range(2_000):
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED
