"""An admin accepts, rejects, supersedes and withdraws: what was shown is what everybody reads, and
what recall gives of a decision is its record."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    ConversationId,
    MemoryDraft,
    Stored,
    is_stored,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    is_accepted,
    proposal_key,
    proposal_of,
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
from astrbot_plugin_scoped_memory.tests.support.deciding import (
    Accept,
    ListDecisions,
    Reject,
    Withdraw,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock
from astrbot_plugin_scoped_memory.tests.support.words import stands_in

pytestmark = pytest.mark.engine

HOME, ELSEWHERE, OUTSIDE = group(777), group(888), group(999)
ADMIN = person(9, "站长", admin=True)
Publish = partial(Accept, to=RecordFile.DECISIONS)
WORDS = "检索面用 PostgreSQL"


@contextlib.asynccontextmanager
async def deciding(
    root: Path, words: Sequence[str] = (WORDS,)
) -> AsyncIterator[tuple[Rig, list[str]]]:
    """An engine over these proposals of the family's, and their ids."""
    async with running(root, clock=StandingClock()) as rig:
        ids = []
        for text in words:
            draft = MemoryDraft(text, "连接池已经有了。", actor=person(10001), proposed=True)
            outcome = await rig.engine.service.remember(draft, conversation_id=HOME)
            assert isinstance(outcome, Stored), outcome
            ids.append(outcome.memory.memory.memory_id)
        yield rig, ids


async def decide(
    rig: Rig,
    change: DecisionChange,
    where: ConversationId = HOME,
    who: Actor = ADMIN,
) -> DecisionOutcome:
    return await rig.engine.service.decide(change, conversation_id=where, actor=who)


async def accepted(rig: Rig, memory_id: str, **more: object) -> Recorded:
    """Returns the record, published without a look."""
    change = replace(Publish(memory_id, unseen=True), **more)  # type: ignore[arg-type]
    outcome = await decide(rig, change)
    assert isinstance(outcome, Recorded), outcome
    return outcome


async def items(
    rig: Rig, where: ConversationId = HOME, *, everything: bool = False
) -> list[DecisionItem]:
    outcome = await decide(rig, ListDecisions(everything=everything), where)
    assert isinstance(outcome, Decisions)
    return list(outcome.items)


def shared(root: Path, name: str = "DECISIONS.md") -> Path:
    return root / "memory" / "shared" / name


