"""Whatever bot and people do to the files, in any order, with crashes and restarts: the index
equals a fresh rebuild of the vault, and the vault holds what was written and not deleted."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.vault import vault_writer
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import TopicFile, parse_file
from astrbot_plugin_scoped_memory.tests.support.bots import AT_ONCE, FAMILY, WORK, Bot, Watch
from astrbot_plugin_scoped_memory.tests.support.engines import person
from astrbot_plugin_scoped_memory.tests.vault.test_vault import NOW

pytestmark = [pytest.mark.unit, pytest.mark.property]

SCOPES = (FAMILY, WORK)
FILES = ("preferences.md", "entities.md", "旅行/我的.md")
QUIET = replace(AT_ONCE, quiet_seconds=5.0)
type Step = tuple[str, int, int]


class Crash(BaseException):
    """The process ends here."""


class Story:
    """A bot, the people around it, and what both should make of the vault.

    ``alive`` counts by scope and text; every text is said once, and may be copied. ``watch`` goes
    on when there are no writes for a while.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.watch = Watch()
        self.bot = self.made()
        self.alive: list[tuple[str, str]] = []
        self.forgotten: dict[str, tuple[Scope, str]] = {}
        self.number = 0
        self.left: set[tuple[Path, str]] = set()
        """What a command took out of which file."""
        self.unlooked = False
        """A person has saved something that the bot has not looked at yet."""
        self.buffer: tuple[Path, bytes] | None = None
        """An editor's, as it was before the bot wrote on."""
        self.rewritten: set[str] = set()
        """What a person has given other words since he opened that."""
        self.older: dict[Path, bytes] = {}
        """What the bot knew of the files at some time, kept aside."""

    def made(self) -> Bot:
        return Bot(self.root, pace=QUIET, elapsed=self.watch)

    async def start(self) -> None:
        await self.bot.start()
        await self.look()

    async def rest(self) -> None:
        """No writes for so long that the bot defers nothing any more."""
        await self.bot.look()
        while (due := self.bot.reconciler.next_due) is not None:
            self.watch.seconds += due
            await self.bot.look()
        await self.bot.look()

    def known(self) -> list[tuple[str, str]]:
        return sorted((s.scope.name, s.memory.judgment) for s in self.bot.catalogue.all())

    async def look(self) -> None:
        await self.rest()
        self.bot.check()
        assert self.known() == sorted(self.alive)
        assert self.bot.held() == {}
        self.unlooked = False

    async def act(self, step: Step) -> None:
        what, one, two = step
        hand = what.startswith("hand_")
        if hand and self.unlooked:  # one save at a time: two together are ambiguous
            await self.look()
        await getattr(self, what)(one, two)
        self.unlooked = self.unlooked or hand

    def new_text(self) -> str:
        self.number += 1
        return f"小明喜欢第{self.number}号球"

    def pick(self, one: int) -> StoredMemory | None:
        """Some living entry."""
        living = sorted(self.bot.catalogue.all(), key=lambda s: (s.scope.name, s.memory.memory_id))
        return living[one % len(living)] if living else None

    def path(self, stored: StoredMemory) -> Path:
        return self.bot.folder(stored.scope) / stored.path

    def parsed(self, path: Path) -> TopicFile:
        return parse_file(path.read_text("utf-8"), fallback_time=NOW)

    # The bot

    async def says(self, one: int, _: int) -> None:
        scope, text = SCOPES[one % 2], self.new_text()
        await self.bot.says(text, scope)
        self.alive.append((scope.name, text))

    async def says_again(self, one: int, _: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked or stored.memory.provenance.person == "":
            return
        strength = stored.memory.strength
        await self.bot.says(stored.memory.judgment, stored.scope)
        same = [s for s in self.bot.catalogue.all() if s.memory.judgment == stored.memory.judgment]
        assert any(s.memory.strength == min(strength + 5, 100) for s in same)

    async def forgets(self, one: int, _: int) -> None:
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        self.left.add((self.path(stored), stored.memory.memory_id))
        await self.bot.forgets(stored.memory.memory_id, stored.scope)
        self.alive.remove((stored.scope.name, stored.memory.judgment))
        self.forgotten[stored.memory.memory_id] = stored.scope, stored.memory.judgment

    async def restores(self, one: int, _: int) -> None:
        if self.unlooked:  # what was deleted in a file is not in the archive yet
            await self.look()
        if not self.forgotten:
            return
        memory_id = sorted(self.forgotten)[one % len(self.forgotten)]
        scope, text = self.forgotten.pop(memory_id)
        assert await self.bot.restores(memory_id, scope) is not None
        self.alive.append((scope.name, text))

    async def brings_all_back(self) -> None:
        """All that was forgotten, by command or by hand."""
        while self.forgotten:
            await self.restores(0, 0)
        await self.look()

    async def moves(self, one: int, two: int) -> None:
        """By command, and perhaps the process ends between copying and cutting."""
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        self.left.add((self.path(stored), stored.memory.memory_id))
        target = SCOPES[0] if stored.scope == SCOPES[1] else SCOPES[1]
        self.alive.remove((stored.scope.name, stored.memory.judgment))
        self.alive.append((target.name, stored.memory.judgment))
        if two % 2:
            await self.crash(lambda: self.bot.vault.move(stored, target))
            return
        moved = self.bot.vault.move(stored, target)
        self.bot.living.drop(stored)
        self.bot.living.take(moved)

    async def crashes_while_forgetting(self, one: int, _: int) -> None:
        stored = self.pick(one)
        if stored is not None and not self.unlooked:
            await self.crash(lambda: self.bot.vault.archive(stored, by=person(1), at=NOW))

    async def crash(self, undo_record: Callable[[], object]) -> None:
        def end(*_: object) -> None:
            raise Crash

        with mock.patch.object(vault_writer, "replace_durably", end):
            try:
                undo_record()
            except Crash:
                pass
            else:
                raise AssertionError("nothing was to be cut")
        await self.restarts(0, 0)

    async def restarts(self, _: int, __: int) -> None:
        self.bot.stop()
        self.bot = self.made()
        await self.start()

    async def loses_what_it_knew(self, _: int, __: int) -> None:
        await self.look()
        self.older = {}
        await self.knows_again()

    async def copies_what_it_knows(self, _: int, __: int) -> None:
        await self.look()
        self.older = {path: path.read_bytes() for path in self.state()}

    async def knows_what_it_knew_then(self, _: int, __: int) -> None:
        """Its state is put back from a copy; the files are as they are now."""
        if self.older:
            await self.look()
            await self.knows_again()

    async def knows_again(self) -> None:
        self.bot.stop()
        for path in self.state():
            path.unlink()
        for path, content in self.older.items():
            path.write_bytes(content)
        # An older editor buffer could not be distinguished from a person's edit.
        self.buffer = None
        self.bot = self.made()
        await self.start()

    def state(self) -> list[Path]:
        return list((self.root / "state").glob("vault.sqlite*"))

    async def edits(self, one: int, two: int) -> None:
        """By command; and perhaps a person takes it back in the file."""
        stored = self.pick(one)
        if stored is None or self.unlooked:
            return
        text, old, path = self.new_text(), stored.memory.judgment, self.path(stored)
        await self.bot.edits(stored.memory.memory_id, text, stored.scope)
        if two % 2:
            await self.takes_back_by_hand(path, stored, (text, old))
            return
        self.alive.remove((stored.scope.name, old))
        self.alive.append((stored.scope.name, text))

    async def takes_back_by_hand(
        self, path: Path, stored: StoredMemory, words: tuple[str, str]
    ) -> None:
        await self.bot.look()
        entry = self.parsed(path).find(stored.memory.memory_id)
        assert entry is not None
        lines = path.read_text("utf-8").split("\n")
        lines[entry.start] = lines[entry.start].replace(*words)
        self.rewritten.add(stored.memory.memory_id)
        path.write_text("\n".join(lines), "utf-8")
        await self.look()

    async def looks(self, _: int, __: int) -> None:
        await self.look()

    # People

    async def opens(self, one: int, _: int) -> None:
        """A file in an editor."""
        await self.look()
        if (stored := self.pick(one)) is not None:
            self.buffer = self.path(stored), self.path(stored).read_bytes()
            self.rewritten = set()

    async def hand_saves_an_old_buffer(self, _: int, __: int) -> None:
        """With one more entry in it, as first thing, so that something else was changed."""
        if self.buffer is None:
            return
        (path, raw), self.buffer = self.buffer, None
        was = {e.memory.memory_id for e in parse_file(raw.decode(), fallback_time=NOW).entries}
        known = {s.memory.memory_id for s in self.bot.catalogue.all() if self.path(s) == path}
        # A person's own saves since, or a command's, are another story.
        if not path.exists() or not was <= known or was & self.rewritten:
            return
        if {e.memory.memory_id for e in self.parsed(path).entries} != known:
            return
        mine = {e.memory.memory_id for e in self.parsed(path).entries} - was
        if any(m not in self.appended_since(path, raw) for m in mine):
            return
        text = self.new_text()
        scope = path.relative_to(self.root / "memory" / "scopes").parts[0]
        path.write_bytes(f"## {text} ^m-hand{self.number:06d}\n\n".encode() + raw)
        self.alive.append((scope, text))

    def appended_since(self, path: Path, raw: bytes) -> set[str]:
        """The ids that the bot put behind what was in an editor then."""
        now = path.read_bytes()
        if not now.startswith(raw):
            return set()
        added = parse_file(now[len(raw) :].decode(), fallback_time=NOW)
        return {entry.memory.memory_id for entry in added.entries}

    async def hand_edits(self, one: int, _: int) -> None:
        stored = self.pick(one)
        if stored is None:
            return
        path, text, old = self.path(stored), self.new_text(), stored.memory.judgment
        entry = self.parsed(path).find(stored.memory.memory_id)
        assert entry is not None
        lines = path.read_text("utf-8").split("\n")
        lines[entry.start] = lines[entry.start].replace(old, text)
        path.write_text("\n".join(lines), "utf-8")
        self.rewritten.add(stored.memory.memory_id)
        self.alive.remove((stored.scope.name, old))
        self.alive.append((stored.scope.name, text))

    async def hand_writes_in_place(self, one: int, two: int) -> None:
        """An entry is edited by an editor that empties the file and fills it again, slowly; the bot
        looks at it meanwhile."""
        stored = self.pick(one)
        if stored is None:
            return
        path, text, old = self.path(stored), self.new_text(), stored.memory.judgment
        whole = path.read_text("utf-8").replace(old, text, 1).encode()
        self.rewritten.add(stored.memory.memory_id)
        with path.open("r+b", buffering=0) as file:
            file.truncate(0)
            for eighths in (*range(two, 8, 3), 8):
                file.write(whole[file.tell() : len(whole) * eighths // 8])
                if eighths < 8:
                    await self.bot.look()
                    self.watch.seconds += 3.0
        self.alive.remove((stored.scope.name, old))
        self.alive.append((stored.scope.name, text))

    async def hand_deletes(self, one: int, _: int) -> None:
        stored = self.pick(one)
        if stored is None:
            return
        path, file = self.path(stored), self.parsed(self.path(stored))
        entry = file.find(stored.memory.memory_id)
        assert entry is not None
        rest = file.without(entry)
        # The blank line before it stays, as it mostly does.
        path.write_text(rest if rest.strip() else "", "utf-8")
        self.alive.remove((stored.scope.name, stored.memory.judgment))
        self.forgotten[stored.memory.memory_id] = stored.scope, stored.memory.judgment

    async def hand_moves(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None:
            return
        await self.hand_copies(one, two)
        path, file = self.path(stored), self.parsed(self.path(stored))
        entry = file.find(stored.memory.memory_id)
        assert entry is not None
        path.write_text(file.without(entry), "utf-8")
        self.alive.remove((stored.scope.name, stored.memory.judgment))

    async def hand_copies(self, one: int, two: int) -> None:
        """Into another file of this or the other scope."""
        stored = self.pick(one)
        if stored is None:
            return
        scope = SCOPES[two % 2]
        name = f"{two}-{FILES[two % len(FILES)]}".replace("/", "-") if two % 3 == 0 else FILES[2]
        target = self.bot.folder(scope) / name
        # To where the bot took it out of the file, an old buffer would bring it back.
        if (target, stored.memory.memory_id) in self.left or target == self.path(stored):
            self.number += 1
            target = target.with_name(f"x{self.number}.md")
        target.parent.mkdir(parents=True, exist_ok=True)
        # A file that is the same byte by byte as another is a copy, and not taken in.
        before = target.read_text("utf-8") if target.exists() else f"# {target.stem}\n"
        target.write_text(before + "\n" + render(stored.memory), "utf-8")
        self.alive.append((scope.name, stored.memory.judgment))

    async def hand_writes(self, one: int, two: int) -> None:
        """Something new, without an id."""
        scope, name, text = SCOPES[one % 2], FILES[two % 2], self.new_text()
        lead = ("## ", "# 其他\n\n- ", "# 其他\n\n")[two % 3]
        path = self.bot.folder(scope) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text("utf-8") if path.exists() else ""
        path.write_text(f"{before}\n\n{lead}{text}\n", "utf-8")
        self.alive.append((scope.name, text))

    async def hand_renames(self, one: int, two: int) -> None:
        stored = self.pick(one)
        if stored is None:
            return
        path = self.path(stored)
        target = path.with_name(f"r{two}.md")
        if not target.exists():
            path.rename(target)


acts = [name for name in vars(Story) if name.startswith(("hand_", "says", "forgets", "restores"))]
acts += ["moves", "crashes_while_forgetting", "restarts", "loses_what_it_knew", "looks", "opens"]
acts += ["edits", "copies_what_it_knows", "knows_what_it_knew_then"]
acts += ["copies_what_it_knows", "forgets", "knows_what_it_knew_then"]
acts += ["says", "says", "opens", "hand_saves_an_old_buffer"]
steps = st.lists(
    st.tuples(st.sampled_from(acts), st.integers(0, 7), st.integers(0, 7)), max_size=14
)


async def play(story: list[Step], kind: type[Story] = Story) -> None:
    """From an empty vault to the end, and one more start."""
    with tempfile.TemporaryDirectory() as folder:
        told = kind(Path(folder))
        await told.start()
        try:
            for step in story:
                await told.act(step)
            await told.look()
            await told.restarts(0, 0)
            await told.brings_all_back()
        finally:
            told.bot.stop()


@given(steps)
@settings(max_examples=max(5, settings().max_examples // 3))
def test_the_index_equals_a_rebuild_and_the_vault_what_was_written(story: list[Step]) -> None:
    asyncio.run(play(story))
