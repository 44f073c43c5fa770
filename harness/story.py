"""The story that must work, told and checked step by step against a running bot."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import NamedTuple

import aiohttp

from .bot import BotDied
from .panel import PanelError
from .places import Person, Place
from .records import files_with, scopes_with
from .rig import Rig, Turn

type Tell = Callable[[str], None]
type Step = Callable[["Story"], Awaitable[None]]

_BROKEN = (TimeoutError, OSError, LookupError, aiohttp.ClientError, PanelError, BotDied)


class Outcome(NamedTuple):
    """One step: its title and what went wrong in it, if anything."""

    title: str
    problems: tuple[str, ...]


@dataclass(slots=True)
class Story:
    """A rig, a voice for the transcript line by line, and the problems of the present step."""

    rig: Rig
    tell: Tell
    problems: list[str] = field(default_factory=list)

    async def play(self, steps: Sequence[tuple[str, Step]]) -> list[Outcome]:
        """Plays the steps in order; a broken bot ends the story, a failed check does not."""
        outcomes: list[Outcome] = []
        for number, (title, step) in enumerate(steps, start=1):
            self.problems = []
            self.tell(f"\n【{number}/{len(steps)}】{title}")
            try:
                await step(self)
            except _BROKEN as error:
                self.problems.append(f"{type(error).__name__}: {error}")
                self.tell(f"    ✗ {self.problems[-1]}")
                outcomes.append(Outcome(title, tuple(self.problems)))
                break
            outcomes.append(Outcome(title, tuple(self.problems)))
        return outcomes

    async def say(self, place: Place, person: Person, text: str) -> Turn:
        """One message with its reply; both are told, with what was injected and called."""
        turn = await self.rig.turn(place, person, text)
        where = f"群 {place.number}" if place.kind == "group" else "私聊"
        self.tell(f"  ▸ {place.umo}")
        self.tell(f"    {where} · {person.nickname}：{text}")
        if not turn.requests:
            self.problems.append(f"{place.umo}: 模型没有收到「{text}」")
            return turn
        self.tell(_indented("注入：", turn.injected or "（无）"))
        for result in turn.tool_results:
            self.tell(_indented("工具：", result))
        self.tell(_indented("机器人：", turn.reply))
        return turn

    async def command(self, place: Place, person: Person, text: str) -> str:
        self.tell(f"  ▸ {place.umo}")
        reply = await self.rig.onebot.ask(place, person, text)
        self.tell(f"    指令 · {person.nickname}：{text}")
        self.tell(_indented("机器人：", reply))
        return reply

    def check(self, what: str, *, holds: bool) -> None:
        self.tell(f"    {'✓' if holds else '✗'} {what}")
        if not holds:
            self.problems.append(what)

    def check_stored(self, words: str, *scopes: str) -> None:
        """Checks that exactly these scopes hold `words`, and tells in which files."""
        found = scopes_with(self.rig.memory, words)
        self.check(f"「{words}」只在记忆域 {'、'.join(scopes)}", holds=found == set(scopes))
        for path in files_with(self.rig.memory, words):
            self.tell(f"      文件 memory/{path.as_posix()}")

    def show_files(self) -> None:
        for path in sorted(self.rig.memory.glob("scopes/**/*.md")):
            self.tell(f"\n  ── memory/{path.relative_to(self.rig.memory).as_posix()}")
            text = path.read_text(encoding="utf-8", errors="replace").rstrip()
            self.tell(indent(text, " " * 5))


def _indented(head: str, text: str) -> str:
    return f"    {head}{indent(text, ' ' * 8).lstrip()}"
