"""An admin accepts, rejects, supersedes and withdraws: what was shown is what everybody reads, it
names nobody, and what recall gives of a decision is its record."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, MemoryDraft, Stored
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    is_accepted,
    proposal_key,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import (
    DecisionChange,
    DecisionItem,
    DecisionOutcome,
    Decisions,
    Draft,
    Recorded,
    RecordFile,
    Reference,
)
from astrbot_plugin_scoped_memory.llm_memory.text.attribution import standing
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import normalise
from astrbot_plugin_scoped_memory.tests.support.deciding import (
    Accept,
    ListDecisions,
    Reject,
    Withdraw,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = pytest.mark.engine

HOME, ELSEWHERE, OUTSIDE = group(777), group(888), group(999)
ADMIN = person(9, "站长", admin=True)
Publish = partial(Accept, to=RecordFile.DECISIONS)
At_once = partial(Accept, to=RecordFile.DECISIONS, unseen=True)
WORDS = "检索面用 PostgreSQL"
NO_RECORD, NO_PROPOSAL = Refused("no_such_record"), Refused("no_proposal")


async def propose(rig: Rig, judgment: str, why: str = "连接池已经有了。") -> str:
    """Returns the id of a proposal of the family's, empty where it was refused."""
    draft = MemoryDraft(judgment, why, actor=person(10001), proposed=True)
    outcome = await rig.engine.service.remember(draft, conversation_id=HOME)
    return outcome.memory.memory.memory_id if isinstance(outcome, Stored) else ""


@contextlib.asynccontextmanager
async def deciding(
    root: Path, *words: str, follow: bool = True
) -> AsyncIterator[tuple[Rig, list[str]]]:
    """An engine over these proposals, and their ids."""
    async with running(root, clock=StandingClock(), follow=follow) as rig:
        yield rig, [await propose(rig, text) for text in words]


async def decide(
    rig: Rig, change: DecisionChange, where: ConversationId = HOME, who: Actor = ADMIN
) -> DecisionOutcome:
    return await rig.engine.service.decide(change, conversation_id=where, actor=who)


async def drafted(rig: Rig, change: DecisionChange) -> Draft:
    draft = await decide(rig, change)
    assert isinstance(draft, Draft), draft
    return draft


async def accepted(rig: Rig, change: DecisionChange) -> tuple[int, RecordFile | None]:
    outcome = await decide(rig, change)
    assert isinstance(outcome, Recorded), outcome
    return outcome.number, outcome.file


async def items(
    rig: Rig, where: ConversationId = HOME, *, everything: bool = False
) -> list[DecisionItem]:
    outcome = await decide(rig, ListDecisions(everything=everything), where)
    assert isinstance(outcome, Decisions)
    return list(outcome.items)


def shared(root: Path) -> Path:
    return root / "memory" / RecordFile.DECISIONS.path


async def test_what_was_shown_last_is_written_byte_for_byte(tmp_path: Path) -> None:
    async with deciding(tmp_path, "检索面用 SQLite") as (rig, (memory_id,)):
        change = Publish(memory_id, reference=Reference("12", "o/r#34"), by="小明")
        former = await drafted(rig, change)
        await rig.engine.service.edit(memory_id, WORDS, conversation_id=HOME, actor=ADMIN)
        draft = await drafted(rig, replace(change, shown=former.digest))
        assert draft.outdated
        assert not shared(tmp_path).exists()
        assert draft.text == (
            f"## D-0001 {WORDS}\n> 已接受 · 2026-11-21T09:00:00+00:00 · 接受：小明 · Issue：#12"
            f" · PR：o/r#34 · 提案：{proposal_key(memory_id)}\n\n连接池已经有了。\n"
        )
        rig.clock.forward(minutes=5)  # type: ignore[attr-defined]
        recorded = Recorded(1, RecordFile.DECISIONS, 5)
        assert await decide(rig, replace(change, shown=draft.digest)) == recorded
        text = shared(tmp_path).read_text("utf-8")
        assert text.startswith("# 决定\n\n<!--")
        assert text.endswith(f"-->\n\n{draft.text}")
        (stored,) = rig.engine.parts.catalogue.all()
        assert is_accepted(stored.memory)
        assert await decide(rig, change) == replace(recorded, again=True)
        assert shared(tmp_path).read_text("utf-8") == text


