"""A bot whose parts can be broken, as owners have it: shipped settings, a turned clock, two scopes
with words of their own, and each door of its engine asked as commands and tools ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from astrbot_plugin_scoped_memory.core.config import read_config
from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Engine,
    EnginePaths,
    Hit,
    MemoryDraft,
    Notice,
    Stored,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.errors import ScopedMemoryError
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.guarded import GuardedEmbedder
from astrbot_plugin_scoped_memory.llm_memory.index.words import Words
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import is_changed
from astrbot_plugin_scoped_memory.llm_memory.models.deeds import DeedKind
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import Exported
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Ticket
from astrbot_plugin_scoped_memory.llm_memory.reflection.turn_store import SqliteTurnStore
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import (
    SqliteLoopFacts,
    SqliteLoopFile,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import SqliteStateStore
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer
from astrbot_plugin_scoped_memory.llm_memory.vault.ledger import SqliteLedger
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk, MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.laws.fault_parts import Faulty, Speaking, Switches
from astrbot_plugin_scoped_memory.tests.laws.turned_clock import TurnedLoop
from astrbot_plugin_scoped_memory.tests.support.engines import MAP, group, person

PANEL: Final = read_config({"conversation_scope_map": MAP})
SETTINGS: Final = replace(
    PANEL.engine,
    # A file's own time is the disk's, whatever the loop's clock says.
    pace=replace(PANEL.engine.pace, quiet_seconds=0.0),
)
"""As shipped, but for one."""
TURN_SECONDS: Final = PANEL.recall_deadline_ms / 1000
HOME, WORK, PUBLIC = group(777), group(888), group(999)
OWN_WORDS: Final = {
    HOME: ("奶奶对花生过敏", "奶奶对海鲜也过敏", "药放在蓝色抽屉里", "周三要交物业费"),
    WORK: ("门禁密码每周一更换", "打印机在机房"),
    PUBLIC: ("图书馆周一闭馆",),
}
QUESTIONS: Final = {HOME: "奶奶对什么过敏", WORK: "门禁密码什么时候更换", PUBLIC: "图书馆周几闭馆"}
_START: Final = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
_MEMBER, _ADMIN = person(10001), person(5, "管理员", admin=True)


def foreign_words(where: ConversationId) -> set[str]:
    """What nobody may be told there. All that is public may be told everywhere."""
    return {
        word for place, words in OWN_WORDS.items() if place not in (where, PUBLIC) for word in words
    }


def visible_words(where: ConversationId) -> set[str]:
    """What may be told there."""
    return {*OWN_WORDS[where], *OWN_WORDS[PUBLIC]}


@dataclass
class Answer:
    """What a door told, or that it refused, and after how many seconds of the loop."""

    told: tuple[str, ...] = ()
    refused: str = ""
    passed: float = 0.0
    shown: str = ""
    """All of it, as it would be written into a prompt or a reply."""


@dataclass
class FaultyBot:
    """One start of the bot over a data folder."""

    root: Path
    loop: TurnedLoop
    disk: Disk
    """Of the index of vectors."""
    asks_store: bool = False
    """They are too many for memory."""
    switches: Switches = field(init=False)
    notices: list[Notice] = field(default_factory=list)
    reranker: Speaking = field(default_factory=Speaking)

    def __post_init__(self) -> None:
        self.switches = Switches(self.loop)
        faulty = partial(Faulty, switches=self.switches)
        paths = EnginePaths.under(self.root)
        loop_file = SqliteLoopFile(paths.state / "loop.sqlite", version="")
        ledger = faulty("ledger", SqliteLedger(paths.state / "vault.sqlite"))
        vault = MarkdownVault(
            paths.memory,
            ledger,
            now=lambda: self.now().timestamp(),
        )
        self.embedder, plain = FakeEmbedder(), Tokenizer(use_jieba=False)
        self._checked = GuardedEmbedder(
            faulty("embedder", self.embedder),  # type: ignore[arg-type]  # as all parts here
            SETTINGS,
        )
        self.engine: Engine = build_engine(
            paths,
            SETTINGS,
            on_notice=self.notices.append,
            clock=self.now,
            reranker=faulty("reranker", self.reranker),  # type: ignore[arg-type]
            replacing={
                "vault": faulty("vault", vault),
                "state": faulty("state", SqliteStateStore(paths.state / "state.sqlite")),
                "store": faulty("vectors", MemoryStore(self.disk)),
                "words": faulty("words", Words(plain)),
                "tokenizer": plain,
                "turns": faulty("turns", SqliteTurnStore(loop_file)),
                "loop_file": loop_file,
                "loop_book": SqliteLoopFacts(loop_file),
                "watcher": FakeWatcher(missing="files are looked at each minute"),
                "trust": FixedTrust(),
                "bundled": None,
                "local": FakeEmbedder,
                "staging": None,
            },
        )
        if self.asks_store:
            self.engine.parts.indexing.most_bytes = 0
        self.service = self.engine.service

    def now(self) -> datetime:
        """The time of the loop as a date."""
        return _START + timedelta(seconds=self.loop.time())

    def start(self) -> None:
        """Open it behind whoever asks, as a host does."""
        self._life = asyncio.create_task(self._live())

    async def _live(self) -> None:
        await self.engine.open()
        await asyncio.gather(self.engine.run(self._checked), self.engine.follow())

    async def stop(self) -> None:
        """As at a reload."""
        self._life.cancel()
        await asyncio.gather(self._life, return_exceptions=True)
        await self.engine.close()

    async def ask(self, door: str, where: ConversationId) -> Answer:
        """One of ``DOORS``. An error of ours is a refusal; any other one fails the test."""
        began = self.loop.time()
        try:
            answer = await DOORS[door](self, where)
        except ScopedMemoryError as error:
            answer = Answer(refused=str(error) or type(error).__name__)
        answer.passed = self.loop.time() - began
        return answer

    async def texts(self, where: ConversationId) -> set[str]:
        """All that a conversation sees."""
        found = await self.service.newest(conversation_id=where)
        return {one.memory.judgment for one in found}

    async def id_of(self, text: str, where: ConversationId) -> str:
        """Of what is kept in these words."""
        found = await self.service.newest(conversation_id=where)
        return next(one.memory.memory_id for one in found if one.memory.judgment == text)

    async def is_recalled(self, text: str, where: ConversationId) -> bool:
        """Whether it is found in its own words."""
        recall = await self.service.recall(text, conversation_id=where, limit=5, token_budget=600)
        return text in {hit.preview for hit in recall.hits}

    async def unindexed(self) -> set[str]:
        """What lives and has no vector, by id; unread turns may have some, too."""
        (rows,) = self.disk.collections.values()
        living = [
            one for where in OWN_WORDS for one in await self.service.newest(conversation_id=where)
        ]
        return {one.memory.memory_id for one in living} - {key.memory_id for key in rows}

    async def remember(self, text: str, where: ConversationId) -> bool:
        """Whether it was acknowledged."""
        draft = MemoryDraft(text, actor=_MEMBER)
        return isinstance(await self.service.remember(draft, conversation_id=where), Stored)

    async def edit(self, memory_id: str, text: str) -> bool:
        """Whether it was acknowledged, of the home's."""
        done = await self.service.edit(memory_id, text, conversation_id=HOME, actor=_ADMIN)
        return is_changed(done, DeedKind.EDITED)

    async def forget(self, memory_id: str) -> bool:
        """Whether it was acknowledged, of the home's."""
        done = await self.service.forget(memory_id, conversation_id=HOME, actor=_ADMIN)
        return is_changed(done, DeedKind.FORGOTTEN)

    async def observe(self, text: str) -> bool:
        """Whether the turn is kept."""
        done = await self.service.observe(Turn(_MEMBER, text, "好的"), conversation_id=HOME)
        return isinstance(done, Ticket)

    async def faults(self) -> list[str]:
        """What its owner could see: nothing, where all is indexed and no notice stands."""
        status = await self.engine.status()
        states = {f"vectors {status.index}", f"words {status.words}"}
        waiting = {f"{status.backlog + status.leaving} to index"}
        notices = [f"{one.code} {dict(one.params)}" for one in status.notices]
        return [*(states - _WELL), *(waiting - {"0 to index"}), *notices]


