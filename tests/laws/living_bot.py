"""A bot that lives over several starts, is remapped, edited by hand and killed in the middle of a
deed. Each deed answers in a word that the model of the laws knows."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
import shutil
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    BroughtBack,
    Changed,
    ConversationId,
    ConversationKind,
    DeedKind,
    DmScope,
    EngineSettings,
    Exported,
    Feedback,
    GroupScope,
    Imported,
    LoopSettings,
    MemoryDraft,
    Refused,
    Stored,
    TaskChange,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import task_of
from astrbot_plugin_scoped_memory.llm_memory.index.chroma.vector_store import (
    ChromaConnection,
    ChromaStore,
)
from astrbot_plugin_scoped_memory.llm_memory.index.ports import VectorStore
from astrbot_plugin_scoped_memory.llm_memory.log import logger
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import is_denied
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Brought
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import with_renamed
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import Entry, parse_file
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk, MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.words import keys_in
from astrbot_plugin_scoped_memory.tests.laws.cast import LINKS, Person, Place, words_in
from astrbot_plugin_scoped_memory.tests.laws.moments import watched
from astrbot_plugin_scoped_memory.tests.support.deciding import Accept
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, running

ANCHOR = {"aiocqhttp:GroupMessage:0": "锚"}
"""So that no map counts as lost."""
REAL = "real indexes"
RUNGS = ("words alone", "model", "model whose vectors are too many")
_LOOP = LoopSettings(after_turns=1, idle_minutes=1, daily_tokens=10**7, retry_seconds=(0.0,),
                     prime_after_hours=1)  # fmt: skip
SETTINGS = replace(QUICK, relevance_floor=0.0, preview_chars=80, loop=_LOOP, identity_links=LINKS)
PAGES = ("MEMORY.md", "PRIMER.md")
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


def conversation(place: Place) -> ConversationId:
    """A place as the bot framework names it."""
    account, kind, session = place.umo.split(":", 2)
    adapter = {"tg": "telegram"}.get(account, account)
    if kind == "GroupMessage":
        group = place.line.rpartition(":")[2]
        return ConversationId(
            place.umo, adapter, account, ConversationKind.GROUP, group=group, persona=""
        )
    if kind == "FriendMessage":
        return ConversationId(
            place.umo, adapter, account, ConversationKind.PRIVATE, peer=session, persona=""
        )
    return ConversationId.parse(place.umo)


def actor(who: Person) -> Actor:
    """A person as the bot framework names them."""
    return Actor(who.account, who.name, who.admin)


@dataclass(frozen=True)
class Found:
    """An entry as it stands in a file."""

    scope: str
    memory_id: str
    words: str
    account: str
    is_done: bool
    path: Path


class Clock:
    """Moves a second at each look, and as far as it is told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=10)
        return self.now


