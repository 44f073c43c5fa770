"""What a person has purged is in no file that the bot keeps, by the next night at the latest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Actor, DeedKind, is_changed
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import (
    WorkerStore,
    worker_command,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import is_absent
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.native import NATIVE
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    FAMILY,
    Bot,
    StandingClock,
    answer,
    learned,
    reading,
    reflect,
    say,
    texts_of,
)
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = pytest.mark.engine

ROOT = Path(__file__).resolve().parents[2]
SECRET = "奶奶把存折藏在米缸底下"
TERM = "米缸"
"""As an index has it, which keeps no sentence."""
HARMLESS = "周六去爬山"
ADMIN, SPEAKER = person(9, "管理员", admin=True), person(1)
EVENING = datetime(2026, 11, 20, 20, 0, tzinfo=UTC)


def told(call: Call) -> str:
    """What a model answers that repeats what it reads."""
    return answer(learned(SECRET, who="s1")) if SECRET in call.prompt else "{}"


async def night(rig: Rig, clock: StandingClock, *, words: bool = True) -> int:
    """A whole run; how many were purged."""
    clock.forward(days=1)
    if words:
        await rig.until_words()
    report = await rig.night("nightly", patient=False)
    assert not report.errors
    assert report.backup, report
    return report.purged


async def lived(rig: Rig, clock: StandingClock) -> str:
    """Days in which the words come into every place where they may lie: the memory's id."""
    outcome = await rig.remember(SECRET, FAMILY, SPEAKER)
    await rig.remember(HARMLESS, FAMILY, SPEAKER)
    await rig.remember("小红在学游泳", FAMILY, SPEAKER)  # a day with a journal
    await say(rig, f"{SECRET}，{HARMLESS}", who=SPEAKER, reply=f"好的，{SECRET}，记住了")
    assert (await reflect(rig)).read == 1
    await night(rig, clock)
    await rig.remember("小明喜欢喝茶", FAMILY, SPEAKER)  # another text of the pages
    await night(rig, clock)
    await say(rig, f"再说一遍，{SECRET}，{HARMLESS}", who=SPEAKER)
    return outcome.memory.memory.memory_id


async def purge(rig: Rig, memory_id: str, who: Actor = ADMIN) -> object:
    return await rig.forget(memory_id, FAMILY, who, for_good=True)


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Bot]:
    """In the evening, with a reader that repeats what it reads."""
    async with reading(tmp_path, StandingClock(EVENING)) as opened:
        opened.chat.otherwise = told
        yield opened


async def test_its_words_are_in_no_file_after_the_next_night(tmp_path: Path) -> None:
    clock = StandingClock(EVENING)
    chat = ScriptedChat(otherwise=told)
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        memory_id = await lived(rig, clock)
        there = files_holding(tmp_path, SECRET)
        assert {name.partition("/")[0] for name in there} == {"memory", "state", "backups"}
        assert files_holding(tmp_path / "index", TERM) > set()
        clock.forward(minutes=1)
        purged = await purge(rig, memory_id)
        assert is_changed(purged, DeedKind.PURGED)
        assert not purged.unfinished
        await night(rig, clock)
        assert files_holding(tmp_path, SECRET) == set()
        assert files_holding(tmp_path / "index", TERM) == set()
        assert files_holding(tmp_path, HARMLESS) > set()
        await reflect(rig)
        assert SECRET not in texts_of(rig)["家人"]
    assert files_holding(tmp_path, SECRET) == set()
    async with running(tmp_path, chat=chat, clock=clock) as rig:
        await say(rig, f"那就再记一次，{SECRET}", who=SPEAKER)
        await reflect(rig)
        assert SECRET in texts_of(rig)["家人"]


async def test_an_index_that_is_off_keeps_no_words_from_being_purged(tmp_path: Path) -> None:
    clock, chat = StandingClock(EVENING), ScriptedChat(otherwise="{}")
    async with running(tmp_path, words=NoWords(), chat=chat, clock=clock) as rig:
        stored = await rig.remember(SECRET, FAMILY, SPEAKER)
        await purge(rig, stored.memory.memory.memory_id)
        assert rig.engine.parts.lexical.pending
        await night(rig, clock, words=False)
        assert files_holding(tmp_path, SECRET) == set()


async def test_an_edit_in_a_file_purges_nothing_until_its_entry_is_purged(bot: Bot) -> None:
    stored = (await bot.remember(SECRET, FAMILY, SPEAKER)).memory
    await night(bot, bot.clock)
    path = bot.root / "memory/scopes/家人" / stored.path
    path.write_text(path.read_text("utf-8").replace(SECRET, HARMLESS), "utf-8")
    await bot.engine.reconcile()
    await night(bot, bot.clock)
    assert any(name.startswith("backups/") for name in files_holding(bot.root, SECRET))
    await purge(bot, stored.memory.memory_id)
    await night(bot, bot.clock)
    assert files_holding(bot.root, SECRET) == set()