_WELL: Final = {"vectors ready", "words ready"}


def _of_hits(hits: Sequence[Hit]) -> Answer:
    return Answer(tuple(hit.preview for hit in hits), shown=repr(hits))


async def _recalled(bot: FaultyBot, where: ConversationId, *, in_talk: bool = False) -> Answer:
    recall = await bot.service.recall(
        QUESTIONS[where],
        conversation_id=where,
        limit=5,
        token_budget=600,
        actor=_MEMBER,
        in_talk=in_talk,
    )
    return replace(_of_hits(recall.hits), shown=repr(recall))


async def _turned_to(bot: FaultyBot, where: ConversationId) -> Answer:
    asked = {"seconds": TURN_SECONDS, "limit": 3, "token_budget": 600, "primed": True}
    start = await bot.service.begin_turn(
        QUESTIONS[where], conversation_id=where, actor=_MEMBER, **asked
    )
    return replace(_of_hits(start.recall.hits), shown=repr((start.recall, start.primer)))


async def _newest(bot: FaultyBot, where: ConversationId) -> Answer:
    found = await bot.service.newest(conversation_id=where)
    hits = await bot.service.told(found, conversation_id=where, actor=_MEMBER, chars=240)
    return replace(_of_hits(hits), shown=repr((found, hits)))


async def _exported(bot: FaultyBot, where: ConversationId) -> Answer:
    done = await bot.service.export(conversation_id=where, actor=_ADMIN)
    if not isinstance(done, Exported):
        return Answer(refused=repr(done))
    content = (bot.root / "exports" / done.name).read_text("utf-8")
    return Answer(shown=content)


async def _primed(bot: FaultyBot, where: ConversationId) -> Answer:
    seen = await bot.service.overview(conversation_id=where, actor=_MEMBER, token_budget=1000)
    return Answer(shown=repr(seen))


async def _described(bot: FaultyBot, where: ConversationId) -> Answer:
    """For the conversation; what the owner is shown names no memory at all."""
    status = repr(await bot.engine.status())
    assert not [word for words in OWN_WORDS.values() for word in words if word in status]
    explained = await bot.service.explain(conversation_id=where)
    scope = await bot.service.describe(conversation_id=where)
    return Answer(shown=repr((explained, scope)))


DOORS: Final[dict[str, Callable[[FaultyBot, ConversationId], Awaitable[Answer]]]] = {
    "recall": _recalled,
    "recall in talk": partial(_recalled, in_talk=True),
    "a turn": _turned_to,
    "newest and told": _newest,
    "prime": _primed,
    "status and explain": _described,
    "export": _exported,
}
RECALLS: Final = ("recall", "recall in talk", "a turn")
