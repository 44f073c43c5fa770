"""A loopback Telegram Bot API: AstrBot's adapter polls it for what people say, and answers here."""

import asyncio
import itertools
import json
import time
from contextlib import AsyncExitStack

from aiohttp import web

from astrbot_plugin_scoped_memory.harness.opened import serve
from astrbot_plugin_scoped_memory.harness.places import TELEGRAM, Person, Place
from astrbot_plugin_scoped_memory.harness.replies import Account
from astrbot_plugin_scoped_memory.harness.script import JsonObject

USERNAME = "yuchi_bot"
_BOT = {"id": 10000, "is_bot": True, "first_name": "机器人", "username": USERNAME}
_POLL_SECONDS = 2.0


class Telegram(Account):
    """`async with Telegram() as telegram`: people talk by `say`; unknown methods answer true."""

    def __init__(self) -> None:
        super().__init__()
        self.port = 0
        self.menu: list[JsonObject] = []
        """The command menu that the bot has set."""
        self._updates: list[JsonObject] = []
        self._news = asyncio.Event()
        self._ids = itertools.count(1)

    @property
    def base_url(self) -> str:
        """What the adapter's `telegram_api_base_url` is set to."""
        return f"http://127.0.0.1:{self.port}/bot"

    async def _open(self, stack: AsyncExitStack) -> None:
        app = web.Application()
        app.router.add_post("/bot{token}/{method}", self._answer)
        self.port = await serve(app, stack)

    async def say(self, place: Place, person: Person, text: str, *, at: bool = True) -> None:
        """A command is said without @bot."""
        if place.kind == "group" and at and not text.startswith("/"):
            text = f"@{USERNAME} {text}"
        message: JsonObject = {"chat": _chat(place), "from": _user(person), "text": text}
        if text.startswith(f"@{USERNAME}"):
            length = len(USERNAME) + 1
            message["entities"] = [{"type": "mention", "offset": 0, "length": length}]
        if place.thread:
            message |= {"message_thread_id": place.thread, "is_topic_message": True}
        self._post(message)

    def upgrade(self, old: Place, new: Place, person: Person) -> None:
        """A person makes a supergroup of a group: Telegram says so in both of them."""
        for place, name, other in (
            (old, "migrate_to_chat_id", new),
            (new, "migrate_from_chat_id", old),
        ):
            self._post({name: other.number, "chat": _chat(place), "from": _user(person)})

    def _post(self, message: JsonObject) -> None:
        fields = {"message_id": next(self._ids), "date": int(time.time())}
        self._updates.append({"update_id": next(self._ids), "message": fields | message})
        self._news.set()

    async def _answer(self, http: web.Request) -> web.Response:
        sent = await http.post()
        values = {name: str(value) for name, value in sent.items()}
        result = await self._do(http.match_info["method"], values)
        return web.json_response({"ok": True, "result": result})

    async def _do(self, method: str, values: dict[str, str]) -> object:
        match method:
            case "getMe":
                return _BOT
            case "getUpdates":
                return await self._poll(int(values.get("offset", "0")))
            case "setMyCommands":
                self.menu = json.loads(values["commands"])
                return True
            case "sendMessage":
                place = _place(int(values["chat_id"]), int(values.get("message_thread_id", "0")))
                self._replies[place].put_nowait(values["text"].replace("\\", ""))
                number = next(self._ids)
                sent: JsonObject = {"message_id": number, "date": int(time.time()), "from": _BOT}
                return sent | {"chat": _chat(place), "text": values["text"]}
            case _:
                return True

    async def _poll(self, offset: int) -> list[JsonObject]:
        self._updates = [one for one in self._updates if one["update_id"] >= offset]
        if not self._updates:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), _POLL_SECONDS)
            except TimeoutError:
                return []
        return self._updates


def _chat(place: Place) -> JsonObject:
    if place.kind == "private":
        return {"id": place.number, "type": "private", "first_name": "友"}
    title = f"群{place.number}"
    if not str(place.number).startswith("-100"):
        return {"id": place.number, "type": "group", "title": title}
    return {"id": place.number, "type": "supergroup", "title": title, "is_forum": True}


def _user(person: Person) -> JsonObject:
    """A person of whom Telegram knows a username only if `card` gives one."""
    user = {"id": person.user_id, "is_bot": False, "first_name": person.nickname}
    return user | ({"username": person.card} if person.card else {})


def _place(chat: int, thread: int) -> Place:
    return Place("private" if chat > 0 else "group", chat, TELEGRAM, thread)
