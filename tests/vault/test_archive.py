"""What lies in ``archive/``: which of several copies is the last, and whose it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.vault import archive as vault_archive
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.tests.support.bots import Bot, living
from astrbot_plugin_scoped_memory.tests.sync.test_editors import SAID, Desk
from astrbot_plugin_scoped_memory.tests.vault.test_vault import (
    ADMIN,
    FAMILY,
    NOW,
    Tree,
    memory,
)

pytestmark = pytest.mark.engine

ID = memory(1).memory_id
OTHERS = ["entities.sync-conflict-20261122-101010-ABCDEFG.md", "entities (conflicted copy).md",
          "entities (小明's conflicted copy 2026-11-22).md", "entities.conflict.md",
          ".entities.md", ".stversions/entities.md"]  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A vault with one entry."""
    made = Tree(tmp_path / "memory")
    made.add(memory(1))
    return made


def forgotten(text: str, moment: str) -> str:
    """An entry of the archive."""
    return render(replace(memory(1, text), extra=(f"忘记：{moment}", "忘记者：甲")))


def edit(tree: Tree, text: str, at: datetime) -> None:
    """By command."""
    (stored,) = tree.vault.read(FAMILY).memories
    tree.vault.edit(stored, replace(stored.memory, judgment=text), by=ADMIN, at=at)


def undo(tree: Tree) -> str | None:
    """The last edit: what it says then."""
    (stored,) = tree.vault.read(FAMILY).memories
    back = tree.vault.unedit(stored)
    return back and back.memory.judgment


def test_many_go_to_the_archive_at_once_and_what_a_person_changed_stays(tree: Tree) -> None:
    for number in range(2, 7):
        path = tree.add(memory(number, f"第{number}条"))
    known = list(tree.vault.read(FAMILY).memories)
    path.write_text(path.read_text("utf-8").replace("第3条", "第3条，改过"), "utf-8")
    gone = tree.vault.archive_many(known[1:5], by=ADMIN, at=NOW)
    assert [one.memory.judgment for one in gone] == ["第2条", "第4条", "第5条"]
    assert tree.texts() == sorted([known[0].memory.judgment, "第3条，改过", "第6条"])
    ids = {one.memory.memory_id for one in known}
    assert tree.vault.forgotten(FAMILY, ids) == {one.memory.memory_id for one in gone}
    assert tree.vault.forgotten(FAMILY, ids, by=ADMIN) == tree.vault.forgotten(FAMILY, ids)
    assert tree.vault.forgotten(FAMILY, ids, by=replace(ADMIN, name="别人")) == set()
    assert tree.vault.restore(FAMILY, [gone[1].memory.memory_id])
    assert "第4条" in tree.texts()


class TestOrder:
    """The copy that was written last is the last, whatever the clock said."""

    @pytest.mark.parametrize(
        "times",
        [
            [NOW, NOW, NOW, NOW],
            [NOW - timedelta(hours=number) for number in range(4)],
            [
                NOW.astimezone(timezone(timedelta(hours=8))),
                (NOW + timedelta(seconds=1)).astimezone(UTC),
                (NOW + timedelta(seconds=2)).astimezone(timezone(timedelta(hours=-5))),
                (NOW + timedelta(seconds=3)).astimezone(timezone(timedelta(hours=5.5))),
            ],
        ],
        ids=["one second", "a clock set back", "other time zones"],
    )
    def test_edits_are_undone_one_after_the_other(self, tree: Tree, times: list[datetime]) -> None:
        words = ["第1件事", "二", "三", "二", "五"]
        for text, at in zip(words[1:], times, strict=True):
            edit(tree, text, at)
        assert [undo(tree) for _ in times] == words[-2::-1]
        assert undo(tree) is None

    def test_between_files_the_moment_counts_and_not_its_text(self, tree: Tree) -> None:
        edit(tree, "二", NOW.astimezone(timezone(timedelta(hours=8))))
        path = tree.folder() / "entities.md"
        path.rename(tree.folder() / "my.md")
        edit(tree, "三", NOW + timedelta(hours=1))
        assert undo(tree) == "二"
        assert undo(tree) == "第1件事"

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("2026-11-21T18:00:00+08:00", "2026-11-21T11:00:00+00:00"),
            ("2026-11-21T09:00:00+00:00", "2026-11-21T09:00:00+00:00"),
            ("2026-11-21T09:00:00+00:00", "昨天"),
        ],
    )
    def test_the_lower_of_two_forgotten_ones_in_a_file_comes_back(
        self, tree: Tree, first: str, second: str
    ) -> None:
        (tree.folder() / "entities.md").unlink()
        tree.write("archive/entities.md", forgotten("一", first) + "\n" + forgotten("二", second))
        (back,) = tree.vault.restore(FAMILY, [ID])
        assert back.memory.judgment == "二"