async def test_what_was_shown_is_written_byte_for_byte(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        change = Publish(memory_id, reference=Reference("12", "o/r#34"), by="小明")
        draft = await decide(rig, change)
        assert isinstance(draft, Draft)
        assert not shared(tmp_path).exists()
        assert draft.text == (
            f"## D-0001 {WORDS}\n> 已接受 · 2026-11-21T09:00:00+00:00 · 接受：小明 · Issue：#12"
            f" · PR：o/r#34 · 提案：{proposal_key(memory_id)}\n\n连接池已经有了。\n"
        )
        rig.clock.forward(minutes=5)  # type: ignore[attr-defined]
        outcome = await decide(rig, replace(change, shown=draft.digest))
        assert outcome == Recorded(1, RecordFile.DECISIONS, 5)
        text = shared(tmp_path).read_text("utf-8")
        assert text.startswith("# 决定\n\n<!--")
        assert text.endswith(f"-->\n\n{draft.text}")
        for forbidden in ("家人", "777", "10001", memory_id):
            assert not stands_in(forbidden, draft.text)
        (stored,) = rig.engine.parts.catalogue.all()
        proposal = proposal_of(stored.memory)
        assert proposal is not None
        assert (proposal.state, proposal.number) == ("accepted", 1)
        hits = (await rig.recall("检索面用什么", OUTSIDE)).hits
        assert [hit.pointer.split("#")[0] for hit in hits] == ["shared/DECISIONS.md"]
        again = await decide(rig, change)
        assert again == Recorded(1, RecordFile.DECISIONS, 5, again=True)
        assert shared(tmp_path).read_text("utf-8") == text


async def test_a_draft_that_says_something_else_is_shown_again(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        change = Publish(memory_id)
        first = await decide(rig, change)
        assert isinstance(first, Draft)
        await rig.engine.service.edit(
            memory_id, "检索面用 SQLite", conversation_id=HOME, actor=ADMIN
        )
        second = await decide(rig, replace(change, shown=first.digest))
        assert isinstance(second, Draft)
        assert second.outdated
        assert "SQLite" in second.text
        assert isinstance(await decide(rig, replace(change, shown=second.digest)), Recorded)


async def test_only_an_admin_decides_and_only_in_the_proposals_scope(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        accept, reject = Publish(memory_id, unseen=True), Reject(memory_id)
        for change in (accept, reject, Withdraw(1), ListDecisions()):
            assert await decide(rig, change, who=person(10001)) == Refused("not_allowed")
        for change in (accept, reject):
            assert await decide(rig, change, ELSEWHERE) == Refused("no_proposal")
        assert not shared(tmp_path).exists()
        assert [item.memory_id for item in await items(rig)] == [memory_id]


async def test_a_rejected_proposal_is_listed_no_more_and_not_accepted(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        assert await decide(rig, Reject(memory_id, why="太贵")) == Recorded(0)
        assert await items(rig) == []
        (item,) = await items(rig, everything=True)
        assert item.state == "rejected"
        refused = await decide(rig, Publish(memory_id, unseen=True))
        assert refused == Refused("no_proposal")
        draft = MemoryDraft(WORDS, actor=person(10001), proposed=True)
        again = await rig.engine.service.remember(draft, conversation_id=HOME)
        assert is_stored(again, "reinforced")
        await accepted(rig, memory_id)


async def test_a_later_record_supersedes_or_withdraws_and_no_number_comes_twice(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, ["检索面用甲", "接口面用乙", "运维面用丙"]) as (rig, ids):
        await accepted(rig, ids[0])
        second = await accepted(rig, ids[1], number=1, to=RecordFile.CONTRACTS)
        assert (second.number, second.file) == (2, RecordFile.CONTRACTS)
        refused = Refused("no_such_record")
        assert await decide(rig, Publish(ids[2], number=1, unseen=True)) == refused
        assert await decide(rig, Withdraw(7, unseen=True)) == refused
        draft = await decide(rig, Withdraw(2, "不用了"))
        assert isinstance(draft, Draft)
        withdrawn = await decide(rig, Withdraw(2, "不用了", shown=draft.digest))
        assert withdrawn == Recorded(3, RecordFile.DECISIONS, 10)
        assert await decide(rig, Withdraw(2, unseen=True)) == refused
        states = [(one.number, one.state) for one in await items(rig, everything=True)]
        assert states == [(0, "proposed"), (1, "superseded"), (2, "withdrawn"), (3, "accepted")]
        assert (await accepted(rig, ids[2])).number == 4


async def test_a_private_scope_keeps_its_decision_unless_it_is_for_everybody(
    tmp_path: Path,
) -> None:
    words = [WORDS, "检索面用乙", "运维面用丙"]
    async with deciding(tmp_path, words) as (rig, ids):
        change, refused = Accept(ids[0], reference=Reference("12")), Refused("no_such_record")
        draft = await decide(rig, change)
        assert isinstance(draft, Draft)
        assert ("D-0001" in draft.text, draft.file) == (True, None)
        change = replace(change, shown=draft.digest)
        assert await decide(rig, change) == Recorded(1, None, 0)
        assert await decide(rig, change) == Recorded(1, None, 0, again=True)
        (hit, *_) = (await rig.recall("检索面用什么 PostgreSQL", HOME)).hits
        assert (hit.record, hit.preview, hit.closed, hit.unvouched) == (1, WORDS, False, False)
        # Superseded and withdrawn there alone.
        assert await decide(rig, Publish(ids[1], number=1, unseen=True)) == refused
        for _ in range(2):
            outcome = await decide(rig, Accept(ids[1], number=1, unseen=True))
            assert isinstance(outcome, Recorded)
            assert (outcome.number, outcome.file) == (2, None)
        for number, where in ((1, HOME), (2, ELSEWHERE), (2, OUTSIDE)):
            assert await decide(rig, Withdraw(number, unseen=True), where) == refused
        assert await decide(rig, Withdraw(2, "太慢", unseen=True)) == Recorded(2, None, 0)
        assert await decide(rig, Withdraw(2, unseen=True)) == refused
        states = [(one.number, one.state) for one in await items(rig, everything=True)]
        assert sorted(states) == [(0, "proposed"), (1, "superseded"), (2, "withdrawn")]
        for where in (ELSEWHERE, OUTSIDE):
            assert await items(rig, where, everything=True) == []
        assert await decide(rig, Accept(ids[2], unseen=True)) == Recorded(3, None, 0)
        assert not shared(tmp_path).exists()
        published = await accepted(rig, ids[2])
        assert (published.number, published.file) == (4, RecordFile.DECISIONS)
        for where in (HOME, ELSEWHERE):
            assert [(item.number, item.here) for item in await items(rig, where)] == [(4, False)]


async def test_what_an_old_buffer_dropped_is_named_and_accepted_again_under_its_number(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, ["检索面用甲", "接口面用乙"]) as (rig, ids):
        await accepted(rig, ids[0])
        buffer = shared(tmp_path).read_text("utf-8")
        await accepted(rig, ids[1])
        text = shared(tmp_path).read_text("utf-8")
        shared(tmp_path).write_text(text.replace(buffer, "# 决定\n人写的。\n"), "utf-8")
        lost = {one.number: one.file for one in await items(rig)}
        assert lost == {1: "", 2: RecordFile.DECISIONS.path}
        await rig.engine.parts.note_book.refresh()
        hits = (await rig.recall("检索面用甲", HOME)).hits
        assert (hits[0].memory_id, standing(hits[0], lambda code, **_: code)[0]) == (
            ids[0],
            "D-0001",
        )
        for _ in range(2):
            again = await decide(rig, Accept(ids[0], unseen=True))
            assert isinstance(again, Recorded)
            assert (again.number, again.file) == (1, RecordFile.DECISIONS)
        assert shared(tmp_path).read_text("utf-8").count("检索面用甲") == 1
        assert len(await items(rig)) == 2


async def test_a_number_that_two_branches_brought_is_listed_twice(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        shared(tmp_path).parent.mkdir()
        shared(tmp_path).write_text("## D-0007 甲\n\n## D-0007 乙\n", "utf-8")
        assert (await accepted(rig, memory_id)).number == 8
        assert [(i.number, i.line) for i in await items(rig)] == [(7, 1), (7, 3), (8, 5)]


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
    async with deciding(tmp_path, [text]) as (rig, (memory_id,)):
        if why:  # a person's file is not cleaned
            file = tmp_path / "memory" / "scopes" / "家人" / "decisions.md"
            file.write_text(file.read_text("utf-8").replace("连接池已经有了。", why), "utf-8")
            await rig.engine.reconcile()
        found = await decide(rig, Publish(memory_id, unseen=True))
        assert isinstance(found, Refused)
        against = found.objections[0][0] if found.objections else found.detail
        assert (found.reason, against) == refused
        overruled = await decide(rig, Publish(memory_id, unseen=True, anyway=True))
        assert isinstance(overruled, Recorded) is (found.reason == "objection")
        for wrong in (Reference("see the wiki"), Reference(pr="javascript:alert(1)")):
            asked = Publish(memory_id, reference=wrong, unseen=True)
            assert await decide(rig, asked) == Refused("reference")


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
async def test_a_link_and_an_open_fence_are_not_written_through(tmp_path: Path) -> None:
    async with deciding(tmp_path) as (rig, (memory_id,)):
        change, file = Publish(memory_id, unseen=True), shared(tmp_path)
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
    async with deciding(tmp_path) as (rig, (memory_id,)):
        shared(tmp_path).parent.mkdir()
        record = f"## D-0031 {WORDS}\n> 已接受 · 提案：{proposal_key(memory_id)}\n"
        shared(tmp_path).write_text(record, "utf-8")
        (item,) = await items(rig)
        assert (item.number, item.line) == (31, 1), "one decision, listed once"
    async with running(tmp_path, clock=StandingClock()) as rig:
        (stored,) = rig.engine.parts.catalogue.all()
        assert is_accepted(stored.memory)
        assert await accepted(rig, memory_id) == Recorded(31, RecordFile.DECISIONS, 1, again=True)


async def test_the_record_stands_for_its_proposal_with_its_day_and_reference(
    tmp_path: Path,
) -> None:
    async with deciding(tmp_path, ()) as (rig, _):
        draft = MemoryDraft(WORDS, "连接池已经有了。" * 60, actor=person(10001), proposed=True)
        stored = await rig.engine.service.remember(draft, conversation_id=HOME)
        assert isinstance(stored, Stored)
        (before,) = (await rig.recall("检索面为什么用 PostgreSQL", HOME)).hits
        assert before.undecided
        await accepted(rig, stored.memory.memory.memory_id, reference=Reference("12", "o/r#34"))
        for where in (HOME, ELSEWHERE):
            for hit in (await rig.recall("检索面为什么用 PostgreSQL", where)).hits:
                assert hit.headings[-1] == f"D-0001 {WORDS}"
                assert hit.day == date(2026, 11, 21)
                assert hit.preview.startswith("Issue #12 · PR o/r#34")
                assert hit.pointer.startswith("shared/DECISIONS.md#n-")
                assert not (hit.closed or hit.unvouched)
        assert isinstance(await decide(rig, Withdraw(1, "太慢", unseen=True)), Recorded)
        hits = (await rig.recall("检索面为什么用 PostgreSQL", HOME)).hits
        assert {hit.headings[-1]: hit.closed for hit in hits}[f"D-0001 {WORDS}"]