async def test_nothing_is_purged_while_the_folder_of_its_scope_is_gone(tmp_path: Path) -> None:
    clock, memory = StandingClock(EVENING), tmp_path / "memory"
    async with running(tmp_path, chat=ScriptedChat(otherwise="{}"), clock=clock) as rig:
        stored = (await rig.remember(SECRET, FAMILY, SPEAKER)).memory
        await night(rig, clock)
        forgotten = await rig.forget(stored.memory.memory_id, FAMILY, ADMIN)
        assert is_changed(forgotten, DeedKind.FORGOTTEN)
    memory.rename(tmp_path / "elsewhere")
    memory.mkdir()
    async with running(tmp_path, chat=ScriptedChat(otherwise="{}"), clock=clock) as rig:
        await night(rig, clock)
    assert any(name.startswith("backups/") for name in files_holding(tmp_path, SECRET))


async def test_what_a_person_deletes_from_the_archive_by_hand_is_purged(bot: Bot) -> None:
    memory_id = await lived(bot, bot.clock)
    bot.clock.forward(minutes=1)
    await bot.forget(memory_id, FAMILY, ADMIN)
    await night(bot, bot.clock)
    assert files_holding(bot.root, SECRET) != set()  # it can be undone
    for path in (bot.root / "memory/scopes/家人/archive").rglob("*.md"):
        path.unlink()
    await night(bot, bot.clock)
    assert files_holding(bot.root, SECRET) == set()


async def test_an_archive_that_cannot_be_read_purges_nothing(bot: Bot) -> None:
    memory_id = await lived(bot, bot.clock)
    bot.clock.forward(minutes=1)
    await bot.forget(memory_id, FAMILY, ADMIN)
    path = bot.root / "memory/scopes/家人/archive/entities.md"
    assert SECRET in path.read_text("utf-8")
    whole = path.read_bytes()
    path.write_bytes(b"\xff\xfe" + whole)
    await night(bot, bot.clock)
    path.write_bytes(whole)
    await night(bot, bot.clock)
    restored = await bot.restore(memory_id, FAMILY, ADMIN)
    assert not is_absent(restored)


async def test_what_was_purged_is_known_by_a_keyed_hash_and_comes_back_from_no_import(
    tmp_path: Path,
) -> None:
    clock = StandingClock(EVENING)
    async with running(tmp_path, chat=ScriptedChat(otherwise=told), clock=clock) as rig:
        stored = await rig.remember(SECRET, FAMILY, SPEAKER)
        exported = await rig.engine.service.export(conversation_id=FAMILY, actor=ADMIN)
        (tmp_path / "imports").mkdir()
        file = tmp_path / "exports" / exported.name  # type: ignore[union-attr]
        lines = file.read_bytes()
        file.unlink()
        clock.forward(minutes=1)
        await purge(rig, stored.memory.memory.memory_id)
        await night(rig, clock)
        assert files_holding(tmp_path, SECRET) == set()
        (tmp_path / "imports" / "all.jsonl").write_bytes(lines)
    async with running(tmp_path, clock=clock) as rig:
        await rig.engine.service.import_("all.jsonl", conversation_id=FAMILY, actor=ADMIN)
        assert texts_of(rig) == {}
        anew = await rig.engine.service.import_(
            "all.jsonl", conversation_id=FAMILY, actor=ADMIN, anyway=True
        )
        assert anew.stored == 1  # type: ignore[union-attr]


async def test_where_forgotten_words_lie_until_they_are_purged(tmp_path: Path) -> None:
    """The rows of the table in docs/privacy.md, and no other places."""
    async with reading(tmp_path, StandingClock(EVENING)) as bot:
        bot.chat.otherwise = told
        memory_id = await lived(bot, bot.clock)
        bot.clock.forward(minutes=1)
        await bot.forget(memory_id, FAMILY, ADMIN)
        assert "state/loop.sqlite-wal" in files_holding(tmp_path, SECRET)
        await reflect(bot)
        await night(bot, bot.clock)
        await night(bot, bot.clock)
    table = (ROOT / "docs" / "privacy.md").read_text("utf-8").partition("## 忘记了的话还在哪里")[2]
    places = {
        "memory/scopes/家人/archive/entities.md": "`archive/`",
        "state/state.sqlite": "`state/state.sqlite`",
        "state/vault.sqlite": "`state/vault.sqlite`",
        **{f"backups/daily/2026-11-2{day}.jsonl": "`backups/daily/`" for day in range(1, 5)},
    }
    assert files_holding(tmp_path, SECRET) == places.keys()
    for named in places.values():
        assert f"| {named}" in table


async def test_an_index_of_vectors_that_has_the_id_is_built_anew_without_it(tmp_path: Path) -> None:
    clock, chroma = StandingClock(EVENING), tmp_path / "index" / "chroma"
    store = WorkerStore(worker_command(chroma, NATIVE))
    async with running(
        tmp_path, store=store, chat=ScriptedChat(otherwise="{}"), clock=clock
    ) as rig:
        memory_id = await rig.stored_id(SECRET, FAMILY, SPEAKER)
        await rig.remember(HARMLESS, FAMILY, SPEAKER)
        await rig.until_indexed()
        assert files_holding(chroma, memory_id)
        await purge(rig, memory_id)
        await rig.until_indexed()
        assert files_holding(chroma, memory_id)  # Chroma keeps what it has deleted
        await night(rig, clock)
        assert rig.engine.sleep.report.purged == 1
        await rig.until_indexed()
        assert files_holding(tmp_path, memory_id, SECRET) == set()
        assert await rig.texts("爬山", FAMILY) == [HARMLESS]
