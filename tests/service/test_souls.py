"""What a persona learns of its manner, in a whole engine: wishes, nights, hand edits, and off."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import NoticeCode
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import build_engine
from astrbot_plugin_scoped_memory.llm_memory.composition.export_restore import (
    export_store,
    restore_store,
)
from astrbot_plugin_scoped_memory.llm_memory.composition.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    Axis,
    Direction,
    SoulEvent,
    SoulEvolution,
    SoulOrigin,
    SoulState,
    soul_folder,
)
from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import (
    SoulAction,
    SoulChanged,
    SoulEnded,
    SoulFault,
    SoulProposed,
    SoulRefused,
    SoulRequest,
    SoulVerified,
)
from astrbot_plugin_scoped_memory.llm_memory.reflection.chat_port import Completion
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.neutrality import SCOPE
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import line_of
from astrbot_plugin_scoped_memory.llm_memory.soul.soul_files import SoulFiles
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.fakes.watcher import FakeWatcher
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    answer,
    reflect,
    say,
    with_loop,
)
from astrbot_plugin_scoped_memory.tests.support.soul_models import GOOD, ProbedChat, ProbedModel
from astrbot_plugin_scoped_memory.tests.support.soul_nights import night, soul_of
from astrbot_plugin_scoped_memory.tests.sync.test_reconcile_engine import following

pytestmark = pytest.mark.engine

ADMIN = person(9, "站长", admin=True)
CAT, DOG = "猫娘", "犬娘"
SOFT = "说话温和一点。"
BLOCK = f"\n# 学到的说话习惯\n- {SOFT}\n"
ALONE = {"words": NoWords(), "bundled": None}


def made(new: str = SOFT, read: str = "{}", **options: Any) -> ProbedChat:
    """A chat model under which ``new`` passes, but for the options."""
    return ProbedChat(ProbedModel(new, **options), read)


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
    made = await ask(rig, SoulAction.PROPOSE, wish=wish, persona=persona)
    assert isinstance(made, SoulProposed), made
    return made.proposal.number


async def applied(rig: Rig, wish: str = SOFT, persona: str = CAT) -> None:
    number = await proposed(rig, wish, persona)
    assert isinstance(await ask(rig, SoulAction.APPLY, number, persona=persona), SoulChanged)


async def refusals(rig: Rig, wish: str) -> list[str]:
    """The rules that refuse a wish."""
    refused = await ask(rig, SoulAction.PROPOSE, wish=wish)
    assert isinstance(refused, SoulRefused)
    return [finding.rule for finding in refused.findings]


async def warned(rig: Rig) -> dict[str, tuple[str, str]]:
    """The notices on souls that stand: role and number by code."""
    status = await rig.engine.status()
    return {
        one.code: (one.params["role"], one.params["number"])
        for one in status.notices
        if one.code.startswith("soul_")
    }


def injected(rig: Rig, persona: str | None = CAT) -> str:
    return rig.engine.service.souls.injected(persona)


def page(root: Path, persona: str = CAT) -> Path:
    return root / "memory" / "roles" / soul_folder(persona) / "SOUL.md"


def tree(memory: Path) -> dict[str, bytes]:
    """All files of souls."""
    return {
        path.relative_to(memory).as_posix(): path.read_bytes()
        for name in ("roles", "soul")
        for path in (memory / name).rglob("*")
        if path.is_file()
    }


async def test_off_asks_no_model_changes_no_file_and_injects_nothing(tmp_path: Path) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
        waiting = await proposed(rig, "少用表情符号。")
    kept, chat = tree(tmp_path / "memory"), made(read=answer(style=[["length", "less", "s1"]]))
    async with engine(tmp_path, SoulEvolution.OFF, chat=chat) as rig:
        assert injected(rig) == ""
        for asked in (SoulAction.PROPOSE, SoulAction.APPLY, SoulAction.ADOPT):
            assert await ask(rig, asked, waiting, "短一些") == SoulRefused(SoulFault.OFF)
        for number in range(3):
            await say(rig, "以后说短一点", who=person(number), where=group(777, persona=CAT))
        await reflect(rig, group(777, persona=CAT))
        await night(rig)
        assert chat.read_prompts
        assert all('"style"' not in system for system in chat.read_prompts)
        assert (chat.probed.asked, await warned(rig)) == ([], {})
    assert tree(tmp_path / "memory") == kept
    async with engine(tmp_path) as rig:
        assert injected(rig) == BLOCK


async def test_what_passed_waits_for_an_admin_who_is_told_once(tmp_path: Path) -> None:
    chat = made()
    async with engine(tmp_path, chat=chat) as rig:
        await night(rig)  # an empty soul costs nothing
        number = await proposed(rig)
        assert await warned(rig) == {}
        await night(rig)
        assert await warned(rig) == {"soul_waits": (CAT, str(number))}
        assert injected(rig) == ""
        service = rig.engine.service
        assert await service.claim_news(person(1)) == []
        (told,) = await service.claim_news(ADMIN)
        assert told.code is NoticeCode.SOUL_WAITS
        assert await service.claim_news(ADMIN) == []
        await service.settle_news([told], said=False)  # it could not be sent
        assert await service.claim_news(ADMIN) == [told]
        await service.settle_news([told], said=True)
    async with engine(tmp_path, chat=chat) as rig:
        assert await warned(rig) == {"soul_waits": (CAT, str(number))}
        assert await rig.engine.service.claim_news(ADMIN) == []
        await ask(rig, SoulAction.APPLY, number)
        assert (injected(rig), await warned(rig)) == (BLOCK, {})
    assert chat.probed.asked == []


async def test_the_night_applies_under_auto_what_a_model_has_passed_and_tells(
    tmp_path: Path,
) -> None:
    async def prompt(folder: str) -> str:
        return f"你是{folder}。"

    options: dict[str, Any] = {"chat": made(present=False), "clock": StandingClock()}
    chat = options["chat"]
    async with engine(tmp_path, SoulEvolution.AUTO, persona_prompt=prompt, **options) as rig:
        number = await proposed(rig)
        await night(rig)  # the model that the owner has chosen is away: it is waited for
        assert (await soul_of(rig)).state is SoulState.PROPOSED
        chat.probed.present = True
        await night(rig)
        assert (injected(rig), await warned(rig)) == (BLOCK, {"soul_applied": (CAT, str(number))})
    assert {call.what for call in chat.probed.asked} == {"probes", "aims", "judge"}
    systems = {call.system for call in chat.probed.asked if call.what == "probes"}
    assert systems == {f"你是{CAT}。", f"你是{CAT}。{BLOCK}"}
    (kept,) = (tmp_path / "memory" / "soul" / CAT / "evals").iterdir()
    verdict = kept.read_text("utf-8")
    assert '"digests"' in verdict
    answers = ("改进了的回答", "原来的回答", "煮鸡蛋", *(one["zh"] for one in GOOD.values()))
    assert not [answer for answer in answers if answer in verdict]
    async with engine(tmp_path, SoulEvolution.AUTO, **options) as rig:
        assert await warned(rig) == {"soul_applied": (CAT, str(number))}
        await ask(rig, SoulAction.VETO, number)
        assert (injected(rig), await warned(rig)) == ("", {})


@pytest.mark.parametrize("chat", [None, made(fails=frozenset({"human"}))])
async def test_auto_applies_nothing_that_no_model_has_passed(
    tmp_path: Path, chat: ProbedChat | None
) -> None:
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat) as rig:
        await proposed(rig)
        await night(rig)
        assert (injected(rig), (await soul_of(rig)).version.number) == ("", 1)


async def test_what_a_model_cannot_judge_costs_three_nights_and_then_waits_for_an_admin(
    tmp_path: Path,
) -> None:
    clock, chat = StandingClock(), made(judge=lambda _: "no JSON")
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat, clock=clock) as rig:
        number, calls = await proposed(rig), []
        for _ in range(5):
            before = len(chat.probed.asked)
            await night(rig)
            calls.append(len(chat.probed.asked) > before)
            clock.forward(days=1)
        assert calls == [True, True, True, False, False]
        found = await soul_of(rig)
        assert (found.open and found.open.number, found.state) == (number, SoulState.PROPOSED)
        outcome = await ask(rig, SoulAction.APPLY, number)
        assert outcome.fault is SoulFault.UNJUDGED, "an admin may try at any time"


async def test_what_enough_people_ask_for_is_proposed_at_night_in_words_of_our_own(
    tmp_path: Path,
) -> None:
    line = line_of(Axis.LENGTH, Direction.LESS, "zh")
    chat = made(line, read=answer(style=[["length", "less", "s1"]]))
    where = group(777, persona=CAT)
    async with engine(tmp_path, chat=chat) as rig:
        for number in range(3):
            await say(rig, "以后别啰嗦，暗号是青花瓷", who=person(number), where=where)
            await reflect(rig, where)
        await night(rig)
        found = await soul_of(rig)
        assert found.open is not None
        assert (found.open.origin, found.state) == (SoulOrigin.STYLE, SoulState.APPROVED)
        assert (injected(rig), (await soul_of(rig, "")).open) == ("", None)
        await ask(rig, SoulAction.APPLY, found.open.number)
        assert injected(rig) == f"\n# 学到的说话习惯\n- {line}\n"
        await night(rig)
        assert (await soul_of(rig)).open is None  # what was counted has been used up
    assert chat.probed.asked == []  # an admin sees first what comes into force
    assert "青花瓷" not in "".join(raw.decode() for raw in tree(tmp_path / "memory").values())


async def test_what_is_known_or_forgotten_comes_into_no_soul(tmp_path: Path) -> None:
    words, later = "周末把青花瓷送到海边的老房子去", "先说结论，再慢慢讲清楚理由和步骤"
    async with engine(tmp_path, SoulEvolution.AUTO, chat=made(later)) as rig:
        service = rig.engine.service
        memory_id = (await rig.remember(words, group(777), ADMIN)).memory.memory.memory_id
        for _ in range(2):
            assert SCOPE in await refusals(rig, words)
            assert SCOPE in await refusals(rig, "语气像青花瓷。")
            await service.forget(memory_id, conversation_id=group(777), actor=ADMIN)
        await service.forget(memory_id, conversation_id=group(777), actor=ADMIN, for_good=True)
        assert SCOPE not in await refusals(rig, words)
        await proposed(rig, later)
        await rig.remember(later, group(777))
        refused = await ask(rig, SoulAction.APPLY)  # the rules are asked again
        assert [one.rule for one in refused.verdict.findings] == [SCOPE]
        assert injected(rig) == ""


async def test_an_archive_that_cannot_be_read_refuses_a_wish_in_words(tmp_path: Path) -> None:
    async with engine(tmp_path) as rig:
        await rig.remember("周末吃饭", group(777))
        file = tmp_path / "memory" / "scopes" / "家人" / "archive" / "patterns.md"
        file.parent.mkdir(parents=True)
        file.write_bytes("暗号".encode("gbk"))
        refused = await ask(rig, SoulAction.PROPOSE, wish=SOFT)
        (finding,) = refused.findings
        assert "有文件打不开" in finding.said.text("zh")
        file.unlink()
        await proposed(rig)


@pytest.mark.parametrize("persona", [CAT, ""])
async def test_a_hand_edit_is_kept_and_told_while_the_bot_runs(
    tmp_path: Path, persona: str
) -> None:
    watcher = FakeWatcher()
    async with engine(tmp_path, watcher=watcher) as rig, following(rig):
        await applied(rig, persona=persona)
        shown, path = injected(rig, persona), page(tmp_path, persona)
        in_force = path.read_bytes()
        proposals = tmp_path / "memory/soul" / soul_folder(persona) / "proposals"

        async def follows(*codes: str) -> None:
            watcher.change()
            async with asyncio.timeout(30):
                while list(await warned(rig)) != list(codes):  # noqa: ASYNC110  (no event)
                    await asyncio.sleep(0.01)

        await watcher.started.wait()
        path.write_text("# 我写的\n", "utf-8")
        await follows("soul_edited")
        assert "# 我写的" in (proposals / "0002.md").read_text("utf-8")
        assert (path.read_text("utf-8"), injected(rig, persona)) == ("# 我写的\n", shown)
        path.unlink()
        await follows()  # it is put back before that is told
        assert path.read_bytes() == in_force
        log = await ask(rig, SoulAction.LOG, persona=persona)
        assert log.lines[0].event is SoulEvent.RESTORED


async def test_a_broken_chain_is_told_with_its_line_and_what_is_in_force_stays(
    tmp_path: Path,
) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
    chain = tmp_path / "memory/soul/猫娘/chain.jsonl"
    chain.write_bytes(chain.read_bytes().replace(b'"approved"', b'"denied"'))
    async with engine(tmp_path) as rig:
        assert (injected(rig), await warned(rig)) == (BLOCK, {"soul_broken": (CAT, "3")})
        assert (await ask(rig, SoulAction.ROLLBACK)).fault is SoulFault.BROKEN
        chain.unlink()
        page(tmp_path).write_text("# 我\n\n- 只听站长的\n", "utf-8")  # and no note without a chain
        (page(tmp_path).parent / "别的.md").write_text("# 别的\n\n去过海边\n", "utf-8")
        await rig.engine.parts.note_book.refresh()
        assert [note.path for note in rig.engine.parts.note_book.all()] == ["别的.md"]
        assert injected(rig) == BLOCK


async def test_a_soul_that_cannot_be_looked_at_costs_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine(tmp_path) as rig:
        await applied(rig)
    monkeypatch.setattr(SoulFiles, "read", lambda *_: 1 / 0)
    async with engine(tmp_path) as rig:
        assert injected(rig) == ""
        await rig.remember("奶奶对花生过敏", group(777))


async def test_an_older_backup_beside_a_newer_state_is_no_chain_with_a_cut_end(
    tmp_path: Path,
) -> None:
    store, file, clock = tmp_path / "store", tmp_path / "backup.jsonl", StandingClock()
    paths = EnginePaths.under(store)
    async with engine(store, clock=clock) as rig:
        await applied(rig)
        export_store(paths, file, now=clock())
        clock.forward(days=1)
        await applied(rig, "少用表情符号。")
    for name in ("roles", "soul"):
        shutil.rmtree(store / "memory" / name)
    assert restore_store(paths, file, dry=True) == restore_store(paths, file)
    async with engine(store, clock=clock) as rig:
        assert (injected(rig), await warned(rig)) == (BLOCK, {})
        assert await ask(rig, SoulAction.VERIFY) == SoulVerified(0, "", 4)
        await applied(rig, "少开玩笑。")


def by_export(old: EnginePaths, new: EnginePaths) -> None:
    export_store(old, old.data / "all.jsonl", now=StandingClock()())
    restore_store(new, old.data / "all.jsonl")


WAYS: dict[str, Callable[[EnginePaths, EnginePaths], object]] = {
    "backup": lambda old, new: restore_store(new, next(old.daily_backups.iterdir())),
    "export": by_export,
    "memory": lambda old, new: old.memory.rename(new.memory),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
async def test_a_soul_travels_byte_for_byte_and_its_chain_is_right_at_the_new_place(
    tmp_path: Path, way: Callable[[EnginePaths, EnginePaths], object]
) -> None:
    old, clock = EnginePaths.under(tmp_path / "old"), StandingClock()
    async with engine(old.data, clock=clock) as rig:
        await applied(rig)
        (old.memory / "soul/猫娘/probes.md").write_bytes(b"- 1 + 1 = ?\r\n")
        (old.memory / "roles/猫娘/日记.md").write_bytes("# 日记\r\n没有换行".encode())
        await proposed(rig, "少用表情符号。")
        page(old.data).write_text("手写的", "utf-8")
        assert isinstance(await ask(rig, SoulAction.ADOPT), SoulRefused)
        assert isinstance(await ask(rig, SoulAction.DISCARD), SoulEnded)
        await applied(rig, "回答短一些。", DOG)
        await ask(rig, SoulAction.ROLLBACK, persona=DOG)
        for _ in range(2):  # a night's backup comes first in it
            await night(rig)
    before = tree(old.memory)
    kinds = {path.split("/")[2] for path in before if path.startswith("soul/猫娘/")}
    assert kinds == {"versions", "proposals", "evals", "discarded", "chain.jsonl", "probes.md"}
    new = EnginePaths.under(tmp_path / "new", tmp_path / "elsewhere")
    way(old, new)
    assert tree(new.memory) == before
    # What the command line opens has no state of its own, and changes nothing of a soul.
    for remembers in (False, True):
        other = build_engine(new, QUICK, clock=clock, remembers=remembers, replacing=ALONE)
        try:
            await other.open()
            souls = other.service.souls
            assert (souls.injected(CAT), souls.injected(DOG)) == (BLOCK, "")
            assert tree(new.memory) == before
            for persona in (CAT, DOG) if remembers else ():
                found = await souls.ask(SoulRequest(SoulAction.VERIFY), persona, ADMIN)
                assert isinstance(found, SoulVerified)
                assert (found.line, found.why) == (0, "")
        finally:
            await other.close()


class Silent(ProbedChat):
    """Never answers what is asked for an evaluation."""

    def __init__(self) -> None:
        super().__init__(ProbedModel(SOFT))
        self.asked = asyncio.Event()
        self.calls = 0

    async def complete(self, prompt: str, *, system: str, conversation: str) -> Completion:
        self.calls += 1
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")


@pytest.mark.parametrize("by_night", [False, True])
async def test_a_close_waits_for_no_model_that_evaluates(tmp_path: Path, by_night: bool) -> None:
    chat = Silent()
    async with engine(tmp_path, SoulEvolution.AUTO, chat=chat) as rig:
        number = await proposed(rig)
        work = night(rig) if by_night else ask(rig, SoulAction.APPLY, number)
        task = asyncio.ensure_future(work)
        await chat.asked.wait()
    (done,) = await asyncio.gather(task, return_exceptions=True)
    assert by_night or done == SoulRefused(SoulFault.UNJUDGED)
    assert chat.calls == 1
    async with engine(tmp_path) as rig:
        assert (await soul_of(rig)).state is SoulState.PROPOSED
        assert injected(rig) == ""
