"""The souls of a folder, without an engine: what rules and a model say is what a test tells them
to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    Axis,
    Direction,
    Finding,
    SoulAction,
    SoulEvolution,
    SoulLine,
    SoulRequest,
    SoulView,
    soul_folder,
)
from astrbot_plugin_scoped_memory.llm_memory.runtime.lifecycle import Lifespan
from astrbot_plugin_scoped_memory.llm_memory.runtime.notice_board import NoticeBoard
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import SoulEvaluation
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import seed
from astrbot_plugin_scoped_memory.llm_memory.soul.souls import Refuse, Souls
from astrbot_plugin_scoped_memory.llm_memory.soul.store import SoulStore
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SoulHeads, SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.texts import Said
from astrbot_plugin_scoped_memory.llm_memory.vault.pages import PagesOnDisk
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

CAT = "猫娘"
ADMIN = person(9, "站长", admin=True)
SEED = seed("zh").encode()
GENTLE = "说话温和一点。"


def _wishes(name: str) -> list[str]:
    path = Path(__file__).resolve().parents[1] / "data" / f"soul_{name}.jsonl"
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


HOSTILE, HARMLESS = _wishes("hostile"), _wishes("harmless")
"""Wishes for a manner, as people who had not seen the rules wrote them."""


@dataclass
class Counts:
    """As many people as it takes want these manners of a role."""

    wanted: dict[str, list[tuple[Axis, Direction]]] = field(default_factory=dict)

    def roles(self) -> list[str]:
        return list(self.wanted)

    def agreed(self, role: str, today: date) -> list[tuple[Axis, Direction]]:
        return [*self.wanted[role]]

    def clear(self, role: str, axis: Axis) -> None:
        self.wanted[role] = [one for one in self.wanted[role] if one[0] != axis]


class SoulWorld:
    """``souls`` over the folders below a root; ``restart`` makes new ones over the same.

    ``refused``: a text with one of these words in it is against the rules. ``verdict``: what a
    model says of what was counted; ``evaluated`` holds what it was asked.
    """

    def __init__(self, root: Path, evolution: SoulEvolution = SoulEvolution.REVIEW) -> None:
        self.root = root / "memory"
        self.root.mkdir(parents=True, exist_ok=True)
        self.clock = StandingClock()
        self.counts = Counts()
        self.refused: set[str] = set()
        self.rules: Refuse = self._refuse
        self.verdict: SoulEvaluation | None = SoulEvaluation(None)
        self.evaluated: list[tuple[SoulLine, str]] = []
        self.state = SqliteStateStore(root / "state" / "state.sqlite")
        self._evolution = evolution
        self.restart()

    def restart(self) -> None:
        """As a process does that begins over these files."""
        self.state.close()
        self.state.open()
        pages, heads, life = PagesOnDisk(self.root), SoulHeads(self.state), Lifespan()
        life.loaded()
        self.notices = NoticeBoard()
        self.store = SoulStore(pages, heads, self.clock, self.root, SEED)
        counts: Any = self.counts
        said = (counts, self._complaints, self._evaluate, self.notices, life, self.clock)
        self.souls = Souls(self.store, *said, self._evolution)

    async def _complaints(self, role: str) -> Refuse:
        return self.rules

    def _refuse(self, old: str, new: str) -> tuple[Finding, ...]:
        finding = Finding(Said("soul_rule.same"), 3)
        return (finding,) if any(one in new for one in self.refused) else ()

    async def _evaluate(self, role: str, proposal: SoulLine, old: str) -> SoulEvaluation | None:
        self.evaluated.append((proposal, old))
        return self.verdict

    def page(self, persona: str = CAT) -> Path:
        """SOUL.md."""
        return self.root / "roles" / soul_folder(persona) / "SOUL.md"

    def folder(self, persona: str = CAT) -> Path:
        return self.root / "soul" / soul_folder(persona)

    def log(self, persona: str = CAT) -> Path:
        return self.folder(persona) / "chain.jsonl"

    def tree(self, persona: str = CAT) -> dict[str, str]:
        """The hash of each file of a persona."""
        tops = (self.page(persona).parent, self.folder(persona))
        return {
            path.relative_to(self.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for top in tops
            for path in top.rglob("*")
            if path.is_file()
        }

    async def ask(
        self, action: SoulAction, number: int = 0, wish: str = "", *, persona: str = CAT, **by: Any
    ) -> Any:
        actor: Actor = by.get("actor", ADMIN)
        return await self.souls.ask(SoulRequest(action, number, wish), persona, actor)

    async def view(self, persona: str = CAT) -> SoulView:
        found = await self.ask("show", persona=persona)
        assert isinstance(found, SoulView), found
        return found

    async def applied(self, wish: str = GENTLE, persona: str = CAT) -> None:
        """Have a wish put in force, on another day."""
        self.clock.forward(days=1)
        await self.ask("propose", wish=wish, persona=persona)
        await self.ask("apply", persona=persona)
        assert wish in (await self.view(persona)).rules
