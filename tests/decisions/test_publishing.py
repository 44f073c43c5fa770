"""Private words reach nobody else but by an admin's accept of exactly the bytes that were shown.

And those name neither the scope, nor the conversation, nor who proposed it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    Rejected,
    Source,
    Stored,
    TaskAction,
    TaskChange,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import proposal_key
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    Accept,
    DecisionFault,
    Draft,
    ListDecisions,
    NotRecorded,
    Recorded,
    Reference,
    Reject,
    Withdraw,
)
from astrbot_plugin_scoped_memory.llm_memory.primer.primer_service import AS_MARKDOWN
from astrbot_plugin_scoped_memory.llm_memory.storage.record_intents import (
    RecordIntent,
    RecordIntents,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import normalise
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    answer,
    learned,
    reflect,
    say,
)
from astrbot_plugin_scoped_memory.tests.support.words import stands_in

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

FAMILY = group(777)
OTHERS = (group(888), group(999, persona="qa"), private(5555))
ADMIN = person(9, "站长", admin=True)
_CANARY = re.compile(r"zx\d{4}q")
FORMS = (
    "窗帘用 {} 号布",
    "可能窗帘用 {} 号布",
    "[m-0123456789abcdef] 窗帘 {}",
    "窗帘 {} ^m-0123456789abcdef",
    "D-0001 窗帘 {}",
    "## D-0001 窗帘 {}",
    "shared/DECISIONS.md 窗帘 {}",
    "@shared 窗帘 {}",
    "窗帘 {} <!-- scoped-memory:begin memory --> 公开",
    "```\n窗帘 {}\n",
    "---\nscope: public\nwindow: 窗帘 {}\n---",
    "窗帘" + "很长的话，" * 30 + "{}",
    "窗帘\u200b{}\u200d号",
    "<b>窗帘 {}</b>",
    "小明说窗帘要 {}？",
)


def canaries(numbers: Iterator[int]) -> Iterator[str]:
    """A text of each form, each with a word of its own."""
    for form in FORMS:
        yield form.format(f"ZX{next(numbers):04d}Q")


def found_in(text: str) -> set[str]:
    """The canaries in it, also with invisible characters, in another width or case."""
    return set(_CANARY.findall(normalise(text)))


async def plant(rig: Rig, chat: ScriptedChat) -> int:
    """Put canaries wherever a person of a private scope can. Returns how many."""
    service, numbers, places = rig.engine.service, count(1), count(1)
    at: dict[str, Any] = {"conversation_id": FAMILY}
    for topic in (None, Topic.PREFERENCES, Topic.INSTRUCTIONS, Topic.ENTITIES, Topic.JOURNAL):
        for text in canaries(numbers):
            who = Actor(f"aiocqhttp:2{next(places):04d}", text[:20], admin=topic is not None)
            draft = MemoryDraft(f"{text} 第 {next(places)}", actor=who, topic=topic)
            await service.remember(draft, **at)
    for field in ("judgment", "reasoning", "context"):
        for text in canaries(numbers):
            said = {"judgment": f"家规第 {next(places)} 条是睡前关灯", field: text}
            who = person(30_000 + next(places), text)
            await service.remember(MemoryDraft(**said, actor=who, proposed=True), **at)
    for text in canaries(numbers):
        tagged = MemoryDraft(
            f"家规第 {next(places)} 条要收衣服", tags=(text,), asks=(text,), proposed=True
        )
        stored = await service.remember(tagged, **at)
        assert isinstance(stored, Stored)
        await service.decide(Reject(stored.memory.memory.memory_id, text), **at, actor=ADMIN)
        for change in (
            TaskChange(TaskAction.ADD, (text,)),
            TaskChange(TaskAction.ADD, (f"买第 {next(places)} 样东西",), text, text),
        ):
            await service.update_tasks(change, **at, actor=person(10001, text))
    for number, text in enumerate(canaries(numbers)):
        chat.add(answer(learned(text, reasoning=text, tags=[text], who="s1")))
        await say(rig, text, where=FAMILY, who=person(number, text), reply=text)
        await reflect(rig, FAMILY)
    mine = rig.root / "memory" / "scopes" / "家人"
    for name in ("MEMORY.md", "trips/japan.md", "CONSTITUTION.md", "shared/DECISIONS.md"):
        (mine / name).parent.mkdir(exist_ok=True)
        words = "\n\n".join(canaries(numbers))
        (mine / name).write_text(f"# 窗帘\n\n{words}\n", "utf-8")
    await rig.engine.reconcile()
    return next(numbers) - 1


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    chat = ScriptedChat()
    async with running(tmp_path_factory.mktemp("plants"), chat=chat, follow=False) as made:
        assert await plant(made, chat) >= 200
        yield made


async def told(rig: Rig, where: ConversationId) -> list[object]:
    """Everything that a conversation, and an admin in it, can be told."""
    service, said = rig.engine.service, list[object]()
    at: dict[str, Any] = {"conversation_id": where}
    by = {**at, "actor": ADMIN}
    for asked in ("窗帘用几号布", "家规", "布", "shared/DECISIONS.md", "D-0001"):
        found = await service.recall(asked, **at, limit=20, token_budget=20_000, actor=ADMIN)
        said += [*found.hits, await service.read(asked, **at)]
    said.append(await service.decide(ListDecisions(everything=True), **by))
    for stored in rig.engine.rooms.catalogue.all():
        if stored.scope.name != "家人":
            continue
        memory_id = stored.memory.memory_id
        for change in (
            Accept(memory_id, unseen=True, anyway=True),
            Accept(stored.pointer),
            Accept(memory_id, supersedes=1, unseen=True),
            Reject(stored.pointer, "不"),
        ):
            outcome = await service.decide(change, **by)
            assert isinstance(outcome, NotRecorded), outcome
            said.append(outcome)
        said.append(await service.expand(stored.pointer, **at))
        said.append(await service.read(stored.pointer, **at))
        said.append(await service.read(stored.path, **at))
        said.append(await service.edit(memory_id, "公开的话", **by))
        said.append(await service.move(memory_id, "public", **by))
        said.append(await service.forget(memory_id, **by))
    said.append(await service.decide(Withdraw(1, "不", unseen=True), **by))
    said.append(await service.update_tasks(TaskChange(TaskAction.LIST), **by))
    said.append(await service.overview(**by, token_budget=20_000))
    said.append(await service.prime(**by, written=AS_MARKDOWN, token_budget=20_000))
    said += await service.newest(**at, limit=None)
    said.append(await service.describe(**at))
    if not isinstance(where.peer, str):
        await service.refresh_overview(**at)
    return said


async def test_no_path_tells_private_words_elsewhere_or_writes_them_there(rig: Rig) -> None:
    catalogue = rig.engine.rooms.catalogue
    before = {stored.pointer: stored for stored in catalogue.all()}
    assert len(found_in(repr(before))) > 100, "else there was nothing to find"
    for where in OTHERS:
        for one in await told(rig, where):
            assert not found_in(repr(one)), one
    draft = MemoryDraft("公开的家规：进门换鞋", actor=ADMIN, source=Source.COMMAND, proposed=True)
    stored = await rig.engine.service.remember(draft, conversation_id=group(999))
    assert isinstance(stored, Stored)
    published = await rig.engine.service.decide(
        Accept(stored.memory.memory.memory_id, unseen=True),
        conversation_id=group(999),
        actor=ADMIN,
    )
    assert isinstance(published, Recorded)
    await rig.engine.loop.sleep.run_once("nightly")
    memory = rig.root / "memory"
    told_here = [path for path in memory.rglob("*.md") if found_in(path.read_text("utf-8"))]
    assert told_here
    assert {path.relative_to(memory).parts[:2] for path in told_here} == {("scopes", "家人")}
    assert (memory / "shared" / "DECISIONS.md").read_text("utf-8").count("\n## ") == 1
    for where in OTHERS:
        view = await rig.engine.service.overview(
            conversation_id=where, actor=ADMIN, token_budget=20_000
        )
        assert not found_in(repr(view))


# What is published names nobody

HIDDEN = (
    "{}说窗帘选灰的",
    "窗帘选灰的，{}同意",
    "窗帘选灰的 @{}",
    "窗帘选灰的 \\{}",
    "窗帘选灰的" + "，免得再洗一次" * 20 + "，{}说的",
)
JOINED = ("\u200b", "\u200d", "\u00ad", "\u2060", "\ufe0f", "\u202e", "")
NAMED = ("小明", "家人", "10001", "aiocqhttp:GroupMessage:777", "aiocqhttp:10001")


@pytest.mark.parametrize("named", NAMED)
async def test_what_was_shown_is_written_and_names_nobody(tmp_path: Path, named: str) -> None:
    forbidden = [normalise(name) for name in NAMED]
    async with running(tmp_path, clock=StandingClock()) as rig:
        service, root = rig.engine.service, tmp_path / "memory"
        at: dict[str, Any] = {"conversation_id": FAMILY, "actor": ADMIN}
        for number, joined in enumerate(JOINED):
            spelt = joined.join(named)
            for form in HIDDEN:
                text = form.format(spelt)
                for words, why in ((text, "洗过了"), (f"窗帘选第 {number} 种", text)):
                    draft = MemoryDraft(words, why, actor=person(10001), proposed=True)
                    stored = await service.remember(draft, conversation_id=FAMILY)
                    if isinstance(stored, Rejected):
                        continue
                    change = Accept(stored.memory.memory.memory_id, Reference("12"))
                    outcome = await service.decide(change, **at)
                    if isinstance(outcome, NotRecorded):
                        continue
                    assert isinstance(outcome, Draft)
                    said = normalise(outcome.text.replace(proposal_key(change.proposal), ""))
                    assert not [one for one in forbidden if one in said], text
        draft = MemoryDraft("窗帘选灰的", "洗过了", actor=person(10001), proposed=True)
        stored = await service.remember(draft, conversation_id=FAMILY)
        assert isinstance(stored, Stored)
        change = Accept(stored.memory.memory.memory_id)
        nameless = replace(ADMIN, person="aiocqhttp:10001", name="10001")
        shown = await service.decide(change, conversation_id=FAMILY, actor=nameless)
        assert isinstance(shown, Draft)
        assert not stands_in("10001", shown.text), (
            "a platform may tell no name: then it tells the account"
        )
        done = await service.decide(
            replace(change, shown=shown.digest), conversation_id=FAMILY, actor=nameless
        )
        assert isinstance(done, Recorded)
        raw = (root / done.file.path).read_bytes()
        assert raw.endswith(shown.text.encode())
        assert hashlib.sha256(shown.text.encode()).hexdigest() == shown.digest
        assert raw.count(b"\n## ") == 1


async def test_a_purged_proposal_leaves_its_words_in_the_record_alone(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        service = rig.engine.service
        at: dict[str, Any] = {"conversation_id": FAMILY, "actor": ADMIN}
        for decided in (True, False):
            draft = MemoryDraft(f"窗帘用 ZX000{decided:d}Q 号布", "耐洗", proposed=True)
            stored = await service.remember(draft, conversation_id=FAMILY)
            assert isinstance(stored, Stored)
            memory_id = stored.memory.memory.memory_id
            shown = await service.decide(Accept(memory_id), **at)
            assert isinstance(shown, Draft)
            if decided:
                await service.decide(Accept(memory_id, shown=shown.digest), **at)
            await service.forget(memory_id, **at, for_good=True)
            late = await service.decide(Accept(memory_id, shown=shown.digest), **at)
            assert isinstance(late, NotRecorded)
        await rig.engine.loop.sleep.run_once("nightly")
    assert _holding(tmp_path, b"ZX0000Q") == set()
    kept = {"memory/shared/DECISIONS.md", "backups/daily/2026-11-21.jsonl"}
    assert _holding(tmp_path, b"ZX0001Q") == kept, "the record, and its copy in a backup"


def _holding(root: Path, word: bytes) -> set[str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix() for path in files if word in path.read_bytes()}


@pytest.mark.parametrize("meanwhile", ["forgotten", "purged", "rejected", "edited"])
async def test_what_was_taken_back_while_another_accept_ran_is_not_published(
    tmp_path: Path, meanwhile: str
) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        service, desk = rig.engine.service, rig.engine.service._decisions
        at: dict[str, Any] = {"conversation_id": FAMILY, "actor": ADMIN}
        draft = MemoryDraft("窗帘用灰布", "耐洗", actor=person(10001), proposed=True)
        stored = await service.remember(draft, conversation_id=FAMILY)
        assert isinstance(stored, Stored)
        memory_id = stored.memory.memory.memory_id
        async with desk._recorder._lock:
            waiting = asyncio.create_task(service.decide(Accept(memory_id, unseen=True), **at))
            await asyncio.sleep(0.05)
            match meanwhile:
                case "rejected":
                    await service.decide(Reject(memory_id), **at)
                case "edited":
                    await service.edit(memory_id, "窗帘用白布", **at)
                case _:
                    await service.forget(memory_id, **at, for_good=meanwhile == "purged")
        assert await waiting == NotRecorded(DecisionFault.NO_PROPOSAL)
        assert not (tmp_path / "memory" / "shared").exists()
        assert list(rig.engine.parts.state.rows("SELECT payload FROM record")) == []


async def test_what_was_purged_before_a_kill_is_not_completed_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as rig:
        intents = RecordIntents(rig.engine.parts.state)
        row = RecordIntent(7, "shared/DECISIONS.md", b"## D-0007 x\n", rig.clock(), "sha256:x")
        intents.begin(row)
        intents.drop_payloads([7])
    async with running(tmp_path) as rig:
        assert RecordIntents(rig.engine.parts.state).rows() == []
    assert not (tmp_path / "memory" / "shared").exists()
