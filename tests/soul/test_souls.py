"""Who may do what to a soul, what becomes of it, and what is told where nothing is done."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import StateUnavailable, VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    READINGS,
    SoulAction,
    SoulChanged,
    SoulDiff,
    SoulEvolution,
    SoulLog,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import SoulEvaluation
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.checks import complaints
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of, worded
from astrbot_plugin_scoped_memory.llm_memory.storage.sqlite_file import SqliteFile
from astrbot_plugin_scoped_memory.llm_memory.texts import Said
from astrbot_plugin_scoped_memory.llm_memory.vault import pages
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.hostile import others
from astrbot_plugin_scoped_memory.tests.support.souls import (
    ADMIN,
    CAT,
    GENTLE,
    HOSTILE,
    SEED,
    SoulWorld,
)

pytestmark = pytest.mark.unit

HAND = "# 我自己写的\n\n## 语气\n\n- 慢一点。\n".encode()
SHORT = "回答短一点"
COUNTED = line_of("emoji", "less", "zh")
ACTIONS: list[SoulAction] = ["propose", "apply", "veto", "undo", "adopt", "discard"]
PASSED, FAILED = SoulEvaluation(None), SoulEvaluation(Said("soul_verdict.no_better"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SoulWorld]:
    made = SoulWorld(tmp_path)
    yield made
    made.state.close()


@pytest.fixture
def auto(tmp_path: Path) -> Iterator[SoulWorld]:
    made = SoulWorld(tmp_path, SoulEvolution.AUTO)
    made.counts.wanted[CAT] = [("emoji", "less")]
    yield made
    made.state.close()


BEFORE = {
    "begun": "undo",
    "waiting": "applied propose",
    "next day": "applied propose day",
    "edited": "applied propose day edit",
    "stale": "applied propose day edit adopt",
    "undone": "applied undo",
    "vetoed": "applied veto",
    "broken": "applied propose break",
}
"""What has happened to a soul, step by step."""


async def live(world: SoulWorld, standing: str) -> None:
    for step in BEFORE[standing].split():
        match step:
            case "applied":
                await world.applied()
            case "day":
                world.clock.forward(days=1)
            case "edit":
                world.page().write_bytes(HAND)
            case "break":
                raw = world.log().read_bytes()
                world.log().write_bytes(raw.replace(b'"applied"', b'"adopted"'))
            case "propose" | "undo" | "adopt" | "veto":
                await world.ask(step, int(step == "veto"), SHORT)


TOLD: dict[str, dict[str, str]] = {
    "begun": {
        "propose": "proposed", "apply": "nothing_waits", "apply 1": "no_such",
        "veto": "nothing_waits", "undo": "no_target", "undo 2": "no_target",
        "adopt": "nothing_by_hand", "discard": "nothing_by_hand", "diff": "nothing_waits",
    },
    "waiting": {
        "propose": "open_proposal 2", "apply": "once_a_day", "apply 1": "no_such",
        "veto": "vetoed 2 0", "veto 1": "vetoed 1 3", "undo": "rolled_back 0 3",
        "undo 1": "rolled_back 0 3", "undo 2": "no_target",
    },
    "next day": {"apply": "applied 2 3", "apply 2": "applied 2 3"},
    "edited": {
        "apply": "conflict", "propose": "open_proposal 2", "adopt": "adopted 0 3",
        "discard": "discarded 0 0", "veto 1": "vetoed 1 3", "undo": "rolled_back 0 3",
    },
    "stale": {"apply": "nothing_waits", "propose": "proposed", "undo": "rolled_back 0 4"},
    "undone": {"apply 1": "no_such", "undo": "no_target", "undo 2": "rolled_back 0 4"},
    "vetoed": {"veto 1": "no_such", "undo 2": "no_target"},
    "broken": dict.fromkeys(ACTIONS, "broken 4"),
}  # fmt: skip
"""What is told, or done: the event, the proposal and the version."""


@pytest.mark.parametrize(
    ("standing", "asked", "told"),
    [(standing, *row) for standing, rows in TOLD.items() for row in rows.items()],
)
async def test_what_is_asked_is_done_or_says_why_not_and_changes_nothing(
    world: SoulWorld, standing: str, asked: str, told: str
) -> None:
    await live(world, standing)
    action, _, number = asked.partition(" ")
    before, raw = world.tree(), world.page().read_bytes()
    outcome = await world.ask(action, int(number or 0), "少用比喻")
    match outcome:
        case SoulChanged(line):
            assert f"{line.event} {line.proposal} {line.version}" == told
            assert outcome.text == (await world.view()).text
        case Refused(reason, detail=detail):
            assert f"{reason} {detail}".strip() == told
            assert world.tree() == before
        case _:
            assert outcome.proposed is not None
            assert told == "proposed"
    view = await world.view()
    if told.partition(" ")[0] != "broken":
        assert await world.ask("verify") == SoulVerified(
            0, "SOUL.md" if view.by_hand else "", len((await world.ask("log")).lines)
        )
        assert world.page().read_bytes() == (raw if view.by_hand else view.text.encode())
    if view.rules:
        assert world.souls.injected(CAT).endswith("".join(f"- {rule}\n" for rule in view.rules))


@pytest.mark.parametrize(
    "stranger",
    [person(5), Actor("mcp:agent", "agent", admin=True), replace(ADMIN, admin=False, spoke=False)],
    ids=["member", "agent", "by itself"],
)
async def test_only_admins_change_anything_or_see_what_is_not_in_force(
    world: SoulWorld, stranger: Actor
) -> None:
    await live(world, "edited")
    before = world.tree()
    for action in (*ACTIONS, *READINGS[1:]):
        assert await world.ask(action, 1, GENTLE, actor=stranger) == Refused("not_allowed")
    assert (await world.ask("show", actor=stranger)).rules == (GENTLE,)
    assert world.tree() == before


async def test_no_word_is_kept_of_a_wish_that_a_rule_refuses_nor_is_it_applied(
    world: SoulWorld,
) -> None:
    await live(world, "next day")
    world.refused = {"比喻", SHORT}
    applied = await world.ask("apply")
    await world.ask("veto")
    proposed = await world.ask("propose", wish="少用比喻")
    assert [one.line for one in (*applied.findings, *proposed.findings)] == [0, 0]
    world.page().write_text("少用比喻", "utf-8")
    adopted = await world.ask("adopt")
    assert [one.line for one in adopted.findings] == [3], "whose lines a person can look up"
    assert "比喻".encode() not in world.log().read_bytes()
    assert (await world.view()).rules == (GENTLE,)


async def test_whoever_wishes_sees_what_it_changes(world: SoulWorld) -> None:
    proposed = await world.ask("propose", wish="  一行\n又一行 \ud800")
    assert proposed.lines[-3:][1] == "+- 一行 又一行 ?"
    assert await world.ask("diff") == SoulDiff(proposed.lines)
    world.restart()
    waits = (await world.view()).open
    assert waits == proposed.proposed
    assert (waits.aim, waits.actor) == ("一行 又一行 ?", ADMIN.person)


async def test_of_many_admins_at_once_one_applies_and_who_is_cancelled_leaves_no_half(
    world: SoulWorld,
) -> None:
    await live(world, "next day")
    first, *others = [asyncio.create_task(world.ask("apply")) for _ in range(5)]
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not any([isinstance(await one, SoulChanged) for one in others[1:]])
    view = await world.view()
    assert world.page().read_text("utf-8") == view.text
    assert world.souls.injected(CAT).count("\n- ") == len(view.rules)


# How it begins


async def test_what_stands_there_before_the_first_version_is_a_note_to_whoever_looks(
    world: SoulWorld,
) -> None:
    world.page().parent.mkdir(parents=True)
    world.page().write_bytes(HAND + b"\xff")
    before = world.tree()
    await world.souls.follow()
    view = await world.view()
    assert (view.version, view.text, view.by_hand) == (0, "", False)
    for action in ("verify", "log", "diff"):
        await world.ask(action)
    await world.ask("undo", actor=person(5))
    assert world.tree() == before
    await live(world, "begun")
    assert (world.folder() / "versions" / "0001.md").read_bytes() == HAND + b"\xff"
    log = await world.ask("log")
    assert isinstance(log, SoulLog)
    assert log.lines[0].actor == "owner"


async def test_without_its_log_a_soul_is_not_begun_again(world: SoulWorld) -> None:
    await world.applied()
    text = (await world.view()).text
    world.log().unlink()
    world.restart()
    await world.souls.follow()
    assert (await world.view()).text == text, "the state knows what was in force"
    assert world.souls.injected(CAT).endswith(f"- {GENTLE}\n")
    for _ in range(2):
        assert await world.ask("undo") == Refused("broken", detail="1")
        world.state.write("DELETE FROM soul_head", [()])  # a state that knows nothing of it
    for path in (world.page(), *world.folder().rglob("*.md")):
        path.unlink()  # an owner who throws all of it away begins anew
    await live(world, "begun")
    assert (await world.view()).text == SEED.decode()


# People's hands, and the disk


async def test_a_hand_edit_stays_is_told_and_is_kept_when_it_is_discarded(
    world: SoulWorld,
) -> None:
    await world.applied()
    world.page().write_bytes(HAND + b"\xff")
    for _ in range(2):
        await world.souls.follow()
        assert [one.code for one in world.notices.standing()] == ["soul_edited"]
    assert world.page().read_bytes() == HAND + b"\xff"
    assert world.souls.injected(CAT).endswith(f"- {GENTLE}\n")
    await world.ask("discard")
    (line, *_) = (await world.ask("log")).lines
    assert line.text == HAND.decode() + "\\xff"
    assert world.notices.standing() == ()


async def test_a_save_meanwhile_stays(world: SoulWorld) -> None:
    await live(world, "next day")
    write = pages.replace_durably

    def saved(path: Path, *rest: Any) -> None:
        if path == world.log():
            world.page().write_bytes(HAND)
        write(path, *rest)

    with mock.patch.object(pages, "replace_durably", saved):
        await world.ask("apply")
    assert (await world.view()).by_hand
    assert world.page().read_bytes() == HAND


async def test_a_log_that_is_cut_right_behind_a_write_is_not_taken_for_whole(
    world: SoulWorld,
) -> None:
    await live(world, "next day")
    write = pages.replace_durably

    def cut(path: Path, *rest: Any) -> None:
        write(path, *rest)
        if path == world.log():
            path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])

    with mock.patch.object(pages, "replace_durably", cut):
        await world.ask("apply")
    assert (await world.ask("verify")).line == 2
    world.counts.wanted[CAT] = [("emoji", "less")]
    before = world.tree()
    await world.souls.night()
    assert world.tree() == before, "nothing is added to it"


@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_a_disk_that_fills_up_at_any_write_leaves_the_old_or_the_new(
    world: SoulWorld, writes: int
) -> None:
    """A version's file, the log, and SOUL.md. Nor is a state that cannot be written in the way."""
    await live(world, "next day")
    old, write, done = world.page().read_bytes(), pages.replace_durably, 0

    def full(*rest: Any) -> None:
        nonlocal done
        if done == writes:
            raise VaultWriteFailed(os.strerror(errno.ENOSPC))
        done += 1
        write(*rest)

    locked = mock.patch.object(SqliteFile, "write", side_effect=StateUnavailable("locked"))
    with locked, mock.patch.object(pages, "replace_durably", full):
        outcome = await world.ask("apply")
    assert world.page().read_bytes() == old
    assert isinstance(outcome, SoulChanged) is (writes == 2)
    assert (await world.view()).rules == ((GENTLE, SHORT) if writes == 2 else (GENTLE,))
    world.restart()
    await world.souls.follow()
    assert world.page().read_text("utf-8") == (await world.view()).text
    assert (await world.ask("verify")).line == 0