async def test_only_an_admin_decides_and_only_in_the_proposals_scope(tmp_path: Path) -> None:
    async with deciding(tmp_path, WORDS) as (rig, (memory_id,)):
        accept, reject = At_once(memory_id), Reject(memory_id, why="太贵")
        for change in (accept, reject, Withdraw(1), ListDecisions()):
            assert await decide(rig, change, who=person(10001)) == Refused("not_allowed")
        for change in (accept, reject):
            assert await decide(rig, change, ELSEWHERE) == NO_PROPOSAL
        assert not shared(tmp_path).exists()
        assert [item.memory_id for item in await items(rig)] == [memory_id]
        # What was rejected has to be proposed again.
        assert await decide(rig, reject) == Recorded(0)
        assert await items(rig) == []
        assert [item.state for item in await items(rig, everything=True)] == ["rejected"]
        assert await decide(rig, accept) == NO_PROPOSAL
        assert await propose(rig, WORDS) == memory_id
        assert await accepted(rig, accept) == (1, RecordFile.DECISIONS)


async def test_a_later_record_supersedes_or_withdraws_and_no_number_comes_twice(
    tmp_path: Path,
) -> None:
    words = "检索面用甲", "接口面用乙", "运维面用丙"
    async with deciding(tmp_path, *words) as (rig, ids):
        await accepted(rig, At_once(ids[0]))
        second = At_once(ids[1], number=1, to=RecordFile.CONTRACTS)
        assert await accepted(rig, second) == (2, RecordFile.CONTRACTS)
        for number in (1, 7):
            assert await decide(rig, At_once(ids[2], number=number)) == NO_RECORD
            assert await decide(rig, Withdraw(number, unseen=True)) == NO_RECORD
        shown = await drafted(rig, Withdraw(2, "不用了"))
        withdrawn = await decide(rig, Withdraw(2, "不用了", shown=shown.digest))
        assert withdrawn == Recorded(3, RecordFile.DECISIONS, 10)
        assert await decide(rig, Withdraw(2, unseen=True)) == NO_RECORD
        states = [(one.number, one.state) for one in await items(rig, everything=True)]
        assert states == [(0, "proposed"), (1, "superseded"), (2, "withdrawn"), (3, "accepted")]
        assert (await accepted(rig, At_once(ids[2])))[0] == 4


async def test_a_private_scope_keeps_its_decision_unless_it_is_for_everybody(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, WORDS, "检索面用乙", "运维面用丙") as (rig, ids):
        change = Accept(ids[0], reference=Reference("12"))
        draft = await drafted(rig, change)
        assert ("D-0001" in draft.text, draft.file) == (True, None)
        change = replace(change, shown=draft.digest)
        assert await decide(rig, change) == Recorded(1)
        assert await decide(rig, change) == Recorded(1, again=True)
        (hit, *_) = (await rig.recall("检索面用什么 PostgreSQL", HOME)).hits
        assert (hit.record, hit.preview, hit.closed, hit.unvouched) == (1, WORDS, False, False)
        # Superseded and withdrawn there alone.
        assert await decide(rig, At_once(ids[1], number=1)) == NO_RECORD
        for _ in range(2):
            assert await accepted(rig, Accept(ids[1], number=1, unseen=True)) == (2, None)
        for number, where in ((1, HOME), (2, ELSEWHERE), (2, OUTSIDE)):
            assert await decide(rig, Withdraw(number, unseen=True), where) == NO_RECORD
        assert await decide(rig, Withdraw(2, "太慢", unseen=True)) == Recorded(2)
        assert await decide(rig, Withdraw(2, unseen=True)) == NO_RECORD
        states = [(one.number, one.state) for one in await items(rig, everything=True)]
        assert sorted(states) == [(0, "proposed"), (1, "superseded"), (2, "withdrawn")]
        for where in (ELSEWHERE, OUTSIDE):
            assert await items(rig, where, everything=True) == []
        assert await accepted(rig, Accept(ids[2], unseen=True)) == (3, None)
        assert not shared(tmp_path).exists()
        assert await accepted(rig, At_once(ids[2])) == (4, RecordFile.DECISIONS)
        for where in (HOME, ELSEWHERE):
            assert [(item.number, item.here) for item in await items(rig, where)] == [(4, False)]


async def test_what_an_old_buffer_dropped_is_named_and_accepted_again_under_its_number(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, "检索面用甲", "接口面用乙") as (rig, ids):
        await accepted(rig, At_once(ids[0]))
        buffer = shared(tmp_path).read_text("utf-8")
        await accepted(rig, At_once(ids[1]))
        text = shared(tmp_path).read_text("utf-8")
        shared(tmp_path).write_text(text.replace(buffer, "# 决定\n人写的。\n"), "utf-8")
        lost = {one.number: one.file for one in await items(rig)}
        assert lost == {1: "", 2: RecordFile.DECISIONS.path}
        await rig.engine.parts.note_book.refresh()
        hit = (await rig.recall("检索面用甲", HOME)).hits[0]
        assert hit.memory_id == ids[0]
        assert standing(hit, lambda code, **_: code)[0] == "D-0001"
        for _ in range(2):
            again = await accepted(rig, Accept(ids[0], unseen=True))
            assert again == (1, RecordFile.DECISIONS)
        assert shared(tmp_path).read_text("utf-8").count("检索面用甲") == 1
        assert len(await items(rig)) == 2


