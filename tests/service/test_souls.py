"""What a persona learns of its manner, in a whole engine: wishes, nights, hand edits, and off."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    MannerWish,
    SoulAction,
    SoulChanged,
    SoulEvolution,
    SoulProposed,
    SoulRequest,
    SoulState,
    SoulVerified,
    soul_folder,
)
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import line_of
from astrbot_plugin_scoped_memory.llm_memory.soul.soul_files import SoulFiles
from astrbot_plugin_scoped_memory.llm_memory.soul.style_counts import SqliteStyleCounts
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import SqliteLoopFile
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.foreign import bytes_in
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, with_loop
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedChat, ProbedModel
from astrbot_plugin_scoped_memory.tests.support.soul_nights import night, soul_of
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile_engine import following

pytestmark = pytest.mark.engine

SOFT = "说话温和一点。"
BLOCK = f"\n# 学到的说话习惯\n- {SOFT}\n"


def made(new: str = SOFT, **options: Any) -> ProbedChat:
    """A chat model under which ``new`` passes, but for the options."""
    return ProbedChat(ProbedModel(new, **options))


def engine(
    root: Path, evolution: SoulEvolution = SoulEvolution.REVIEW, **options: Any
) -> AbstractAsyncContextManager[Rig]:
    counts = evolution is not SoulEvolution.OFF
    settings = replace(with_loop(QUICK, counts_manner=counts), soul_evolution=evolution)
    return running(root, settings=settings, follow=False, **options)


async def ask(
    rig: Rig, action: SoulAction, number: int = 0, wish: str = "", persona: str = CAT
) -> Any:
    request = SoulRequest(action, number, wish)
    return await rig.engine.service.souls.ask(request, persona, ADMIN)


async def proposed(rig: Rig, wish: str = SOFT, persona: str = CAT) -> int:
    made = await ask(rig, "propose", wish=wish, persona=persona)
    assert isinstance(made, SoulProposed), made
    return made.proposal.number


async def applied(rig: Rig, wish: str = SOFT, persona: str = CAT) -> None:
    number = await proposed(rig, wish, persona)
    assert isinstance(await ask(rig, "apply", number, persona=persona), SoulChanged)


async def warned(rig: Rig) -> dict[str, tuple[str, str]]:
    """The notices on souls that stand: role and number by code."""
    standing = (await rig.engine.status()).notices
    souls = [one for one in standing if one.code.startswith("soul_")]
    return {one.code: (one.params["role"], one.params["number"]) for one in souls}


def injected(rig: Rig, persona: str | None = CAT) -> str:
    return rig.engine.service.souls.injected(persona)


async def test_off_asks_no_model_changes_no_file_and_injects_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
        waiting = await proposed(rig, "少用表情符号。")
    kept = bytes_in(tmp_path / "memory")
    async with engine(tmp_path, SoulEvolution.OFF, chat=(chat := made())) as rig:
        assert injected(rig) == ""
        for asked in ("propose", "apply", "adopt"):
            assert await ask(rig, asked, waiting, "短一些") == Refused("soul_off")
        await night(rig)
        assert (chat.probed.asked, await warned(rig)) == ([], {})
    assert bytes_in(tmp_path / "memory") == kept


async def test_what_passed_waits_for_an_admin_who_is_told_once(tmp_path: Path) -> None:
    chat = made()
    async with engine(tmp_path, chat=chat) as rig:
        await night(rig)  # an empty soul costs nothing
        number = await proposed(rig)
        assert await warned(rig) == {}
        await night(rig)
        assert injected(rig) == ""
        service = rig.engine.service
        assert await service.claim_news(person(1)) == []
        (told,) = await service.claim_news(ADMIN)
        assert told.code == "soul_waits"
        await service.settle_news([told], said=False)  # it could not be sent
        assert await service.claim_news(ADMIN) == [told]
        await service.settle_news([told], said=True)
    async with engine(tmp_path, chat=chat) as rig:
        assert await warned(rig) == {"soul_waits": (CAT, str(number))}
        assert await rig.engine.service.claim_news(ADMIN) == []
        await ask(rig, "apply", number)
        assert (injected(rig), await warned(rig)) == (BLOCK, {})
    assert chat.probed.asked == []


async def test_the_night_applies_under_auto_what_a_model_has_passed_and_tells(
    tmp_path: Path,
) -> None:
    async def prompt(folder: str) -> str:
        return f"你是{folder}。"

    line = line_of("emoji", "less", "zh")
    block = BLOCK.replace(SOFT, line)
    chat, clock = made(line, present=False), StandingClock()
    options: dict[str, Any] = {"chat": chat, "clock": clock}
    async with engine(tmp_path, SoulEvolution.AUTO, persona_prompt=prompt, **options) as rig:
        file = SqliteLoopFile(tmp_path / "state" / "loop.sqlite")
        file.open()
        wishes = [MannerWish("emoji", "less", person) for person in "abc"]
        SqliteStyleCounts(file, str).count("家人", CAT, clock(), wishes)
        file.close()
        await night(rig)  # the model that the owner has chosen is away: it is waited for
        assert (await soul_of(rig)).state == "proposed"
        chat.probed.present = True
        await night(rig)
        assert (injected(rig), await warned(rig)) == (block, {"soul_applied": (CAT, "1")})
    systems = {call.system for call in chat.probed.asked if call.what == "probes"}
    assert systems == {f"你是{CAT}。", f"你是{CAT}。{block}"}


@pytest.mark.parametrize(
    ("chat", "state"),
    [
        (None, "approved"),
        (made(fails=frozenset({"human"})), None),
        (made(failing="probes"), "proposed"),
    ],
    ids=["no model", "denied", "not judged"],
)
async def test_what_no_model_has_passed_is_never_applied_by_a_night(
    tmp_path: Path, chat: ProbedChat | None, state: SoulState | None
) -> None:
    clock = StandingClock()
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat, clock=clock) as rig:
        number = await proposed(rig)
        for _ in range(2):
            await night(rig)
            clock.forward(days=1)
        assert ((await soul_of(rig)).state, injected(rig)) == (state, "")
        if state == "proposed":
            assert (await ask(rig, "apply", number)).reason == "unjudged"


async def test_what_is_known_or_forgotten_comes_into_no_soul(tmp_path: Path) -> None:
    words, later = "周末把青花瓷送到海边的老房子去", "先说结论，再慢慢讲清楚理由和步骤"

    async def refused(wish: str) -> bool:
        found = await ask(rig, "propose", wish=wish)
        if isinstance(found, SoulProposed):
            await ask(rig, "veto")
            return False
        return "scope" in {finding.rule for finding in found.findings}

    async with engine(tmp_path, SoulEvolution.AUTO, chat=made(later)) as rig:
        memory_id = (await rig.remember(words, group(777), ADMIN)).memory.memory.memory_id
        for for_good in (False, True):
            assert await refused(words)
            await rig.forget(memory_id, group(777), ADMIN, for_good=for_good)
            assert await refused(words) is not for_good
        await proposed(rig, later)
        await rig.remember(later, group(777))
        asked_again = await ask(rig, "apply")
        assert [one.rule for one in asked_again.verdict.findings] == ["scope"]
        assert injected(rig) == ""


async def test_an_archive_that_cannot_be_read_refuses_a_wish_in_words(tmp_path: Path) -> None:
    file = tmp_path / "memory" / "scopes" / "家人" / "archive" / "patterns.md"
    file.parent.mkdir(parents=True)
    file.write_bytes("暗号".encode("gbk"))
    async with engine(tmp_path) as rig:
        (finding,) = (await ask(rig, "propose", wish=SOFT)).findings
        assert "有文件打不开" in finding.said.text("zh")


async def test_a_hand_edit_is_kept_and_told_while_the_bot_runs(tmp_path: Path) -> None:
    watcher = FakeWatcher()
    async with engine(tmp_path, watcher=watcher) as rig, following(rig):
        await applied(rig, persona="")
        shown = injected(rig, "")
        path = tmp_path / "memory" / "roles" / soul_folder("") / "SOUL.md"
        in_force = path.read_bytes()

        def told() -> list[str]:
            return [one.code for one in rig.engine.notices if one.code.startswith("soul_")]

        await watcher.started.wait()
        path.write_text("# 我写的\n", "utf-8")
        watcher.change()
        await until_true(lambda: told() == ["soul_edited"])
        kept = tmp_path / "memory/soul" / soul_folder("") / "proposals/0002.md"
        assert "# 我写的" in kept.read_text("utf-8")
        assert (path.read_text("utf-8"), injected(rig, "")) == ("# 我写的\n", shown)
        path.unlink()
        watcher.change()
        await until_true(lambda: told() == [])  # it is put back before that is told
        assert path.read_bytes() == in_force


async def test_what_is_wrong_with_a_soul_is_told_and_costs_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
    chain = tmp_path / "memory/soul/猫娘/chain.jsonl"
    chain.write_bytes(chain.read_bytes().replace(b'"approved"', b'"denied"'))
    async with engine(tmp_path) as rig:
        assert (injected(rig), await warned(rig)) == (BLOCK, {"soul_broken": (CAT, "3")})
    monkeypatch.setattr(SoulFiles, "read", lambda *_: 1 / 0)
    async with engine(tmp_path) as rig:
        assert injected(rig) == ""
        await rig.remember("奶奶对花生过敏", group(777))


async def test_a_restored_soul_is_no_chain_with_a_cut_end(tmp_path: Path) -> None:
    """Beside a state that knows more of it."""
    file, clock, paths = tmp_path / "backup.jsonl", StandingClock(), EnginePaths.under(tmp_path)
    async with engine(tmp_path, clock=clock) as rig:
        await applied(rig)
        export_store(paths, file, now=clock())
        clock.forward(days=1)
        await applied(rig, "少用表情符号。")
    for name in ("roles", "soul"):
        shutil.rmtree(tmp_path / "memory" / name)
    restore_store(paths, file)
    async with engine(tmp_path, clock=clock) as rig:
        assert (injected(rig), await warned(rig)) == (BLOCK, {})
        assert await ask(rig, "verify") == SoulVerified(0, "", 4)


@pytest.mark.parametrize("by_night", [False, True])
async def test_a_close_waits_for_no_model_that_evaluates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_night: bool
) -> None:
    chat, asked = made(), asyncio.Event()

    async def never(*_: object, **__: object) -> object:
        asked.set()
        return await asyncio.Future[object]()

    monkeypatch.setattr(chat, "complete", never)
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat) as rig:
        number = await proposed(rig)
        work = night(rig) if by_night else ask(rig, "apply", number)
        task = asyncio.ensure_future(work)
        await asked.wait()
    (done,) = await asyncio.gather(task, return_exceptions=True)
    assert by_night or done == Refused("unjudged")
    async with engine(tmp_path) as rig:
        assert ((await soul_of(rig)).state, injected(rig)) == ("proposed", "")
