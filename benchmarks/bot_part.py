"""Real AstrBots with and without the plugin: start, memory, and a message's round trip."""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauges import cpu_seconds, resident_megabytes, spread
from samples import memories, questions, write_vault

from astrbot_plugin_scoped_memory.harness.bot import START_SECONDS, STARTED, AstrBotProcess
from astrbot_plugin_scoped_memory.harness.model import ScriptedModel
from astrbot_plugin_scoped_memory.harness.onebot import OneBot
from astrbot_plugin_scoped_memory.harness.panel import Panel
from astrbot_plugin_scoped_memory.harness.places import Person, private
from astrbot_plugin_scoped_memory.harness.release import install
from astrbot_plugin_scoped_memory.harness.settings import BotSettings
from astrbot_plugin_scoped_memory.harness.waiting import free_port, until

PERSON = Person(10001, "小明")
PLACE = private(PERSON)
_BUILDING_SECONDS = 3600.0
_IDLE_SECONDS, _QUIET_SECONDS = 75.0, 5.0
"""A program of ours that nobody asks ends after a minute."""
_TIMER = "astrbot_plugin_hook_timer"
_TIMER_METADATA = f"name: {_TIMER}\ndesc: times hooks\nversion: 1.0.0\nauthor: benchmarks\n"


@dataclass
class Start:
    """Seconds from the process's start: until AstrBot says that it started, until its panel
    answers, and of CPU until then (None beyond Linux)."""

    started: float
    answering: float
    cpu: float | None


@dataclass(frozen=True)
class Memory:
    """Resident megabytes of the bot's own process, and of all that it started together with it;
    None beyond Linux."""

    own: float | None
    all: float | None


@dataclass
class Bot:
    """A bot of a set, running or not."""

    process: AstrBotProcess
    onebot: OneBot
    panel: Panel
    starts: list[Start] = field(default_factory=list)

    async def start(self) -> Start:
        began = time.perf_counter()
        starting = asyncio.create_task(self.process.start())
        await asyncio.sleep(0)  # from here on the log is the new process's

        async def says_so() -> bool:
            return starting.done() or STARTED in self.process.logs()

        await until(says_so, within=START_SECONDS, what="the start in AstrBot's log")
        started = time.perf_counter() - began
        await starting
        answering = time.perf_counter() - began
        return Start(started, answering, cpu_seconds(self.process.pid))

    async def stop(self) -> None:
        await asyncio.to_thread(self.process.sigterm)

    def memory(self) -> Memory:
        """What it holds now."""
        pid = self.process.pid
        return Memory(resident_megabytes(pid, children=False), resident_megabytes(pid))

    async def round_trip(self, text: str) -> float:
        """Milliseconds from a message to its reply."""
        began = time.perf_counter()
        await self.onebot.ask(PLACE, PERSON, text)
        return (time.perf_counter() - began) * 1000

    def hooks(self, name: str) -> list[float]:
        """Milliseconds that the hooks of each turn took, since ever: ``hooks`` those before the
        request, ``ends`` those after the answer."""
        file = self.process.plugins / _TIMER / f"{name}.txt"
        return [float(line) for line in file.read_text(encoding="ascii").split()]

    async def indexed(self, count: int) -> None:
        """Wait until the plugin has everything in its index."""

        async def probe() -> bool:
            status = await self.panel.ready()
            known = status["memories"]["total"] >= count
            ready = status["index"] in {"ready", "lexical"}
            return known and ready and not status["backlog"]

        await until(probe, within=_BUILDING_SECONDS, what="the index")


async def measure_bot(
    root: Path, size: int, *, embedding: str, rounds: int, turns: int
) -> dict[str, Any]:
    """Three bots: ``bare``, ``full`` with our plugin and ``size`` memories in its vault, and
    ``listed`` with a plugin that does nothing, but has our requirements.txt and our tools: AstrBot
    looks through all installed packages for each plugin that has the one, before it loads it, and
    checks the description of every tool at every message.

    Starts take turns, so that a slower hour of the machine slows all of them.
    """
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel())
        bots = {
            name: await new_bot(stack, root / name, model) for name in ("bare", "listed", "full")
        }
        bare, listed, full = bots.values()
        installed = install(full.process.plugins)
        config = json.dumps({"embedding": embedding})
        full.process.plugin_config.write_text(config, encoding="utf-8")
        shutil.copy(installed / "requirements.txt", listed.process.plugins / _TIMER)
        if size:
            write_vault(full.process.plugin_data / "memory", memories(size))
        # Bytecode is written, AstrBot's first start over, the index built.
        for bot in (full, bare, listed):
            await bot.start()
            if bot is full:
                await bot.indexed(size)
                await _take_tools(full, model, listed.process.plugins / _TIMER)
            await bot.stop()
        await _starts(bots, rounds)
        await asyncio.gather(*(bot.start() for bot in bots.values()))
        await full.indexed(size)
        await asyncio.sleep(_IDLE_SECONDS)
        at_rest = memory_figures(bare.memory(), full.memory())
        turn = await ask_all(bots, turns)
        await asyncio.sleep(_QUIET_SECONDS)
        figures = {
            "memories": size,
            "embedding": embedding,
            "start": _start_figures(bots),
            "memory_mb": {
                "at_rest": at_rest,
                "after_turns": memory_figures(bare.memory(), full.memory()),
            },
            "turn": turn,
        }
        for bot in bots.values():
            await bot.stop()
    return figures