@pytest.mark.parametrize(
    ("text", "why", "refused"),
    [
        ("用甲还是用乙待定", "", ("objection", "dispute")),
        ("小明说检索面用丙", "", ("objection", "names_speaker")),
        ("令牌放在 10001 的柜子里", "", ("not_public", "10001")),
        (WORDS, "房东的电话是 13800138000", ("not_public", "phone")),
    ],
)
async def test_what_should_not_be_published_is_refused_with_its_reason(
    tmp_path: Path, text: str, why: str, refused: tuple[str, str]
) -> None:
    async with deciding(tmp_path, text) as (rig, (memory_id,)):
        if why:  # a person's file is not cleaned
            file = tmp_path / "memory" / "scopes" / "家人" / "decisions.md"
            file.write_text(file.read_text("utf-8").replace("连接池已经有了。", why), "utf-8")
            await rig.engine.reconcile()
        found = await decide(rig, At_once(memory_id))
        assert isinstance(found, Refused)
        against = found.objections[0][0] if found.objections else found.detail
        assert (found.reason, against) == refused
        overruled = await decide(rig, At_once(memory_id, anyway=True))
        assert isinstance(overruled, Recorded) is (found.reason == "objection")
        wrong = At_once(memory_id, reference=Reference(pr="javascript:alert(1)"))
        assert await decide(rig, wrong) == Refused("reference")


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_a_link_and_an_open_fence_are_not_written_through(tmp_path: Path) -> None:
    async with deciding(tmp_path, WORDS) as (rig, (memory_id,)):
        change, file = At_once(memory_id), shared(tmp_path)
        elsewhere = tmp_path / "elsewhere" / "x.md"
        elsewhere.parent.mkdir()
        elsewhere.write_text("别的\n", "utf-8")
        file.parent.symlink_to(elsewhere.parent)
        assert await decide(rig, change) == Refused("not_written", detail="shared")
        file.parent.unlink()
        file.parent.mkdir()
        for link in (file.symlink_to, file.hardlink_to):
            link(elsewhere)
            assert isinstance(await decide(rig, change), Refused)
            file.unlink()
        assert elsewhere.read_text("utf-8") == "别的\n"
        file.write_text("# 决定\n```\n没有关上\n", "utf-8")
        assert await decide(rig, change) == Refused("open_fence", detail="2")


async def test_what_was_accepted_without_its_state_is_marked_at_the_next_start(
    tmp_path: Path,
) -> None:
    """One of the numbers came by two branches, and is listed twice."""
    async with deciding(tmp_path, WORDS, "接口面用乙") as (rig, ids):
        shared(tmp_path).parent.mkdir()
        record = f"## D-0031 {WORDS}\n> 已接受 · 提案：{proposal_key(ids[0])}\n"
        shared(tmp_path).write_text(f"## D-0007 甲\n\n## D-0007 乙\n\n{record}", "utf-8")
        found = [(one.number, one.line) for one in await items(rig)]
        assert found == [(0, 0), (7, 1), (7, 3), (31, 5)]
    async with running(tmp_path, clock=StandingClock()) as rig:
        marked = {one.memory.memory_id: one.memory for one in rig.engine.parts.catalogue.all()}
        assert [is_accepted(marked[one]) for one in ids] == [True, False]
        again = await decide(rig, At_once(ids[0]))
        assert again == Recorded(31, RecordFile.DECISIONS, 5, again=True)
        assert (await accepted(rig, At_once(ids[1])))[0] == 32


async def test_the_record_stands_for_its_proposal_with_its_day_and_reference(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path) as (rig, _):
        memory_id = await propose(rig, WORDS, "连接池已经有了。" * 60)
        (before,) = (await rig.recall("检索面为什么用 PostgreSQL", HOME)).hits
        assert before.undecided
        await accepted(rig, At_once(memory_id, reference=Reference("12", "o/r#34")))
        for where in (HOME, ELSEWHERE):
            for hit in (await rig.recall("检索面为什么用 PostgreSQL", where)).hits:
                assert hit.headings[-1] == f"D-0001 {WORDS}"
                assert hit.day == date(2026, 11, 21)
                assert hit.preview.startswith("Issue #12 · PR o/r#34")
                assert hit.pointer.startswith("shared/DECISIONS.md#n-")
                assert not (hit.closed or hit.unvouched)
        await accepted(rig, Withdraw(1, "太慢", unseen=True))
        hits = (await rig.recall("检索面为什么用 PostgreSQL", HOME)).hits
        assert {hit.headings[-1]: hit.closed for hit in hits}[f"D-0001 {WORDS}"]