class TestCopies:
    """Several of one id: what comes back takes only what says the same with it."""

    def test_another_persons_words_under_the_id_stay(self, tree: Tree) -> None:
        tree.vault.archive(tree.find("第1件事"), by=ADMIN, at=NOW)
        path = tree.folder() / "archive/entities.md"
        mine = render(memory(1, "我自己写的"))
        path.write_text(mine + "\n" + path.read_text("utf-8"), "utf-8")
        (back,) = tree.vault.restore(FAMILY, [ID])
        assert back.memory.judgment == "第1件事"
        assert path.read_text("utf-8").strip() == mine.strip()

    def test_one_that_a_crash_left_goes_with_it(self, tree: Tree) -> None:
        (tree.folder() / "entities.md").unlink()
        early = forgotten("第1件事", "2026-11-21T08:00:00+00:00").replace("50", "45")
        late = forgotten("第1件事", "2026-11-21T09:00:00+00:00")
        tree.write("archive/entities.md", early + "\n" + late)
        (back,) = tree.vault.restore(FAMILY, [ID])
        assert back.memory.strength == 50
        assert tree.vault.archived(FAMILY, [ID]) == []

    def test_a_concurrent_write_of_another_program_is_kept(
        self, tree: Tree, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree.vault.archive(tree.find("第1件事"), by=ADMIN, at=NOW)
        path = tree.folder() / "archive/entities.md"
        real = vault_archive.replace_durably

        def late(*args: object) -> None:
            path.write_text(path.read_text("utf-8") + "\n我的话\n", "utf-8")
            real(*args)  # type: ignore[arg-type]

        monkeypatch.setattr(vault_archive, "replace_durably", late)
        assert tree.vault.restore(FAMILY, [ID])
        assert "我的话" in path.read_text("utf-8")
        assert tree.texts() == ["第1件事"]


class TestOtherVersions:
    """Version copies that a sync client leaves there do not count."""

    @pytest.mark.parametrize("name", OTHERS)
    def test_beside_one_everything_is_undone_as_ever(self, tree: Tree, name: str) -> None:
        edit(tree, "二", NOW)
        tree.vault.archive(tree.find("二"), by=ADMIN, at=NOW + timedelta(hours=1))
        other = tree.write(f"archive/{name}", forgotten("假的", "2027-01-01T00:00:00+00:00"))
        before = other.read_bytes()
        (back,) = tree.vault.restore(FAMILY, [ID])
        assert back.memory.judgment == "二"
        assert back.path == "entities.md"
        assert undo(tree) == "第1件事"
        assert tree.vault.archived(FAMILY, [ID]) == []
        assert other.read_bytes() == before
        assert tree.texts() == ["第1件事"]


class LedgerDesk(Desk):
    """Its ledger is lost, or put back from a copy: what the archive knows counts."""

    kept: dict[str, bytes]

    async def keep(self) -> None:
        """Copy what is known now."""
        state = self.bot.root / "state"
        self.kept = {path.name: path.read_bytes() for path in state.glob("vault.sqlite*")}

    async def lose(self) -> None:
        self.kept = {}
        await self.put_back()

    async def put_back(self) -> None:
        self.bot.stop()
        state = self.bot.root / "state"
        for path in state.glob("vault.sqlite*"):
            path.unlink()
        for name, content in self.kept.items():
            (state / name).write_bytes(content)
        self.bot = Bot(self.bot.root)
        await self.bot.start()

    async def age(self) -> None:
        """Make the archive two days old."""
        archive = self.bot.file("archive/preferences.md")
        text = archive.read_text("utf-8")
        day = f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}"
        written = text.split("忘记：")[1][:10]
        archive.write_text(text.replace(f"忘记：{written}", f"忘记：{day}"), "utf-8")


SIX = "花生 绿茶 红茶 狗 狼 猫"


@pytest.mark.parametrize(
    ("story", "lives"),
    [
        ("say 花生 狗 / look / keep / open / forget 花生 / put_back / save 狗>狼", "狼"),
        ("say 花生 狗 / look / open / forget 花生 / lose / save 狗>狼", "狼"),
        ("say 花生 狗 / open / cut 花生 / look / lose / save", "花生 狗"),
        ("say 花生 狗 / open / forget 花生 / age / lose / save", "花生 狗"),
        ("say 狗 花生 / look / keep / forget 花生 / say 猫 绿茶 / look / put_back", "狗 猫 绿茶"),
        (f"say {SIX} / look / keep / forget {SIX} / look / put_back", ""),
    ],
    ids=["an old buffer", "an old buffer, nothing known", "by hand", "after a day", "one", "all"],
)
async def test_what_was_forgotten_before_the_ledger_was_lost_comes_back_by_hand_alone(
    tmp_path: Path, story: str, lives: str
) -> None:
    async with living(tmp_path) as bot:
        desk = LedgerDesk(bot)
        await desk.act(story)
        await desk.look()
        desk.bot.check()
        assert desk.bot.texts() == sorted(SAID[word] for word in lives.split())
        assert desk.bot.held() == {}
        desk.bot.stop()