def memory_figures(bare: Memory, full: Memory) -> dict[str, float | None]:
    """Megabytes, and what the plugin adds to its bot's process, and with all others."""
    return {
        "bare": bare.all,
        "full": full.all,
        "added_to_process": _more(full.own, bare.own),
        "added": _more(full.all, bare.all),
    }


def _more(full: float | None, bare: float | None) -> float | None:
    return round(full - bare, 1) if bare and full else None


async def _take_tools(full: Bot, model: ScriptedModel, folder: Path) -> None:
    """As the model is sent them."""
    await full.onebot.connected()
    await full.round_trip("你好")
    tools = json.dumps(model.requests[-1].body["tools"])
    (folder / "tools.json").write_text(tools, encoding="utf-8")


async def new_bot(stack: AsyncExitStack, root: Path, model: ScriptedModel) -> Bot:
    settings = BotSettings(model.base_url, panel_port=free_port(), onebot_port=free_port())
    process = AstrBotProcess(root, settings)
    process.prepare()
    _install_timer(process.plugins / _TIMER)
    stack.callback(process.kill9)
    onebot = await stack.enter_async_context(OneBot(settings.onebot_port))
    panel = await stack.enter_async_context(Panel(process.panel_url))
    return Bot(process, onebot, panel)


def _install_timer(folder: Path) -> None:
    """Into all bots of a set: what it costs itself is no difference between them."""
    folder.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("hook_timer.py"), folder / "main.py")
    (folder / "metadata.yaml").write_text(_TIMER_METADATA, encoding="utf-8")


async def _starts(bots: dict[str, Bot], rounds: int) -> None:
    for number in range(rounds):
        order = list(bots.values())
        for bot in order[number % 3 :] + order[: number % 3]:
            bot.starts.append(await bot.start())
            await bot.stop()


def _start_figures(bots: dict[str, Bot]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for what in ("started", "answering", "cpu"):
        times = {name: [getattr(start, what) for start in bot.starts] for name, bot in bots.items()}
        if any(value is None for values in times.values() for value in values):
            continue
        median = {name: statistics.median(values) for name, values in times.items()}
        figures[what] = {name: round(value, 2) for name, value in median.items()} | {
            "full_by_bare": round(median["full"] / median["bare"], 3),
            "full_by_listed": round(median["full"] / median["listed"], 3),
        }
    return figures


async def ask_all(bots: dict[str, Bot], count: int) -> dict[str, Any]:
    """The same questions to ``bare``, ``full`` and whoever else is there, by turns: round trips,
    and what the hooks took of them."""
    for bot in bots.values():
        await bot.onebot.connected()
        for text in questions(3):  # the first message of a conversation does more than the others
            await bot.round_trip(text)
    times: dict[str, list[float]] = {name: [] for name in bots}
    for number, text in enumerate(questions(count)):
        order = list(bots)
        for name in order[number % len(order) :] + order[: number % len(order)]:
            times[name].append(await bots[name].round_trip(text))
    median = {name: statistics.median(took) for name, took in times.items()}
    bare, full = bots["bare"], bots["full"]
    hooks, nothing = (spread(bot.hooks("hooks")[-count:]) for bot in (full, bare))
    ends, no_ends = (spread(bot.hooks("ends")[-count:]) for bot in (full, bare))
    return {
        **{f"round_trip_ms_{name}": spread(took) for name, took in times.items()},
        **{
            f"full_by_{name}": round(median["full"] / own, 3)
            for name, own in median.items()
            if name != "full"
        },
        "hooks_ms_bare": nothing,
        "hooks_ms_full": hooks,
        "added_p95_by_round_trip": round((hooks["p95"] - nothing["p50"]) / median["bare"], 3),
        "ends_ms_bare": no_ends,
        "ends_ms_full": ends,
        "queued_p95_by_round_trip": round((ends["p95"] - no_ends["p50"]) / median["bare"], 4),
    }