# What a record says of people

HIDDEN = (
    "{}说窗帘选灰的",
    "窗帘选灰的，{}同意",
    "窗帘选灰的 @{}",
    "窗帘选灰的 \\{}",
    "窗帘选灰的" + "，免得再洗一次" * 20 + "，{}说的",
)
JOINED = ("\u200b", "\u00ad", "\ufe0f", "\u202e", "")
NAMED = ("小明", "家人", "10001", "aiocqhttp:GroupMessage:777", "aiocqhttp:10001")


@pytest.mark.parametrize("named", NAMED)
async def test_what_is_shown_names_nobody(tmp_path: Path, named: str) -> None:
    # A platform may tell no name: then it tells the account.
    nameless = replace(ADMIN, person="aiocqhttp:10001", name="10001")
    async with deciding(tmp_path) as (rig, _):
        for number, (joined, form) in enumerate(product(JOINED, HIDDEN)):
            text = form.format(joined.join(named))
            for words, why in ((text, "洗过了"), (f"窗帘选第 {number} 种", text)):
                if memory_id := await propose(rig, words, why):
                    change = Publish(memory_id, reference=Reference("12"))
                    shown = await decide(rig, change, who=nameless)
                    if isinstance(shown, Draft):
                        said = normalise(shown.text.replace(proposal_key(memory_id), ""))
                        assert not [one for one in NAMED if normalise(one) in said], text


async def test_a_purged_proposal_leaves_its_words_in_the_record_alone(tmp_path: Path) -> None:
    async with deciding(tmp_path, "窗帘用 ZX0001Q 号布", "窗帘用 ZX0000Q 号布") as (rig, ids):
        for memory_id in ids:
            change = Publish(memory_id)
            change = replace(change, shown=(await drafted(rig, change)).digest)
            if memory_id == ids[0]:
                await accepted(rig, change)
            forget = rig.engine.service.forget
            await forget(memory_id, conversation_id=HOME, actor=ADMIN, for_good=True)
            assert isinstance(await decide(rig, change), Refused)
        await rig.engine.sleep.run_once("nightly")
    holding = {b"ZX0000Q": set(), b"ZX0001Q": {shared(tmp_path)}}
    for word, files in holding.items():
        found = (path for path in tmp_path.rglob("*") if path.is_file())
        assert {path for path in found if word in path.read_bytes()} == files


@pytest.mark.parametrize("meanwhile", ["forgotten", "purged", "rejected", "edited"])
async def test_what_was_taken_back_while_another_accept_ran_is_not_published(
    tmp_path: Path, meanwhile: str
) -> None:
    async with deciding(tmp_path, "窗帘用灰布") as (rig, (memory_id,)):
        service, at = rig.engine.service, partial(dict, conversation_id=HOME, actor=ADMIN)
        async with service.parts.recorder._lock:
            waiting = asyncio.ensure_future(decide(rig, At_once(memory_id)))
            await asyncio.sleep(0.05)
            match meanwhile:
                case "rejected":
                    await decide(rig, Reject(memory_id))
                case "edited":
                    await service.edit(memory_id, "窗帘用白布", **at())
                case _:
                    await service.forget(memory_id, **at(), for_good=meanwhile == "purged")
        assert await waiting == NO_PROPOSAL
        assert not shared(tmp_path).exists()


async def test_what_a_person_reworded_in_the_file_since_it_was_shown_is_no_decision(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, WORDS, follow=False) as (rig, (memory_id,)):
        shown = (await drafted(rig, Accept(memory_id))).digest
        file = tmp_path / "memory" / "scopes" / "家人" / "decisions.md"
        file.write_text(file.read_text("utf-8").replace("PostgreSQL", "MySQL"), "utf-8")
        before = file.read_bytes()
        assert await decide(rig, Accept(memory_id, shown=shown)) == NO_PROPOSAL
        assert file.read_bytes() == before
        await rig.engine.reconcile()
        assert [(one.number, one.state) for one in await items(rig)] == [(0, "proposed")]
        (stored,) = rig.engine.parts.catalogue.all()
        assert ("MySQL" in stored.memory.judgment, is_accepted(stored.memory)) == (True, False)
        assert not stored.memory.provenance.trusted
