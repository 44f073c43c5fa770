"""Who may do what to a soul, and what is told where nothing is done."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    SoulChanged,
    SoulDenied,
    SoulDraft,
    SoulEvaluation,
    SoulEvent,
    SoulLine,
    SoulLog,
    SoulProposal,
    SoulRequest,
    SoulText,
    SoulVerified,
    SoulView,
)
from astrbot_plugin_scoped_memory.llm_memory.soul import soul_files
from astrbot_plugin_scoped_memory.llm_memory.soul.chain import digest, written
from astrbot_plugin_scoped_memory.llm_memory.storage.soul_heads import SoulHead, SoulHeads
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, DOG, RULED, SEED, Souls

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 27, tzinfo=UTC)
OTHER = RULED.replace("温和", "直接")
HAND = "# 我自己写的\n\n## 语气\n\n- 慢一点。\n".encode()
BY_ADMINS = ("wish", "hand")
STRANGERS = [
    person(5),
    Actor("mcp:agent", "agent", admin=True),
    replace(ADMIN, admin=False, spoke=False),
]


@pytest.fixture
def souls(tmp_path: Path) -> Iterator[Souls]:
    made = Souls(tmp_path)
    yield made
    made.state.close()


def fault(outcome: object) -> str:
    assert isinstance(outcome, Refused), outcome
    return outcome.reason


async def events(souls: Souls, role: str = CAT) -> list[SoulEvent]:
    log = await souls.gov.read(SoulRequest("log"), role, ADMIN)
    assert isinstance(log, SoulLog)
    return [line.event for line in log.lines[::-1]]


# How it begins


async def test_a_file_that_stood_there_becomes_the_first_version(souls: Souls) -> None:
    souls.page().parent.mkdir(parents=True)
    souls.page().write_bytes(HAND + b"\xff")
    await souls.gov.recover()
    view = await souls.view()
    assert view.version.number == 1
    assert souls.versions() == [HAND + b"\xff"]
    log = await souls.gov.read(SoulRequest("log"), CAT, ADMIN)
    assert isinstance(log, SoulLog)
    assert log.lines[0].actor == "owner"


async def test_without_a_chain_what_stands_there_is_no_first_version_again(souls: Souls) -> None:
    await souls.applied(RULED)
    souls.chain().unlink()
    souls.page().write_bytes(HAND)
    souls.restart()
    view = await souls.view()
    assert (view.broken, view.text) == (1, RULED), "the state knows what was in force"
    assert fault(await souls.gov.rollback(CAT, 0, ADMIN)) == "broken"
    assert souls.page().read_bytes() == HAND
    # An owner who throws all of it away begins anew.
    souls.page().unlink()
    for path in souls.folder().rglob("*.md"):
        path.unlink()
    assert (await souls.view()).text == SEED.decode()


async def test_versions_without_a_chain_are_never_seeded_over(souls: Souls, tmp_path: Path) -> None:
    await souls.applied(RULED)
    souls.chain().unlink()
    souls.page().unlink()
    elsewhere = Souls(tmp_path / "elsewhere")  # whose state knows nothing of it
    elsewhere.root.rmdir()
    souls.root.rename(elsewhere.root)
    view = await elsewhere.view()
    assert (view.broken, view.text, view.version.number) == (1, "", 0)
    assert not elsewhere.page().exists()
    elsewhere.state.close()


async def test_no_first_version_where_the_state_could_not_keep_it(souls: Souls) -> None:
    souls.state.close()
    souls.state.open_in_memory()
    assert fault(await souls.gov.settle(CAT)) == "not_written"
    assert not souls.folder().exists()


# Rights


@pytest.mark.parametrize("stranger", STRANGERS, ids=lambda actor: actor.name)
async def test_only_admins_change_anything(souls: Souls, stranger: Actor) -> None:
    await souls.applied(RULED)
    number = await souls.wish(OTHER)
    souls.page().write_bytes(HAND)
    before = souls.tree(CAT)
    gov, judge = souls.gov, souls.judge
    draft = SoulDraft(2, "wish", OTHER, "")
    for outcome in (
        await gov.propose(CAT, draft, stranger),
        await gov.propose(CAT, replace(draft, origin="style"), stranger),
        *[await gov.propose(CAT, replace(draft, origin=one), None) for one in BY_ADMINS],
        await gov.apply(CAT, number, stranger, judge),
        await gov.veto(CAT, 1, stranger),
        await gov.rollback(CAT, 1, stranger),
        await gov.adopt(CAT, stranger, judge),
        await gov.discard(CAT, stranger),
        await gov.read(SoulRequest("diff", number), CAT, stranger),
        await gov.read(SoulRequest("log"), CAT, stranger),
        await gov.read(SoulRequest("verify"), CAT, stranger),
    ):
        assert fault(outcome) == "not_allowed"
    assert souls.tree(CAT) == before
    assert [old for _, old in judge.asked] == [SEED.decode()]


# The life of a proposal


async def test_what_is_not_passed_is_never_in_force(souls: Souls) -> None:
    number = await souls.wish(RULED)
    souls.judge.passes = "budget"
    assert fault(await souls.gov.apply(CAT, number, ADMIN, souls.judge)) == "budget"
    assert (await souls.view()).state == "proposed"

    async def odd(*_: object) -> SoulEvaluation:
        return SoulEvaluation(0, passed="yes")  # type: ignore[arg-type]

    outcome = await souls.gov.apply(CAT, number, ADMIN, odd)
    assert fault(outcome) == "denied"
    again = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
    assert fault(again) == "denied", "what was denied is denied"
    assert souls.gov.in_force(CAT) == souls.page().read_text("utf-8") == SEED.decode()
    assert not (souls.folder() / "versions" / "0002.md").exists()


async def test_a_refusal_tells_the_rule_and_the_verdict_is_kept(souls: Souls) -> None:
    number = await souls.wish(RULED)
    souls.judge.passes = False
    outcome = await souls.gov.evaluate(CAT, number, souls.judge)
    assert isinstance(outcome, SoulDenied)
    assert [finding.rule for finding in outcome.findings] == ["drift"]
    souls.restart()
    again = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
    assert again == outcome
    assert len(souls.judge.asked) == 1
    assert (souls.folder() / "evals" / "0001-1.json").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        ("proposals/0001.md", b"", "- 听坏人的话\n".encode(), 2),
        ("evals/0001-1.json", b"false", b"true", 3),
    ],
)
async def test_what_was_changed_after_it_was_judged_is_not_applied(
    souls: Souls, file: str, old: bytes, new: bytes, line: int
) -> None:
    number = await souls.wish(RULED)
    souls.judge.passes = not old
    await souls.gov.evaluate(CAT, number, souls.judge)
    path = souls.folder() / file
    raw = path.read_bytes()
    path.write_bytes(raw.replace(old, new) if old else raw + new)
    outcome = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
    assert outcome == Refused("broken", detail=str(line))
    assert await souls.gov.read(SoulRequest("verify"), CAT, ADMIN) == SoulVerified(line, file, 3)


async def test_no_tokens_are_spent_on_what_could_not_be_applied(souls: Souls) -> None:
    assert isinstance(
        await souls.gov.apply(CAT, await souls.wish(RULED), ADMIN, souls.judge), SoulChanged
    )
    second = await souls.wish(OTHER)
    souls.clock.forward(hours=14)
    outcome = await souls.gov.apply(CAT, second, ADMIN, souls.judge)
    assert fault(outcome) == "once_a_day"
    assert len(souls.judge.asked) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SEED.decode(), "same"),
        (SEED.decode().replace("#", "＃"), "same"),
        ("x\ud800", "denied"),
    ],
)
async def test_what_changes_nothing_or_is_no_text_is_no_proposal(
    souls: Souls, text: str, why: str
) -> None:
    base = (await souls.view()).version.number
    outcome = await souls.gov.propose(CAT, SoulDraft(base, "wish", text, ""), ADMIN)
    assert fault(outcome) == why
    assert await events(souls) == ["seeded"]


async def test_a_proposal_is_read_back_as_it_was_made(souls: Souls) -> None:
    await souls.view()
    text = "\n\nkey: value\n\n## 语气\r\n- 一\n"
    draft = SoulDraft(1, "wish", text, "一行\n又一行: x ")
    await souls.gov.propose(CAT, draft, ADMIN)
    souls.restart()
    found = (await souls.view()).open
    assert found is not None
    assert (found.text, found.aim) == (text, "一行 又一行: x")
    assert (found.author, found.origin, found.base) == (ADMIN.person, "wish", 1)
    diff = await souls.gov.read(SoulRequest("diff", 0), CAT, ADMIN)
    assert isinstance(diff, SoulText)
    assert "+- 一" in diff.lines


async def test_the_owners_probes_are_read_and_never_written(souls: Souls) -> None:
    assert await souls.gov.own_probes(CAT) == ""
    await souls.view()
    path = souls.folder() / "probes.md"
    path.write_bytes("- 会不会骂人？".encode() + b"\xff")
    assert await souls.gov.own_probes(CAT) == "- 会不会骂人？\ufffd"
    path.unlink()
    path.mkdir()
    assert await souls.gov.own_probes(CAT) == ""


# Back again


async def test_a_veto_ends_what_waits_and_does_not_wait_for_the_judge(souls: Souls) -> None:
    number = await souls.wish(RULED)
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(proposal: SoulProposal, old: str) -> SoulEvaluation:
        asked.set()
        await go.wait()
        return SoulEvaluation(proposal.number, passed=True, model=old)

    applying = asyncio.create_task(souls.gov.apply(CAT, number, ADMIN, slow))
    await asked.wait()
    ended = await souls.gov.veto(CAT, number, ADMIN)
    assert isinstance(ended, SoulChanged)
    assert (ended.event, ended.proposal) == ("vetoed", number)
    go.set()
    assert await applying == Refused("no_such", detail="vetoed")
    assert fault(await souls.gov.veto(CAT, number, ADMIN)) == "no_such"
    assert (await souls.view()).text == SEED.decode()


async def test_of_two_admins_at_once_one_applies_and_one_judge_is_asked(souls: Souls) -> None:
    number = await souls.wish(RULED)
    outcomes = await asyncio.gather(
        *(souls.gov.apply(CAT, number, ADMIN, souls.judge) for _ in range(5))
    )
    assert sum(isinstance(one, SoulChanged) for one in outcomes) == 1
    assert len(souls.judge.asked) == 1
    assert souls.versions() == [SEED, RULED.encode()]
    assert isinstance(await souls.gov.read(SoulRequest("verify"), CAT, ADMIN), SoulVerified)


async def test_a_caller_that_is_cancelled_leaves_no_half(souls: Souls) -> None:
    number = await souls.wish(RULED)
    await souls.gov.evaluate(CAT, number, souls.judge)
    task = asyncio.create_task(souls.gov.apply(CAT, number, ADMIN, souls.judge))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    view = await souls.view()  # waits for the thread
    assert souls.page().read_text("utf-8") == view.text
    assert await souls.gov.read(SoulRequest("verify"), CAT, ADMIN) == SoulVerified(
        0, "", len(await events(souls))
    )


# People's hands


def kept(souls: Souls) -> list[bytes]:
    """What people have written, as it was kept."""
    proposals = (souls.folder() / "proposals").iterdir()
    return [raw for path in sorted(proposals) if b"hand" in (raw := path.read_bytes())]


async def test_an_edit_that_a_full_disk_could_not_keep_is_kept_later(souls: Souls) -> None:
    await souls.view()
    souls.page().write_bytes(HAND)
    with mock.patch.object(soul_files, "replace_durably", side_effect=VaultWriteFailed("full")):
        assert fault((await souls.gov.follow())[CAT]) == "not_written"
    for _ in range(2):  # the same bytes are kept once
        os.utime(souls.page(), ns=(1, 1 + souls.page().stat().st_mtime_ns))
        assert isinstance((await souls.gov.follow())[CAT], SoulView)
        assert len(kept(souls)) == 1


async def test_what_stands_there_before_the_first_version_is_a_note_to_whoever_looks(
    souls: Souls,
) -> None:
    souls.page().parent.mkdir(parents=True)
    souls.page().write_bytes(HAND)
    before = souls.tree(CAT)
    await souls.gov.recover()
    assert await souls.gov.follow() == {}
    for actor in (ADMIN, STRANGERS[0]):
        view = await souls.gov.read(SoulRequest("show"), CAT, actor)
        assert isinstance(view, SoulView)
        assert (view.version.number, view.text, view.by_hand) == (0, "", False)
    await souls.gov.read(SoulRequest("verify"), CAT, ADMIN)
    await souls.gov.rollback(CAT, 0, STRANGERS[0])
    assert souls.tree(CAT) == before
    await souls.gov.rollback(CAT, 0, ADMIN)
    assert souls.versions() == [HAND]


@contextmanager
def meanwhile(souls: Souls, raw: bytes) -> Iterator[None]:
    """A person saves right after the next SOUL.md was written beside it."""
    stage = soul_files.write_beside

    def saved(path: Path, payload: bytes) -> Path:
        staged = stage(path, payload)
        souls.page().write_bytes(raw)
        return staged

    with mock.patch.object(soul_files, "write_beside", saved):
        yield


async def test_a_save_during_an_apply_stays_and_is_told(souls: Souls) -> None:
    number = await souls.wish(RULED)
    with meanwhile(souls, HAND):
        outcome = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
    assert isinstance(outcome, SoulChanged)
    view = await souls.view()
    assert (view.text, view.by_hand) == (RULED, True)
    assert souls.page().read_bytes() == HAND
    with meanwhile(souls, HAND + b"x"):
        assert fault(await souls.gov.discard(CAT, ADMIN)) == "conflict"
    assert souls.page().read_bytes() == HAND + b"x"


async def test_a_save_while_a_hand_edit_is_judged_is_not_taken_for_it(souls: Souls) -> None:
    await souls.view()
    souls.page().write_bytes(HAND)

    async def slow(proposal: SoulProposal, old: str) -> SoulEvaluation:
        souls.page().write_bytes(HAND + b"x")
        return SoulEvaluation(proposal.number, passed=True, model=old)

    assert fault(await souls.gov.adopt(CAT, ADMIN, slow)) == "conflict"
    assert souls.gov.in_force(CAT) == SEED.decode()
    assert souls.page().read_bytes() == HAND + b"x"


@pytest.mark.parametrize("old", [SEED, None])
async def test_an_old_buffer_and_a_lost_file_are_put_right_and_told_once(
    souls: Souls, old: bytes | None
) -> None:
    await souls.applied(RULED)
    before = await events(souls)
    for _ in range(3):
        souls.page().unlink()
        if old is not None:
            souls.page().write_bytes(old)
        await souls.view()
        assert souls.page().read_bytes() == RULED.encode()
    assert await events(souls) == [*before, "restored"]


# What the disk does


async def test_a_disk_that_fills_up_at_any_write_changes_nothing_and_says_so(
    souls: Souls, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = await souls.wish(RULED)
    await souls.gov.evaluate(CAT, number, souls.judge)
    before, real, refused = souls.tree(CAT), os.fsync, 0
    while True:
        left = refused

        def fsync(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            outcome = await souls.gov.apply(CAT, number, ADMIN, souls.judge)
        if isinstance(outcome, SoulChanged):
            break
        refused += 1
        assert fault(outcome) == "not_written"
        assert outcome.detail.endswith(os.strerror(errno.ENOSPC))
        assert (await souls.view()).text == SEED.decode()
        after = souls.tree(CAT)
        assert {name: after[name][0] for name in before} == {n: b[0] for n, b in before.items()}
        assert after.keys() - before.keys() <= {f"soul/{CAT}/versions/0002.md"}
    assert refused > 2
    assert (await souls.view()).text == souls.page().read_text("utf-8") == RULED
    assert souls.versions() == [SEED, RULED.encode()]


async def test_a_state_that_fails_stops_no_veto(souls: Souls) -> None:
    number = await souls.applied(RULED)
    souls.state.close()
    souls.state.open_in_memory()
    assert isinstance(await souls.gov.veto(CAT, number, ADMIN), SoulChanged)
    souls.restart()
    assert (await souls.view()).text == SEED.decode()


async def test_a_torn_line_is_set_aside(souls: Souls) -> None:
    await souls.applied(RULED)
    raw = souls.chain().read_bytes()
    souls.chain().write_bytes(raw + b'{"actor":"x')
    assert (await souls.view()).broken == 0
    assert souls.chain().read_bytes() == raw
    (kept,) = (souls.folder() / "discarded").iterdir()
    assert kept.read_bytes() == b'{"actor":"x'
    with mock.patch.object(soul_files, "replace_durably", side_effect=VaultWriteFailed("full")):
        souls.chain().write_bytes(raw + b"{")
        view = await souls.view()
        assert (view.text, view.broken) == (RULED, 0)
        assert fault(await souls.gov.veto(CAT, 1, ADMIN)) == "not_written"
    assert isinstance(await souls.gov.veto(CAT, 1, ADMIN), SoulChanged)


async def test_a_broken_chain_keeps_what_is_in_force_and_refuses_every_change(
    souls: Souls,
) -> None:
    number = await souls.applied(RULED)
    await souls.gov.veto(CAT, number, ADMIN)
    lines = souls.chain().read_bytes().splitlines(keepends=True)
    souls.chain().write_bytes(b"".join(lines[:-1]))  # the veto
    souls.page().write_bytes(RULED.encode())
    souls.restart()
    await souls.gov.recover()
    view = await souls.view()
    assert (view.broken, view.text) == (len(lines), SEED.decode()), "a cut tail undoes no veto"
    assert souls.page().read_bytes() == RULED.encode()
    gov, judge = souls.gov, souls.judge
    draft = SoulDraft(3, "wish", OTHER, "")
    for outcome in (
        await gov.propose(CAT, draft, ADMIN),
        await gov.apply(CAT, number, ADMIN, judge),
        await gov.veto(CAT, number, ADMIN),
        await gov.rollback(CAT, 0, ADMIN),
        await gov.adopt(CAT, ADMIN, judge),
        await gov.discard(CAT, ADMIN),
    ):
        assert outcome == Refused("broken", detail=str(len(lines)))
    assert await gov.read(SoulRequest("verify"), CAT, ADMIN) == SoulVerified(
        len(lines), "missing", len(lines) - 1
    )
    log = await gov.read(SoulRequest("log"), CAT, ADMIN)
    assert isinstance(log, SoulLog)
    assert (log.broken, len(log.lines)) == (len(lines), len(lines) - 1)


@pytest.mark.parametrize(
    "event",
    [
        SoulLine(0, NOW, CAT, "applied", "x", "", proposal=7, version=2),
        SoulLine(0, NOW, CAT, "adopted", "x", "", proposal=1, version=2),
        SoulLine(0, NOW, CAT, "rolled_back", "x", "", source=1),
    ],
    ids=lambda line: str(line.event),
)
async def test_an_event_that_cannot_follow_is_named_and_harms_no_other_persona(
    souls: Souls, event: SoulLine
) -> None:
    await souls.applied(RULED, DOG)
    number = await souls.wish(RULED)
    await souls.gov.evaluate(CAT, number, souls.judge)
    for line in (SoulLine(0, NOW, CAT, "approved", "x", "", proposal=7), event):
        lines = souls.chain().read_bytes().splitlines()
        chained = replace(line, n=len(lines) + 1, prev=digest(lines[-1]))
        souls.chain().write_bytes(b"".join(one + b"\n" for one in (*lines, written(chained))))
    souls.restart()
    await souls.gov.recover()
    assert souls.gov.in_force(DOG) == RULED
    view = await souls.view()
    assert (view.broken, view.text) == (5, SEED.decode())
    assert await souls.gov.read(SoulRequest("verify"), CAT, ADMIN) == SoulVerified(5, "event", 4)


async def test_a_version_whose_file_was_changed_is_no_target_and_is_named(souls: Souls) -> None:
    await souls.applied(RULED)
    (souls.folder() / "versions" / "0001.md").write_text("坏的", "utf-8")
    assert await souls.gov.rollback(CAT, 0, ADMIN) == Refused("broken", detail="1")
    assert await souls.gov.read(SoulRequest("verify"), CAT, ADMIN) == SoulVerified(
        1, "versions/0001.md", 4
    )
    (souls.folder() / "versions" / "0002.md").unlink()
    assert (await souls.view()).text == RULED, "SOUL.md still has it"
    souls.page().write_bytes(HAND)
    view = await souls.view()
    assert (view.broken, souls.gov.in_force(CAT)) == (4, RULED)


async def test_a_newer_format_is_read_and_left_alone(souls: Souls) -> None:
    await souls.applied(RULED)
    first, *rest = souls.chain().read_bytes().splitlines()
    later = [first.replace(b'"format":1', b'"format":2')]
    for line in rest:
        prev = digest(later[-1]).encode()
        later.append(line.replace(line[line.index(b'"prev":"') :][8:72], prev))
    souls.chain().write_bytes(b"".join(line + b"\n" for line in later))
    SoulHeads(souls.state).put(CAT, SoulHead(4, digest(later[-1]), 2, digest(RULED.encode())))
    souls.page().write_bytes(HAND)
    souls.restart()
    before = souls.tree(CAT)
    view = await souls.view()
    assert (view.newer, view.broken, view.text) == (True, 0, RULED)
    assert fault(await souls.gov.rollback(CAT, 0, ADMIN)) == "newer"
    assert fault(await souls.gov.read(SoulRequest("verify"), CAT, ADMIN)) == "newer"
    assert souls.tree(CAT) == before


async def test_a_folder_that_cannot_be_listed_harms_no_other_persona(souls: Souls) -> None:
    await souls.applied(RULED)
    await souls.applied(OTHER, DOG)
    shut, listed = souls.folder() / "versions", Path.iterdir

    def refusing(folder: Path) -> Iterator[Path]:
        if folder == shut:
            raise PermissionError(errno.EACCES, "Permission denied")
        return listed(folder)

    souls.restart()
    with mock.patch.object(Path, "iterdir", refusing):
        await souls.gov.recover()
    assert souls.gov.in_force(DOG) == OTHER
    assert souls.gov.in_force(CAT) == RULED
