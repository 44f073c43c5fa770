"""Who may do what to a soul, what becomes of it, and what is told where nothing is done; and of its
bytes the first wrong line is named, but for one that was never acknowledged."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models import soul
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulChanged, SoulEvolution, SoulLine
from astrbot_plugin_scoped_memory.llm_memory.soul.evaluation import SoulEvaluation
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.checks import complaints
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of, worded
from astrbot_plugin_scoped_memory.llm_memory.soul.store import NO_LINE, digest, read, written
from astrbot_plugin_scoped_memory.llm_memory.texts import Said
from astrbot_plugin_scoped_memory.llm_memory.vault import pages
from astrbot_plugin_scoped_memory.tests.support import souls
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.support.hostile import others
from astrbot_plugin_scoped_memory.tests.support.souls import CAT, GENTLE, SEED, SoulWorld

pytestmark = [pytest.mark.unit, pytest.mark.property]

HAND = "# 我自己写的\n\n## 语气\n\n- 慢一点。\n".encode()
SHORT = "回答短一点"
COUNTED = line_of("emoji", "less", "zh")
ACTIONS: list[soul.SoulAction] = ["propose", "apply", "veto", "undo", "adopt", "discard"]
PASSED, FAILED = SoulEvaluation(None), SoulEvaluation(Said("soul_verdict.no_better"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SoulWorld]:
    made = SoulWorld(tmp_path, SoulEvolution.AUTO)
    yield made
    made.state.close()


@pytest.fixture
def auto(world: SoulWorld) -> SoulWorld:
    """Where fewer emoji are wanted."""
    world.counts.wanted[CAT] = [("emoji", "less")]
    return world


def told(world: SoulWorld) -> list[str]:
    return [one.code for one in world.notices.standing()]


async def live(world: SoulWorld, steps: str) -> None:
    """Have happen to a soul what is named, step by step."""
    for step in steps.split():
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
            case _:
                await world.ask(step, int(step == "veto"), SHORT)  # type: ignore[arg-type]


TOLD: dict[str, dict[str, str]] = {
    "undo": {
        "propose": "proposed", "apply": "nothing_waits", "apply 1": "no_such",
        "veto": "nothing_waits", "undo": "no_target", "undo 2": "no_target",
        "adopt": "nothing_by_hand", "discard": "nothing_by_hand", "diff": "nothing_waits",
    },
    "applied propose": {
        "propose": "open_proposal 2", "apply": "once_a_day", "apply 1": "no_such",
        "veto": "vetoed 2 0", "veto 1": "vetoed 1 3", "undo": "rolled_back 0 3",
        "undo 1": "rolled_back 0 3", "undo 2": "no_target",
    },
    "applied propose day": {"apply": "applied 2 3", "apply 2": "applied 2 3"},
    "applied propose day edit": {
        "apply": "conflict", "propose": "open_proposal 2", "adopt": "adopted 0 3",
        "discard": "discarded 0 0", "veto 1": "vetoed 1 3", "undo": "rolled_back 0 3",
    },
    "applied propose day edit adopt": {
        "apply": "nothing_waits", "propose": "proposed", "undo": "rolled_back 0 4",
    },
    "applied undo": {"apply 1": "no_such", "undo": "no_target", "undo 2": "rolled_back 0 4"},
    "applied veto": {"veto 1": "no_such", "undo 2": "no_target"},
    "applied propose break": dict.fromkeys(ACTIONS, "broken 4"),
}  # fmt: skip
"""By what happened before: what is told, or done, the event, the proposal and the version."""


@pytest.mark.parametrize(
    ("standing", "asked", "answer"),
    [(standing, *row) for standing, rows in TOLD.items() for row in rows.items()],
)
async def test_what_is_asked_is_done_or_says_why_not_and_changes_nothing(
    world: SoulWorld, standing: str, asked: str, answer: str
) -> None:
    await live(world, standing)
    action, _, number = asked.partition(" ")
    before, raw = world.tree(), world.page().read_bytes()
    outcome = await world.ask(action, int(number or 0), "少用比喻")
    match outcome:
        case SoulChanged(line):
            assert f"{line.event} {line.proposal} {line.version}" == answer
            assert outcome.text == (await world.view()).text
        case Refused(reason, detail=detail):
            assert f"{reason} {detail}".strip() == answer
            assert world.tree() == before
        case _:
            assert (outcome.proposed is not None, answer) == (True, "proposed")
            assert await world.ask("diff") == soul.SoulDiff(outcome.lines)
    view = await world.view()
    if not answer.startswith("broken"):
        why, count = "SOUL.md" if view.by_hand else "", len((await world.ask("log")).lines)
        assert await world.ask("verify") == soul.SoulVerified(0, why, count)
        assert world.page().read_bytes() == (raw if view.by_hand else view.text.encode())
    if view.rules:
        assert world.souls.injected(CAT).endswith("".join(f"- {rule}\n" for rule in view.rules))


@pytest.mark.parametrize("stranger", [person(5), Actor("mcp:agent", "agent", admin=True)])
async def test_only_admins_change_anything_or_see_what_is_not_in_force(
    world: SoulWorld, stranger: Actor
) -> None:
    await live(world, "applied propose day edit")
    before = world.tree()
    for action in (*ACTIONS, *soul.READINGS[1:]):
        assert await world.ask(action, 1, GENTLE, actor=stranger) == Refused("not_allowed")
    assert (await world.ask("show", actor=stranger)).rules == (GENTLE,)
    assert world.tree() == before


async def test_no_word_is_kept_of_a_wish_that_a_rule_refuses_nor_is_it_applied(
    world: SoulWorld,
) -> None:
    await live(world, "applied propose day")
    world.refused = {"比喻", SHORT}
    applied = await world.ask("apply")
    await world.ask("veto")
    proposed = await world.ask("propose", wish="少用比喻")
    world.page().write_text("少用比喻", "utf-8")
    adopted = await world.ask("adopt")
    lines = [asked.findings[0].line for asked in (applied, proposed, adopted)]
    assert lines == [0, 0, 3], "of a file a person can look them up"
    assert "比喻".encode() not in world.log().read_bytes()
    assert (await world.view()).rules == (GENTLE,)


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
    assert world.tree() == before
    await live(world, "undo")
    assert (world.folder() / "versions" / "0001.md").read_bytes() == HAND + b"\xff"
    assert (await world.ask("log")).lines[0].actor == "owner"


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
    await live(world, "undo")
    assert (await world.view()).text == SEED.decode()


async def test_without_its_folder_a_soul_is_not_begun_again_while_its_page_is_there(
    world: SoulWorld,
) -> None:
    await world.applied()
    shutil.rmtree(world.folder())
    world.restart()
    before = world.tree()
    view = await world.view()
    assert (view.broken, view.version, view.rules) == (1, 2, (GENTLE,))
    assert (await world.ask("verify")).line == 1
    assert await world.ask("propose", wish=SHORT) == Refused("broken", detail="1")
    assert world.tree() == before


async def test_a_save_meanwhile_stays(world: SoulWorld) -> None:
    await live(world, "applied propose day")
    write = pages.replace_durably

    def saved(path: Path, *rest: Any) -> None:
        if path == world.log():
            world.page().write_bytes(HAND)
        write(path, *rest)

    with mock.patch.object(pages, "replace_durably", saved):
        await world.ask("apply")
    assert (await world.view()).by_hand
    assert world.page().read_bytes() == HAND


async def test_no_hostile_wish_comes_into_force_without_an_admins_own_apply(
    auto: SoulWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed, or written into SOUL.md; what is counted has words of a fixed list."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no kill, and many writes
    auto.rules, auto.counts.wanted, passed = complaints, {}, 0
    for wish in (*souls.HOSTILE, *(one.text for one in others() if one.is_attack)):
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


@pytest.mark.parametrize(
    ("wish", "verdict", "events", "notices"),
    [
        ("", PASSED, ["applied"], ["soul_applied"]),
        ("", FAILED, ["denied"], []),
        ("", None, [], ["soul_waits"]),
        (SHORT, PASSED, [], ["soul_waits"]),
    ],
    ids=["passed", "failed", "no verdict", "a wish, which waits for an admin"],
)
async def test_the_night_puts_in_force_what_was_counted_and_what_a_model_has_passed(
    auto: SoulWorld,
    wish: str,
    verdict: SoulEvaluation | None,
    events: list[str],
    notices: list[str],
) -> None:
    auto.verdict = verdict
    if wish:
        auto.counts.wanted[CAT] = []
        await auto.ask("propose", wish=wish)
        assert told(auto) == [], "who asked for it sees it"
    for _ in range(2):
        auto.clock.forward(days=1)
        await auto.souls.night()
    assert (COUNTED in auto.souls.injected(CAT)) is (events == ["applied"])
    assert (told(auto), auto.counts.wanted[CAT]) == (notices, [])
    asked = [proposal.aim for proposal, _ in auto.evaluated]
    assert asked == [COUNTED] * (0 if wish else 1 if verdict else 2)
    assert [line.event for line in (await auto.ask("log")).lines[:-2]] == events
    vetoed = await auto.ask("veto", 1)
    assert isinstance(vetoed, SoulChanged) is (verdict is not FAILED)
    assert told(auto) == []


@pytest.mark.parametrize("action", ["veto 1", "undo 1", "adopt"])
async def test_what_an_admin_took_back_comes_by_no_night_again(
    auto: SoulWorld, action: str
) -> None:
    await auto.souls.night()
    if action == "undo 1":
        await auto.applied()  # over what was counted
    if action == "adopt":
        auto.page().write_bytes(HAND)
    name, _, number = action.partition(" ")
    assert isinstance(await auto.ask(name, int(number or 0)), SoulChanged)
    for _ in range(2):
        auto.clock.forward(days=1)
        auto.counts.wanted[CAT] = [("emoji", "less")]
        await auto.souls.night()
    assert COUNTED not in auto.souls.injected(CAT)
    assert isinstance(await auto.ask("apply"), SoulChanged), "an admin may think again"


async def test_what_was_vetoed_while_a_model_was_asked_stays_so(auto: SoulWorld) -> None:
    async def slow(*_: object) -> SoulEvaluation:
        await auto.ask("veto")
        return PASSED

    with mock.patch.object(auto.souls, "_evaluate", slow):
        await auto.souls.night()
    assert auto.souls.injected(CAT) == ""
    assert (await auto.ask("log")).lines[0].event == "vetoed"


async def test_off_changes_nothing_but_what_an_admin_takes_back(
    world: SoulWorld, tmp_path: Path
) -> None:
    await live(world, "applied propose day")
    off = SoulWorld(tmp_path, SoulEvolution.OFF)
    off.counts.wanted[CAT] = [("emoji", "less")]
    before = off.tree()
    assert [await off.ask(one) for one in ("propose", "apply", "adopt")] == [
        Refused("soul_off")
    ] * 3
    await off.souls.follow()
    await off.souls.night()
    assert (off.tree(), off.souls.injected(CAT)) == (before, "")
    assert isinstance(await off.ask("undo"), SoulChanged)
    off.state.close()


# Its bytes

AT = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)
HASH = digest(b"1")
SEEDED = SoulLine("seeded", "v0-seed", n=1, at=AT, prev=NO_LINE, version=1, sha256=HASH)
FIRST = written(SEEDED)
WISH = replace(SEEDED, event="proposed", n=2, prev=digest(FIRST), proposal=1, text="短\n")


def test_a_line_is_written_as_it_ever_was() -> None:
    """Another form needs another number, and a way to read this one."""
    assert FIRST.decode() == (
        f'{{"actor":"v0-seed","at":"2026-11-27T09:00:00+00:00","event":"seeded","format":1,"n":1,'
        f'"prev":"{NO_LINE}","sha256":"{HASH}","version":1}}'
    )
    assert read(FIRST.replace(b'"format":1', b'"format":2') + b"\n", None).broken == 1


@pytest.mark.parametrize(
    ("second", "broken"),
    [
        (written(WISH), 0),
        (written(replace(WISH, prev="0")), 2),
        (written(replace(WISH, at=AT.replace(tzinfo=None))), 2),
        (written(replace(WISH, event="rolled_back", source=7)), 2),
        (written(WISH).replace(b'"n":2', b'"more":1,"n":2'), 2),
        (written(WISH).replace(b'"n":2', b'"n": 2'), 2),
        (b"[" * 9_999, 2),
    ],
)
def test_what_cannot_follow_or_has_another_form_is_broken(second: bytes, broken: int) -> None:
    torn = second[:9]  # which was never acknowledged
    assert read(FIRST + b"\n" + second + b"\n" + torn, None).broken == broken


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoulWorld]:
    """A soul to which everything has happened that a log can tell of."""
    world = SoulWorld(tmp_path_factory.mktemp("lived"))

    async def be_lived() -> None:
        for wish in (GENTLE, "直接一点"):
            await world.applied(wish)
        await world.ask("undo")
        await world.ask("veto", 1)
        for action in ("adopt", "discard"):
            world.page().write_text(f"手写的，{action}", "utf-8")
            await world.ask(action)

    asyncio.run(be_lived())
    yield world
    world.state.close()


def verified(world: SoulWorld) -> Any:
    return asyncio.run(world.ask("verify"))


@given(data=st.data())
def test_a_changed_byte_of_any_file_and_a_line_that_is_swapped_or_gone_are_named(
    lived: SoulWorld, data: st.DataObject
) -> None:
    lines = read(lived.log().read_bytes(), None).lines
    assert {line.event for line in lines} | {"denied"} == set(get_args(soul.SoulEvent))
    path = data.draw(st.sampled_from(sorted(lived.folder().rglob("*.*"))))
    raw = path.read_bytes()
    at = data.draw(st.integers(0, len(raw) - 1))
    changed = bytes([raw[at] ^ data.draw(st.integers(1, 255))])
    ways = [raw[:at] + changed + raw[at + 1 :], raw[:at], raw[:at] + changed + raw[at:]]
    number = raw.count(b"\n", 0, at) + 1
    if path == lived.log():
        *before, one, last = raw.splitlines(keepends=True)[: number + 1]
        ways += [b"".join([*before, last, one]), b"".join([*before, last])]
    path.write_bytes(data.draw(st.sampled_from([one for one in ways if one != raw])))
    try:
        found = verified(lived)
    finally:
        path.write_bytes(raw)
    wrong = lines[found.line - 1]
    if path == lived.log():  # of two lines that do not fit, the later one is named
        assert number - 1 <= found.line <= number + 1
    else:
        assert (found.why, wrong.sha256) == (f"versions/{path.name}", digest(raw))
