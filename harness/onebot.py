"""A OneBot v11 client: groups and private chats that talk to AstrBot over reverse WebSocket."""

import asyncio
import contextlib
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

import aiohttp

from .places import BOT_ID, Person, Place, group, private
from .replies import Account
from .script import JsonObject
from .waiting import POLL_SECONDS, until_true

_MENTION = re.compile(r"\[@(\d+)\]")
_HANDSHAKE_SECONDS = 5.0


class OneBot(Account):
    """`async with OneBot(port) as onebot`: connects, and again whenever the bot comes back."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.actions: list[JsonObject] = []
        self.clock: Callable[[], float] = time.time
        """What stamps messages: seconds since 1970."""
        self._people: dict[int, Person] = {}
        self._messages: dict[int, JsonObject] = {}
        self._ids = itertools.count(1)
        self._socket: aiohttp.ClientWebSocketResponse | None = None

    async def _open(self, stack: AsyncExitStack) -> None:
        task = asyncio.create_task(self._run())

        async def disconnect() -> None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        stack.push_async_callback(disconnect)

    async def connected(self, *, within: float = 60.0) -> None:
        await until_true(lambda: bool(self._socket and not self._socket.closed), within=within)

    async def say(self, place: Place, person: Person, text: str, *, at: bool = True) -> None:
        """`[@1001]` in the text is a mention of that member."""
        await self.connected()
        self.meet(person)
        segments = _segments(text)
        if place.kind == "group" and at:
            segments.insert(0, {"type": "at", "data": {"qq": str(BOT_ID)}})
        event = self._event(place, person, segments)
        self._messages[event["message_id"]] = event
        if self._socket is None:
            raise ConnectionError("the bot went away before the message was sent")
        await self._socket.send_str(json.dumps(event, ensure_ascii=False))

    def meet(self, person: Person) -> None:
        """Someone is a member of the groups from now on, under this name."""
        self._people[person.user_id] = person

    def _event(self, place: Place, person: Person, segments: list[JsonObject]) -> JsonObject:
        event: JsonObject = {
            "time": int(self.clock()),
            "self_id": BOT_ID,
            "post_type": "message",
            "message_type": place.kind,
            "sub_type": "normal" if place.kind == "group" else "friend",
            "message_id": next(self._ids),
            "user_id": person.user_id,
            "message": segments,
            "raw_message": "".join(s["data"].get("text", "") for s in segments),
            "font": 0,
            "sender": {
                "user_id": person.user_id,
                "nickname": person.nickname,
                "card": person.card if place.kind == "group" else "",
                "role": "member",
            },
        }
        if place.kind == "group":
            event["group_id"] = place.number
        return event

    async def _run(self) -> None:
        headers = {"X-Self-ID": str(BOT_ID), "X-Client-Role": "Universal"}
        url = f"ws://127.0.0.1:{self.port}/ws"
        async with aiohttp.ClientSession(headers=headers) as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError, ConnectionError, TimeoutError):
                    # A server that is still coming up may accept a connection and never answer it.
                    async with asyncio.timeout(_HANDSHAKE_SECONDS):
                        socket = await session.ws_connect(url, max_msg_size=0)
                    async with socket:
                        await self._serve(socket)
                self._socket = None
                await asyncio.sleep(POLL_SECONDS)

    async def _serve(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        hello = {
            "time": int(time.time()),
            "self_id": BOT_ID,
            "post_type": "meta_event",
            "meta_event_type": "lifecycle",
            "sub_type": "connect",
        }
        await socket.send_str(json.dumps(hello))
        self._socket = socket
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                request: JsonObject = json.loads(message.data)
                self.actions.append(request)
                data = self._act(request.get("action", ""), request.get("params") or {})
                answer = {"status": "ok", "retcode": 0, "data": data, "echo": request.get("echo")}
                await socket.send_str(json.dumps(answer, ensure_ascii=False))

    def _act(self, action: str, params: Mapping[str, object]) -> object:
        number = _int(params.get("user_id"))
        room = _int(params.get("group_id"))
        match action:
            case "send_group_msg" | "send_private_msg" | "send_msg":
                place = group(room) if room else private(number)
                self._replies[place].put_nowait(_plain(params.get("message")))
                return {"message_id": next(self._ids)}
            case "get_login_info":
                return {"user_id": BOT_ID, "nickname": "机器人"}
            case "get_group_info":
                return {"group_id": room, "group_name": f"群{room}", "member_count": 3}
            case "get_group_member_list":
                return [self._member(person.user_id, room) for person in self._people.values()]
            case "get_group_member_info" | "get_stranger_info":
                return self._member(number, room)
            case "get_msg":
                return self._messages.get(_int(params.get("message_id")), {})
            case _:
                return {}

    def _member(self, number: int, room: int) -> JsonObject:
        person = self._people.get(number, Person(number, f"用户{number}"))
        return {
            "group_id": room,
            "user_id": number,
            "nickname": person.nickname,
            "card": person.card,
            "role": "member",
        }


def _segments(text: str) -> list[JsonObject]:
    parts = _MENTION.split(text)
    segments: list[JsonObject] = []
    for place, part in enumerate(parts):
        if place % 2:
            segments.append({"type": "at", "data": {"qq": part}})
        elif part:
            segments.append({"type": "text", "data": {"text": part}})
    return segments


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | str) and str(value).lstrip("-").isdigit() else 0


def _plain(message: object) -> str:
    if isinstance(message, list):
        texts = (s["data"].get("text", "") for s in message if s.get("type") == "text")
        return "".join(texts).strip()
    return str(message).strip()
