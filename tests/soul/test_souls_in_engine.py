"""What a persona learns of its manner, in a whole engine."""

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
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    MannerWish,
    SoulAction,
    SoulChanged,
    SoulEvolution,
    SoulRequest,
    SoulVerified,
    soul_folder,
)
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import line_of
from astrbot_plugin_scoped_memory.llm_memory.soul.store import SoulStore
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock, with_loop
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedChat, ProbedModel
from astrbot_plugin_scoped_memory.tests.support.soul_nights import night, soul_of
from astrbot_plugin_scoped_memory.tests.support.souls import ADMIN, CAT, GENTLE
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile_engine import following

pytestmark = pytest.mark.engine

COUNTED = line_of("emoji", "less", "zh")
LEARNED = "\n# 学到的说话习惯\n- {}\n"


def engine(
    root: Path, evolution: SoulEvolution = SoulEvolution.REVIEW, **options: Any
) -> AbstractAsyncContextManager[Rig]:
    settings = replace(with_loop(QUICK, counts_manner=True), soul_evolution=evolution)
    return running(root, settings=settings, follow=False, **options)


async def ask(rig: Rig, action: SoulAction, wish: str = "", persona: str = CAT) -> Any:
    return await rig.engine.service.souls.ask(SoulRequest(action, wish=wish), persona, ADMIN)


async def applied(rig: Rig, wish: str = GENTLE, persona: str = CAT) -> None:
    await ask(rig, "propose", wish, persona)
    assert isinstance(await ask(rig, "apply", persona=persona), SoulChanged)


def count(rig: Rig) -> None:
    """Three people want fewer emoji."""
    style = rig.engine.parts.style
    assert style is not None
    wishes = [MannerWish("emoji", "less", f"qq:{number}") for number in range(3)]
    style.count("家人", CAT, rig.engine.parts.clock(), wishes)


def told(rig: Rig) -> list[str]:
    return [one.code for one in rig.engine.notices if one.code.startswith("soul_")]


def injected(rig: Rig, persona: str = CAT) -> str:
    return rig.engine.service.souls.injected(persona)


async def test_an_admin_is_told_once_of_what_waits(tmp_path: Path) -> None:
    async with engine(tmp_path) as rig:
        count(rig)
        await night(rig)
        service = rig.engine.service
        assert await service.claim_news(person(1)) == []
        (news,) = await service.claim_news(ADMIN)
        assert (news.code, news.params["number"]) == ("soul_waits", "1")
        await service.settle_news([news], said=False)  # it could not be sent
        assert await service.claim_news(ADMIN) == [news]
        await service.settle_news([news], said=True)
    async with engine(tmp_path) as rig:
        assert told(rig) == ["soul_waits"]
        assert await rig.engine.service.claim_news(ADMIN) == []


async def test_a_model_is_asked_under_the_persona_that_would_learn(tmp_path: Path) -> None:
    async def prompt(folder: str) -> str:
        return f"你是{folder}。"

    chat, block = ProbedChat(ProbedModel(COUNTED)), LEARNED.format(COUNTED)
    chat.present = False
    options: Any = {"chat": chat, "clock": StandingClock(), "persona_prompt": prompt}
    async with engine(tmp_path, SoulEvolution.AUTO, **options) as rig:
        count(rig)
        await night(rig)  # the model that the owner has chosen is away: it is waited for
        assert (injected(rig), told(rig)) == ("", ["soul_waits"])
        chat.present = True
        await night(rig)
        assert (injected(rig), told(rig)) == (block, ["soul_applied"])
    systems = {call.system for call in chat.probed.asked if call.what == "probes"}
    assert systems == {f"你是{CAT}。", f"你是{CAT}。{block}"}


async def test_what_is_known_or_forgotten_comes_into_no_soul(tmp_path: Path) -> None:
    words, later = "周末把青花瓷送到海边的老房子去", "先说结论，再慢慢讲清楚理由和步骤"

    async def rules(action: SoulAction, wish: str = "") -> list[str]:
        found = getattr(await ask(rig, action, wish), "findings", ())
        return [one.said.code.partition(".")[2] for one in found]

    async with engine(tmp_path) as rig:
        memory_id = (await rig.remember(words, group(777), ADMIN)).memory.memory.memory_id
        for for_good in (False, True):
            assert await rules("propose", words) == ["repeats"]
            await rig.forget(memory_id, group(777), ADMIN, for_good=for_good)
        for wish in (words, later):
            assert await rules("propose", wish) == []
            await rig.remember(wish, group(777))
            assert await rules("apply") == ["repeats"], "heard since it was proposed"
            await ask(rig, "veto")
        assert injected(rig) == ""


async def test_a_hand_edit_is_told_while_the_bot_runs(tmp_path: Path) -> None:
    watcher = FakeWatcher()
    async with engine(tmp_path, watcher=watcher) as rig, following(rig):
        await applied(rig, persona="")
        path = tmp_path / "memory" / "roles" / soul_folder("") / "SOUL.md"
        in_force = path.read_bytes()
        await watcher.started.wait()
        path.write_text("# 我写的\n", "utf-8")
        watcher.change()
        await until_true(lambda: told(rig) == ["soul_edited"])
        assert (path.read_text("utf-8"), injected(rig, "")) == (
            "# 我写的\n",
            LEARNED.format(GENTLE),
        )
        path.unlink()
        watcher.change()
        await until_true(lambda: told(rig) == [])  # it is put back before that is told
        assert path.read_bytes() == in_force


async def test_what_is_wrong_with_a_soul_is_told_and_costs_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
    log = tmp_path / "memory/soul/猫娘/chain.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"applied"', b'"adopted"'))
    async with engine(tmp_path) as rig:
        assert (injected(rig), told(rig)) == (LEARNED.format(GENTLE), ["soul_broken"])
    monkeypatch.setattr(SoulStore, "read", lambda *_: 1 / 0)
    async with engine(tmp_path) as rig:
        assert injected(rig) == ""
        await rig.remember("奶奶对花生过敏", group(777))


async def test_a_restored_soul_is_no_log_with_a_cut_end(tmp_path: Path) -> None:
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
        assert (injected(rig), told(rig)) == (LEARNED.format(GENTLE), [])
        assert await ask(rig, "verify") == SoulVerified(0, "", 3)


async def test_a_close_waits_for_no_model_that_evaluates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, asked = ProbedChat(ProbedModel(COUNTED)), asyncio.Event()

    async def never(*_: object, **__: object) -> object:
        asked.set()
        return await asyncio.Future[object]()

    monkeypatch.setattr(chat, "complete", never)
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat) as rig:
        count(rig)
        task = asyncio.ensure_future(night(rig))
        await asked.wait()
    await asyncio.gather(task, return_exceptions=True)
    async with engine(tmp_path) as rig:
        assert ((await soul_of(rig)).open is not None, injected(rig)) == (True, "")
