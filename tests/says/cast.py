"""Who is on the pages of a bot: persons, places, the model, and the stage hands.

A line is one of these, each through the door that an owner has:

- ``小明@家人> /记忆 列表``: a command; the answer is what the chat is told.
- ``小明@家人> 奶奶能吃花生吗``: a message to the model; the answer is what is attached to it.
- ``模型@家人> core_memory_recall(query="…")``: a tool, in the turn of the last message there.
- ``* start(dm_scope="per-peer")``: what happens around the bot; see the methods of ``Stage``.

``管理员`` and ``Admin`` are administrators. A minute passes before each line.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, cast

from astrbot.api.provider import LLMResponse, ProviderRequest

from astrbot_plugin_scoped_memory.core.commands.command_words import COMMANDS, CommandWords
from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.core.config import PanelMap, read_config
from astrbot_plugin_scoped_memory.core.services.sleep_schedule import SleepSchedule
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.errors import ChatFailed
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.main import ScopedMemoryPlugin
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.says.transcript import Alike
from astrbot_plugin_scoped_memory.tests.support.engines import ADAPTER, QUICK, Rig, running
from astrbot_plugin_scoped_memory.tests.support.migrating import filled, until_done
from astrbot_plugin_scoped_memory.tests.support.panel import KEY, Panel
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, holding, tool_context
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import PATIENT, TurnPlugin
from astrbot_plugin_scoped_memory.tools import TOOLS as OF_MODELS

ADMINS = ("管理员", "Admin")
CALLED = dict(zip(ADMINS, ("老板", "Boss"), strict=True))
MODELS = ("模型", "model")
PEOPLE = (*ADMINS, "小明", "Ming", "小红", "Hong", "老李", "Lee")
GROUPS = {"家人": 777, "family": 777, "公司": 888, "work": 888, "大厅": 999, "hall": 999}
ALONE = ("私聊", "alone")
TOOLS = {one().name: one for one in OF_MODELS}
_WORDS = {word: row.name for row in COMMANDS for word in (row.name, *row.aliases.split())}


def number_of(name: str) -> int:
    """The account of a person, the same for a name in each language."""
    return 1001 + (PEOPLE.index(name) // 2 if name in PEOPLE else 90)


class Bot(TurnPlugin):
    """A plugin that can be restored and put to sleep. ``sent`` is what it says by itself."""

    def __init__(self, rig: Rig, panel: Panel, persona: str | None) -> None:
        super().__init__(rig, persona=persona)
        self.config = replace(read_config(panel), recall_deadline_ms=PATIENT)
        self.texts = Texts(self.config.language)
        self.panel_map = PanelMap(cast("Any", panel))
        self.paths = EnginePaths.under(rig.root)
        self.sent: list[str] = []
        self.closed = False
        self.astrbot.send_message = self._send
        self.astrbot.get_config = lambda **_: {"admins_id": [number_of(ADMINS[0])]}
        self.schedule = SleepSchedule(rig.engine, None, rig.clock, first_look=PATIENT)

    async def _send(self, _: str, chain: Any) -> bool:
        self.sent.append(chain.get_plain_text())
        return True

    async def reopen(self, between: Callable[[], Awaitable[None]]) -> None:
        """As main.py does it; the stage opens the engine again before the next line."""
        await self.engine.close()
        self.closed = True
        await between()


class BotCast:
    """One bot over one folder, in a language, and everybody who talks to it."""

    def __init__(self, folder: Path, language: str) -> None:
        self._folders = (folder / str(number) for number in count())
        self._language = language
        self._clock = StandingClock(datetime(2026, 3, 2, 12, 0, tzinfo=UTC))
        self._open = contextlib.AsyncExitStack()
        self._stage = Stage(self)
        self._turn: FakeEvent | None = None
        self.root = self.former = folder
        CommandWords.group = ScopedMemoryPlugin.memory.parent_group  # as AstrBot knows them
        self.alike = Alike(*(folder / str(number) for number in range(9)))

    async def __aenter__(self) -> BotCast:
        await self.new()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def new(self, **settings: Any) -> None:
        """Another bot that knows nothing."""
        self.former, self.root = self.root, next(self._folders)
        self.root.mkdir(parents=True)
        family, work = ("家人", "公司") if self._language == "zh-CN" else ("family", "work")
        self.panel = Panel(
            {
                f"{ADAPTER}:GroupMessage:777": family,
                f"{ADAPTER}:FriendMessage:1003": family,
                f"{ADAPTER}:GroupMessage:888": work,
            }
        )
        self.panel["language"] = self._language
        self.chat = ScriptedChat()
        self.clock = self._clock
        self._around: dict[str, Any] = {}
        await self.start(**settings)

    async def stop(self) -> None:
        """End it; the next line that needs it must be a ``start``."""
        await self._open.aclose()

    async def start(self, **changes: Any) -> None:
        """End it, and start it over the same folder with changed settings of the panel."""
        await self._open.aclose()
        for name in ("accounts", "legacy", "persona", "follow", "model"):
            if name in changes:
                self._around[name] = changes.pop(name)
        if "map" in changes:
            changes[KEY] = changes.pop("map")
        self.panel.update(changes)
        config, around = read_config(self.panel), self._around
        settings = replace(
            config.engine,
            pace=QUICK.pace,
            open_retry_seconds=QUICK.open_retry_seconds,
            load_seconds=PATIENT,
            embed_query_seconds=PATIENT,
        )
        self._follows = around.get("follow", True)
        self.rig = await self._open.enter_async_context(
            running(
                self.root,
                settings.scope_map,
                settings=settings,
                follow=self._follows,
                clock=self.clock,
                chat=self.chat if around.get("model", True) else None,
                legacy=filled(around["legacy"]) if "legacy" in around else None,
                accounts=frozenset(around["accounts"]) if "accounts" in around else None,
                is_admin=lambda person: person == f"{ADAPTER}:{number_of(ADMINS[0])}",
                carried_settings={**self.panel},
            )
        )
        self.bot = Bot(self.rig, self.panel, around.get("persona", ""))
        self._commands = Commands(cast("Any", self.bot))
        for work in (self.bot.schedule.run(), self.rig.engine.migrate()):
            self._open.push_async_callback(_ended, asyncio.create_task(work))
        await self.bot.schedule.running.wait()

    async def play(self, given: str) -> str:
        """Returns what is answered to a line of a page."""
        given = self.alike.meant(given)
        self.clock.forward(minutes=1)
        if given.startswith("* "):
            await self._finish_turn()
            said = await self._stage.play(given[2:])
        else:
            who, _, words = given.partition("> ")
            name, _, place = who.partition("@")
            said = await self._said(name, place, words)
        sent = [f"→ {one}" for one in self.bot.sent]
        self.bot.sent.clear()
        return self.alike.told("\n".join([said, *sent]))

    async def _said(self, name: str, place: str, words: str) -> str:
        await self._settle()
        if name in MODELS:
            tool, arguments = called(words)
            assert self._turn is not None, "nobody has said anything yet"
            made = TOOLS[tool](source=holding(self.bot))
            return str(await made.call(tool_context(self._turn), **arguments))
        await self._finish_turn()
        event = _event(name, place, words.replace("⏎", "\n"))
        said = await (self._command(event) if words.startswith("/") else self._message(event))
        await self.bot.settled()
        await until_true(lambda: not self.bot.schedule.going)
        return said

    async def _command(self, event: FakeEvent) -> str:
        _, _, rest = event.message_str.partition(" ")
        word = rest.split(maxsplit=1)[0] if rest else "help"
        name = _WORDS.get(word, "help")
        event.message_str = event.message_str if word in _WORDS else f"memory help {rest}"
        return await self._commands.answer(cast("Any", event), name) or "-"

    async def _message(self, event: FakeEvent) -> str:
        request = ProviderRequest(prompt=event.message_str)
        await self.bot.mind.before_request(event, request)
        self._turn = event
        parts = [str(getattr(part, "text", "")) for part in request.extra_user_content_parts]
        return "\n".join([*parts, (request.system_prompt or "").strip()])

    async def _finish_turn(self) -> None:
        if self._turn is not None:
            event, self._turn = self._turn, None
            await self.bot.finished(event, LLMResponse("assistant", completion_text="好的"))
            await self._settle()

    async def _settle(self) -> None:
        """What a line is answered must not hang on how far the index is."""
        if self.bot.closed:
            await self.start()
        if self._follows:
            await self.rig.until_indexed()
            await self.rig.until_words()


class Stage:
    """What happens around a bot."""

    def __init__(self, cast_: BotCast) -> None:
        self._cast = cast_

    async def play(self, line: str) -> str:
        name, arguments = called(line)
        return await getattr(self, name)(**arguments) or ""

    async def new(self, **settings: Any) -> None:
        """Another bot, in a folder of its own, with these settings of the panel."""
        await self._cast.new(**settings)

    async def start(self, **settings: Any) -> None:
        """It is started again. ``map``: the scope map; ``accounts``: AstrBot's bot accounts;
        ``legacy``: an old collection's records; ``persona``: the one in force; ``model``: whether
        the engine has one."""
        await self._cast.start(**settings)

    async def stop(self) -> None:
        """It is stopped: files are changed behind its back."""
        await self._cast.stop()

    async def repeat(self, line: str, times: int) -> None:
        """A line is given so often, ``{n}`` counts; nothing is shown of the answers."""
        for number in range(1, times + 1):
            await self._cast.play(line.replace("{n}", str(number)))

    async def carry(self, file: str, to: str) -> None:
        """A person copies what a pattern names out of the folder of the bot before."""
        (path,) = self._cast.former.glob(file)
        target = self._cast.root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())

    async def wait(self, **amount: float) -> None:
        """So much time goes by."""
        self._cast.clock.forward(**amount)

    async def model(self, *, says: str = "", fails: str = "") -> None:
        """The model's next answer to the engine itself, or how it fails."""
        self._cast.chat.add(ChatFailed(*fails.split(": ")) if fails else says)

    async def panel(self, *, full: bool = False, overtaken: bool = False) -> None:
        """The panel cannot be saved: the disk is full, or its page saves at the same moment."""
        self._cast.panel.full, self._cast.panel.overtaken = full, overtaken

    async def until_brought(self) -> None:
        """Old memories are brought."""
        await until_done(self._cast.rig)

    async def write(self, file: str, text: str) -> None:
        """A person writes a file in the bot's data folder."""
        path = self._cast.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._cast.alike.meant(text), "utf-8")

    async def write_bytes(self, file: str, hex: str) -> None:
        """One that is no UTF-8."""
        path = self._cast.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(hex))

    async def replace(self, file: str, old: str, new: str) -> None:
        """A person edits one."""
        path = self._cast.root / file
        text = path.read_text("utf-8")
        assert old in text, text
        path.write_text(text.replace(old, new), "utf-8")

    async def copy(self, file: str, to: str) -> None:
        """A person copies one."""
        shutil.copy(self._cast.root / file, self._cast.root / to)

    async def remove(self, file: str) -> None:
        """A person deletes one."""
        (self._cast.root / file).unlink()

    async def show(self, file: str) -> str:
        """A person reads one."""
        return (self._cast.root / file).read_text("utf-8")

    async def ids(self) -> str:
        """A person reads in the files what each memory is called: the public ones last."""
        found = [
            (one.scope.is_public, one.memory) for one in self._cast.rig.engine.parts.catalogue.all()
        ]
        found.sort(key=lambda one: one[1].memory_id, reverse=True)
        found.sort(key=lambda one: one[0])
        return "\n".join(f"{one.memory_id} {one.judgment}" for _, one in found)

    async def move(self, file: str, to: str) -> None:
        """A person moves what a pattern names."""
        (path,) = self._cast.root.glob(file)
        target = self._cast.root / to
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


def _event(name: str, place: str, words: str) -> FakeEvent:
    more: dict[str, Any] = {"name": CALLED.get(name, name), "admin": name in ADMINS}
    if place in ALONE:
        return FakeEvent.in_private(number_of(name), words, **more)
    number = GROUPS.get(place) or int(place)
    return FakeEvent.in_group(number, words, sender=str(number_of(name)), **more)


def called(line: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a call."""
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call), line
    assert isinstance(call.func, ast.Name), line
    return call.func.id, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