@pytest.mark.parametrize(
    "name", ["roles", "soul", f"soul/{CAT}/versions", f"soul/{CAT}/chain.jsonl"]
)
async def test_what_is_a_link_is_neither_read_nor_written(
    world: SoulWorld, name: str, tmp_path: Path
) -> None:
    await world.applied()
    path, other = world.root / name, tmp_path / "other"
    path.rename(other)
    path.symlink_to(other)
    top = other if other.is_dir() else tmp_path
    before = {one: one.read_bytes() for one in top.glob("**/*") if one.is_file()}
    for action in ACTIONS[1:]:
        outcome = await world.ask(action)
        assert isinstance(outcome, Refused) or (name, action) == ("roles", "undo")
    assert {one: one.read_bytes() for one in top.glob("**/*") if one.is_file()} == before


# The night


async def test_no_hostile_wish_comes_into_force_without_an_admins_own_apply(
    auto: SoulWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed, or written into SOUL.md; what is counted has words of a fixed list."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no kill, and many writes
    auto.rules, auto.counts.wanted, passed = complaints, {}, 0
    for wish in (*HOSTILE, *(one.text for one in others() if one.is_attack)):
        new = worded(SEED.decode(), wish)
        if complaints(SEED.decode(), new):
            continue
        passed += 1
        role = f"typed{passed}"
        asked = await auto.ask("propose", wish=wish, persona=role)
        assert [line for line in asked.lines if line[:1] == "+"], "an admin sees it"
        auto.page(role).write_text(new, "utf-8")
    auto.clock.forward(days=1)
    await auto.souls.night()
    await auto.souls.follow()
    assert len(auto.store.roles()) == passed > 100
    for role in auto.store.roles():
        view = await auto.view(role)
        assert (view.version, view.by_hand, auto.souls.injected(role)) == (1, True, "")


async def test_a_wish_waits_for_an_admin_whatever_a_model_says(auto: SoulWorld) -> None:
    auto.counts.wanted = {}
    await auto.ask("propose", wish="少用感叹号")
    assert auto.notices.standing() == ()
    for _ in range(2):
        auto.clock.forward(days=1)
        await auto.souls.night()
    assert (auto.souls.injected(CAT), auto.evaluated) == ("", [])
    assert [one.code for one in auto.notices.standing()] == ["soul_waits"]
    assert isinstance(await auto.ask("apply"), SoulChanged)
    assert auto.notices.standing() == ()


@pytest.mark.parametrize(
    ("verdict", "events", "notices"),
    [(PASSED, ["applied"], ["soul_applied"]), (FAILED, ["denied"], []), (None, [], ["soul_waits"])],
    ids=["passed", "failed", "no verdict"],
)
async def test_the_night_puts_in_force_what_was_counted_and_what_a_model_has_passed(
    auto: SoulWorld, verdict: SoulEvaluation | None, events: list[str], notices: list[str]
) -> None:
    auto.verdict = verdict
    for _ in range(2):
        await auto.souls.night()
        auto.clock.forward(hours=1)
    assert (COUNTED in auto.souls.injected(CAT)) is (verdict is PASSED)
    assert [one.code for one in auto.notices.standing()] == notices
    assert [proposal.aim for proposal, _ in auto.evaluated] == [COUNTED] * (1 if verdict else 2)
    assert [line.event for line in (await auto.ask("log")).lines[:-2]] == events
    assert auto.counts.wanted[CAT] == []
    vetoed = await auto.ask("veto", 1)
    assert isinstance(vetoed, SoulChanged) is (verdict is not FAILED)


@pytest.mark.parametrize("action", ["veto", "undo", "adopt", "undo below a wish"])
async def test_what_an_admin_took_back_comes_by_no_night_again(
    auto: SoulWorld, action: str
) -> None:
    await auto.souls.night()
    assert COUNTED in auto.souls.injected(CAT)
    match action:
        case "adopt":
            auto.page().write_bytes(HAND)
            await auto.ask("adopt")
        case "veto":
            await auto.ask("veto", 1)
        case _:
            if action != "undo":
                await auto.applied()
            await auto.ask("undo", 1)
    for _ in range(2):
        auto.clock.forward(days=1)
        auto.counts.wanted[CAT] = [("emoji", "less")]
        await auto.souls.night()
    assert COUNTED not in auto.souls.injected(CAT)
    assert isinstance(await auto.ask("apply"), SoulChanged), "an admin may think again"


async def test_what_was_counted_pushes_no_rule_out_of_the_prompt(auto: SoulWorld) -> None:
    await auto.applied()
    rules = [f"- {number}{'慢' * 117}" for number in range(5)]
    auto.page().write_text("\n".join(["## 习惯", "## 边界", *rules]), "utf-8")
    await auto.ask("adopt")
    before = auto.souls.injected(CAT)
    auto.clock.forward(days=1)
    await auto.souls.night()
    assert auto.souls.injected(CAT) == before
    assert before.count("\n- ") == 5


async def test_what_was_vetoed_while_a_model_was_asked_stays_so(auto: SoulWorld) -> None:
    async def slow(*_: object) -> SoulEvaluation:
        await auto.ask("veto")
        return PASSED

    with mock.patch.object(auto.souls, "_evaluate", slow):
        await auto.souls.night()
    assert auto.souls.injected(CAT) == ""
    assert (await auto.ask("log")).lines[0].event == "vetoed"


async def test_off_changes_nothing_but_what_an_admin_takes_back(tmp_path: Path) -> None:
    world = SoulWorld(tmp_path)
    await live(world, "next day")
    world.state.close()
    off = SoulWorld(tmp_path, SoulEvolution.OFF)
    off.counts.wanted[CAT] = [("emoji", "less")]
    before = off.tree()
    for action in ("propose", "apply", "adopt"):
        assert await off.ask(action, wish=SHORT) == Refused("soul_off")
    await off.souls.follow()
    await off.souls.night()
    assert (off.tree(), off.souls.injected(CAT)) == (before, "")
    assert isinstance(await off.ask("undo"), SoulChanged)
    off.state.close()