class LivingBot:
    """One data folder and what runs over it.

    ``die_at``: at this durable moment of the next deed the bot is killed.
    """

    def __init__(self, home: Path, rung: str) -> None:
        self.root = home / "bot"
        self.root.mkdir()
        self._home = home
        self.rung = rung
        self._runner = asyncio.Runner()
        self._stack = contextlib.ExitStack()
        self._watch = self._stack.enter_context(watched())
        self._open = contextlib.AsyncExitStack()
        self._disk = Disk()
        self.clock = Clock()
        self.chat = ScriptedChat(otherwise=self._learns_all)
        self.log: list[str] = []
        sink = logger.add(lambda message: self.log.append(str(message)), level="DEBUG")
        self._stack.callback(lambda: sink is not None and logger.remove(sink))
        self.die_at: int | None = None
        self.was_killed = False
        self.had_ended = False
        """The kill came when all of the deed was done."""
        self.kills = 0
        self.said: dict[str, list[str]] = {}
        """The turns of each conversation, as the bot framework keeps them."""
        self._rig: Rig | None = None
        self._settings: EngineSettings = SETTINGS
        self.scope_map: dict[str, str] = {}

    # Its life

    @property
    def rig(self) -> Rig:
        """The engine that runs."""
        assert self._rig is not None
        return self._rig

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Something that is asked of it, to its end."""
        return self._runner.run(work)

    def start(
        self, scope_map: Mapping[str, str], *, per_peer: bool = False, per_group: bool = False
    ) -> None:
        """With these settings, until it ends."""
        self.scope_map = dict(scope_map)
        self._settings = replace(
            SETTINGS,
            dm_scope=DmScope.PER_PEER if per_peer else DmScope.PUBLIC,
            group_scope=GroupScope.PER_GROUP if per_group else GroupScope.PUBLIC,
        )
        self.run(self._start())

    async def _start(self) -> None:
        store: VectorStore = MemoryStore(self._disk)
        if self.rung == REAL:
            store = ChromaStore(ChromaConnection.in_folder(self.root / "index" / "chroma"))
        self._rig = await self._open.enter_async_context(
            running(
                self.root,
                {**ANCHOR, **self.scope_map},
                store=store,
                settings=self._settings,
                clock=self.clock,
                chat=self.chat,
                words_alone=self.rung == "words alone",
                vector_bytes=0 if self.rung == RUNGS[2] else None,
            )
        )

    def stop(self) -> None:
        """Until the next start."""
        self.run(self._open.aclose())

    def restart(self) -> None:
        """With the settings that it has."""
        self.stop()
        self.run(self._start())

    def lose_index(self) -> None:
        """Somebody deletes the folder while the bot is off."""
        self.run(self._open.aclose())
        shutil.rmtree(self.root / "index", ignore_errors=True)
        self._disk = Disk()
        self.run(self._start())

    def end(self) -> None:
        """The story is over."""
        with self._stack:
            self.run(self._open.aclose())
            self._runner.close()

    def deed[T](self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do it, and die meanwhile if that is due: the folder is then as a kill has left it, and
        the bot has started again."""
        self.was_killed, self.had_ended = False, True
        if self.die_at is None:
            return self.run(work())
        self.kills += 1
        copies = self._home / f"killed {self.kills}"
        with self._watch.copying(self.root, copies, at=self.die_at) as moments:
            done = self.run(work())
        self.die_at, self.was_killed = None, True
        (left,) = moments
        self.had_ended = left.number == moments.count - 1
        self.run(self._open.aclose())
        shutil.rmtree(self.root)
        left.root.rename(self.root)
        shutil.rmtree(copies)
        self.run(self._start())
        return done

    def queued(self) -> int:
        """How many turns wait to be read."""
        return self.run(self.rig.engine.status()).loop.queue.waiting

    async def settle(self) -> None:
        """What people did to the files is taken in, and both indexes have caught up."""
        engine = self.rig.engine
        await engine.reflection.follow()
        for _ in range(3):
            await engine.reconcile()
        await engine.parts.note_book.refresh()
        await self.rig.until_words()
        await self.rig.until_indexed()

    # Deeds

    async def tell(self, place: Place, who: Person, words: str) -> tuple[str, str]:
        """A tool stores what a person said: the answer, and which entry it is."""
        draft = MemoryDraft(words, actor=actor(who), talk="")
        outcome = await self.rig.engine.service.remember(draft, conversation_id=conversation(place))
        return _stored(outcome)

    async def hear(self, place: Place, who: Person, words: str) -> tuple[str, str]:
        """A turn that is read at once."""
        service = self.rig.engine.service
        turn = Turn(actor(who), words, "嗯", history=self._keep(place, words))
        ticket = await service.observe(turn, conversation_id=conversation(place))
        if not isinstance(ticket, Ticket):
            return _observed(ticket), ""
        draft = MemoryDraft(words, active=False, actor=actor(who))
        (outcome,) = (await service.feedback(Feedback(drafts=(draft,)), ticket=ticket)).outcomes
        return _stored(outcome)

    async def overhear(self, place: Place, who: Person, words: str) -> str:
        """A turn that waits to be read. It claims to have been shown all that there is."""
        recalled = tuple(sorted({one.memory_id for one in self.files()}))
        turn = Turn(actor(who), words, "好的", recalled, history=self._keep(place, words))
        outcome = await self.rig.engine.service.observe(turn, conversation_id=conversation(place))
        return "waits" if isinstance(outcome, Ticket) else _observed(outcome)

    def _keep(self, place: Place, words: str) -> str:
        said = self.said.setdefault(place.umo, [])
        said.append(words)
        return history_of(place)

    async def read(self) -> None:
        """A reader of turns answers with all that was said in those that it is given."""
        self.clock.now += timedelta(hours=1)
        for _ in range(20):
            report = await self.rig.engine.reflection.read_due()
            assert not report.error, report
            if not report.read:
                return
        raise AssertionError("it reads for ever")

    def _learns_all(self, call: Call) -> str:
        _, begins, turns = call.prompt.rpartition("<turns>\n")
        if not begins:
            return "{}"
        lines = [json.loads(line) for line in turns.partition("\n</turns>")[0].splitlines()]
        found = [
            {"judgment": words, "turn": line["turn"], "who": line["who"], "scope": "public"}
            for line in lines
            for words in words_in(line["said"])
        ]
        # It claims whatever it likes of what other scopes hold, too.
        known = set(re.findall(r'"id": "(m-[0-9a-z]+)"', call.prompt))
        strange = sorted({name for line in lines for name in line.get("recalled", ())} - known)
        claims = [{"old_id": name, "new": new} for name in strange for new in found[:1]]
        merges = [{"ids": strange, "new": new} for new in found[:1]]
        reply = {"scope": "public", "new_memories": found, "useless_ids": strange,
                 "useful_ids": strange, "contradictions": claims, "merges": merges}  # fmt: skip
        return json.dumps(reply, ensure_ascii=False)

    async def night(self) -> None:
        """A day goes by, and a night."""
        self.clock.now += timedelta(days=1)
        report = await self.rig.engine.sleep.run_once("nightly", patient=False)
        assert not report.errors, report

    async def task(self, place: Place, who: Person, words: str, *, done: bool) -> str:
        """Something is to be done, or is done."""
        change = TaskChange("done" if done else "add", (words,))
        report = await self.rig.engine.service.update_tasks(
            change, conversation_id=conversation(place), actor=actor(who)
        )
        return _no(report) if isinstance(report, Refused) else str(report.outcomes[0].fate)

    async def forget(self, place: Place, who: Person, name: str, *, for_good: bool = False) -> str:
        """By command."""
        return _word(
            await self.rig.engine.service.forget(
                name, conversation_id=conversation(place), actor=actor(who), for_good=for_good
            )
        )

    async def forget_many(self, place: Place, who: Person, ids: list[str]) -> list[str]:
        """By command, several at once."""
        outcomes = await self.rig.engine.service.forget_many(
            ids, conversation_id=conversation(place), actor=actor(who)
        )
        return [_word(one) for one in outcomes]

    async def edit(self, place: Place, who: Person, name: str, words: str) -> str:
        """By command."""
        return _word(
            await self.rig.engine.service.edit(
                name, words, conversation_id=conversation(place), actor=actor(who)
            )
        )

    async def move(self, place: Place, who: Person, name: str, target: str) -> str:
        """By command."""
        return _word(
            await self.rig.engine.service.move(
                name, target, conversation_id=conversation(place), actor=actor(who)
            )
        )

    async def undo(self, place: Place, who: Person, name: str = "") -> str:
        """By command; with an id, or what was done last."""
        return _word(
            await self.rig.engine.service.restore(
                name, conversation_id=conversation(place), actor=actor(who)
            )
        )

    async def pause(self, place: Place, who: Person, *, on: bool) -> str:
        """By command."""
        service = self.rig.engine.service
        change = service.pause if on else service.resume
        outcome = await change(conversation_id=conversation(place), actor=actor(who))
        if is_denied(outcome):
            return _no(outcome)
        return "paused" if on else "resumed"

    async def remap(self, place: Place, who: Person, name: str | None) -> None:
        """By command: this place alone, from the next message on."""
        key = conversation(place).map_key
        self.scope_map.pop(key, None)
        if name is not None:
            self.scope_map[key] = name
        await self.rig.engine.service.change_map(
            {**ANCHOR, **self.scope_map}, conversation_id=conversation(place), actor=actor(who)
        )

    async def bring(self, place: Place, who: Person, *names: str) -> str:
        """By command: what was left behind in former scopes, also where others see the target."""
        bring, where = self.rig.engine.service.bring, conversation(place)
        outcome = await bring(names, conversation_id=where, actor=actor(who))
        if isinstance(outcome, Refused) and outcome.left:
            targets = [one.target.name for one in outcome.left]
            outcome = await bring(targets, conversation_id=where, actor=actor(who))
        return "brought" if isinstance(outcome, list) else _word(outcome)

    async def rename(self, place: Place, who: Person, old: str, new: str) -> str:
        """By command, and with a yes where two scopes become one."""
        raw, moved = with_renamed({**ANCHOR, **self.scope_map}, old, new)
        service = self.rig.engine.service
        planned = await service.plan_rename(old, new, moved)
        if isinstance(planned, Refused):
            return _no(planned)
        outcome = await service.rename(
            old, new, raw, moved, conversation_id=conversation(place), actor=actor(who)
        )
        if not isinstance(outcome, Brought):
            return _word(outcome)
        self.scope_map = {key: str(raw[key]) for key in self.scope_map}
        return "renamed"

    async def export(self, place: Place, who: Person) -> str:
        """By command: the file's name, ready to be imported."""
        outcome = await self.rig.engine.service.export(
            conversation_id=conversation(place), actor=actor(who)
        )
        assert isinstance(outcome, Exported), outcome
        (self.root / "imports").mkdir(exist_ok=True)
        shutil.copy(self.root / "exports" / outcome.name, self.root / "imports" / outcome.name)
        return outcome.name

    async def take_in(self, place: Place, who: Person, name: str) -> str:
        """By command."""
        outcome = await self.rig.engine.service.import_(
            name, conversation_id=conversation(place), actor=actor(who)
        )
        return "taken in" if isinstance(outcome, Imported) else _word(outcome)

    async def decide(self, place: Place, who: Person, name: str, to: RecordFile | None) -> bool:
        """An admin makes a decision of a memory: whether it is one, for everybody where ``to`` is
        named."""
        change = Accept(name, to=to, unseen=True, anyway=True)
        outcome = await self.rig.engine.service.decide(
            change, conversation_id=conversation(place), actor=actor(who)
        )
        return not isinstance(outcome, Refused)

    # Files

    def indexed(self) -> tuple[set[str], set[str]]:
        """The ids of memories that the index of words holds, and that of vectors."""
        rows = {key for some in self._disk.collections.values() for key in some}
        words = {key.memory_id for key in keys_in(self.rig.engine.parts.words)}
        vectors = {key.memory_id for key in rows}
        return (
            {one for one in words if one.startswith("m-")},
            {one for one in vectors if one.startswith("m-")},
        )

    def records(self) -> tuple[dict[Key, str], dict[Key, str]]:
        """Both indexes: of which words each record is, by its hash."""
        parts = self.rig.engine.parts
        words = {key: parts.lexical._held[key] for key in keys_in(parts.words)}
        rows = [row for some in self._disk.collections.values() for row in some.items()]
        return words, {key: record.content_hash for key, (record, _) in rows}

    def files(self) -> list[Found]:
        """All entries that stand in the files of scopes."""
        found = []
        scopes = self.root / "memory" / "scopes"
        for path in sorted(scopes.glob("*/**/*.md")):
            inside = path.relative_to(scopes).parts
            if inside[1] == "archive" or path.name in PAGES or path.match("*.conflict.md"):
                continue
            for entry in _entries(path):
                memory = entry.memory
                found.append(
                    Found(
                        inside[0],
                        memory.memory_id,
                        memory.judgment,
                        memory.provenance.person,
                        task_of(memory).done,
                        path,
                    )
                )
        return found

    def edit_file(self, one: Found, words: str) -> None:
        """A person gives an entry other words, in an editor."""
        text = one.path.read_text("utf-8")
        assert one.words in text, (one, text)
        lines = [
            line.replace(one.words, words) if f"^{one.memory_id}" in line else line
            for line in text.split("\n")
        ]
        one.path.write_text("\n".join(lines), "utf-8")

    def cut_from_file(self, one: Found) -> str:
        """A person deletes an entry, in an editor. Its lines."""
        text = one.path.read_text("utf-8")
        file = parse_file(text, fallback_time=NO_TIME)
        entry = file.find(one.memory_id)
        assert entry is not None
        one.path.write_text(file.without(entry), "utf-8")
        return "\n".join(file.lines[entry.start : entry.end])

    def lines_of(self, one: Found) -> str:
        """An entry as it stands there."""
        file = parse_file(one.path.read_text("utf-8"), fallback_time=NO_TIME)
        entry = file.find(one.memory_id)
        assert entry is not None
        return "\n".join(file.lines[entry.start : entry.end])

    def paste(self, lines: str, scope: str, name: str) -> None:
        """A person puts them below what stands in a file."""
        path = self.root / "memory" / "scopes" / scope / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if path.exists() else f"# {path.stem}\n"
        path.write_text(f"{before}\n{lines}\n", "utf-8")


def history_of(place: Place) -> str:
    """The chat history that a model is given there."""
    return re.sub("[^0-9A-Za-z]", "", place.umo)


def _entries(path: Path) -> tuple[Entry, ...]:
    return _parsed(path.read_text("utf-8"))


@functools.lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[Entry, ...]:
    return parse_file(text, fallback_time=NO_TIME).entries


def _no(refused: Refused) -> str:
    """Whoever is refused something is not told the words of it."""
    assert not words_in(repr(refused)), refused
    gone = refused.reason == "forgotten"
    return "not visible" if gone else str(refused.reason).replace("_", " ")


def _observed(outcome: object) -> str:
    assert isinstance(outcome, Refused), outcome
    return "off the record" if outcome.reason == "off_the_record" else "read only"


def _stored(outcome: object) -> tuple[str, str]:
    match outcome:
        case Stored(one, "stored"):
            return "stored", one.memory.memory_id
        case Stored(one, "reinforced"):
            return "stronger", one.memory.memory_id
        case Refused():
            return _no(outcome), ""
    raise AssertionError(outcome)


def _word(outcome: object) -> str:
    match outcome:
        case Refused():
            return _no(outcome)
        case BroughtBack():
            return "brought back"
        case Changed(DeedKind.FORGOTTEN | DeedKind.REPLACED, undone=True):
            return "restored"
        case Changed(kind, undone=undone):
            return "undone" if undone else kind.value
    raise AssertionError(outcome)


def scope_name(report: Any) -> str | None:
    """The scope that a place writes, as its report names it."""
    resolution = report.resolution
    return resolution.name or None
