"""Wherever a person puts notes, and however they are moved about: each reader sees those of its
scope, of public, of its persona and what is shared, and none else; and both indexes hold what
stands there, no more."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EngineSettings,
    NoteSection,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import absent
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import role_folder
from astrbot_plugin_scoped_memory.tests.fakes.memory_store import Disk, MemoryStore
from astrbot_plugin_scoped_memory.tests.fakes.words import keys_in
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

pytestmark = [pytest.mark.engine, pytest.mark.property]

type Step = tuple[str, str, str, int]
type Reader = tuple[int, str | None]
QUERY = "大家都记得的那件事情"
SCOPES = ["家人", "家", "public", "quarantine", "shared", "dm-x"]
PERSONAS = ["猫", "家人", "shared", "@shared", "public", "a/b", "a%2Fb", "A", "..", "con"]
GROUPS = {1: "家人", 2: "家", 3: "public", 4: "shared", 5: "家 人", 6: None}
MAP = {f"aiocqhttp:GroupMessage:{n}": name for n, name in GROUPS.items() if name is not None}
FOLDERS = [
    *(f"scopes/{name}" for name in SCOPES),
    *(f"roles/{role_folder(name)}" for name in PERSONAS),
    "shared",
]

folders = st.sampled_from(FOLDERS)
numbers = st.integers(0, 5)
deeds = st.sampled_from(["put", "move", "delete"])
steps = st.lists(st.tuples(deeds, folders, folders, numbers), max_size=12)
readers = st.lists(
    st.tuples(st.sampled_from(list(GROUPS)), st.sampled_from([*PERSONAS, "", None, "狗"])),
    min_size=3,
    max_size=6,
)


def sees(number: int, persona: str | None, folder: str) -> bool:
    """The law, in plain Python."""
    name = GROUPS[number] or "public"
    usable = " " not in name
    if folder == "shared":
        return True
    if folder.startswith("roles/"):
        return usable and bool(persona) and folder == f"roles/{role_folder(persona or '')}"
    return folder in {"scopes/public", f"scopes/{name}"}


def act(root: Path, step: Step) -> None:
    """Do it to the files."""
    what, folder, other, number = step
    path, target = f"{folder}/{number}.md", f"{other}/{number}.md"
    if what == "put":
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"# 笔记\n{QUERY}，写在{folder}的第{number}篇", "utf-8")
    elif what == "delete":
        (root / path).unlink(missing_ok=True)
    elif (root / path).exists():
        (root / other).mkdir(parents=True, exist_ok=True)
        (root / path).replace(root / target)


async def check(rig: Rig, root: Path, who: list[Reader]) -> None:
    """Each reader through each door."""
    standing = {f"{folder}/{file.name}" for folder in FOLDERS for file in (root / folder).glob("*")}
    pieces = {chunk.note_id: chunk for chunk in rig.engine.parts.note_book.all()}
    assert len(pieces) == sum(not path.startswith("scopes/quarantine/") for path in standing)
    for number, persona in who:
        where: ConversationId = group(number, persona=persona)
        visible = {
            note_id
            for note_id, chunk in pieces.items()
            if sees(number, persona, chunk.file.rpartition("/")[0] or f"scopes/{chunk.place.name}")
        }
        hits = (await rig.recall(QUERY, where, 100)).hits
        found = {hit.memory_id for hit in hits}
        assert found <= visible
        assert bool(found) is bool(visible)
        for note_id, chunk in pieces.items():
            opened = await rig.engine.service.expand(chunk.pointer, conversation_id=where)
            if note_id in visible:
                assert isinstance(opened, NoteSection)
                assert opened.chunk.note_id == note_id
            else:
                assert opened == absent(chunk.pointer)


async def live(story: list[Step], who: list[Reader]) -> None:
    """A person at the files while the bot runs; and a bot that finds no index."""
    with tempfile.TemporaryDirectory() as folder:
        root, half = Path(folder) / "memory", len(story) // 2
        for step in story[:half]:
            act(root, step)
        disk = Disk()
        async with over(Path(folder), disk) as rig:
            await rig.until_indexed()
            await check(rig, root, who)
            for step in story[half:]:
                act(root, step)
                await rig.engine.parts.note_book.refresh()
            await check(rig, root, who)
            kept = await indexed(rig, disk)
            await check(rig, root, who)
            assert (await rig.engine.status()).scope_check_drops == 0
        shutil.rmtree(Path(folder) / "index", ignore_errors=True)
        disk = Disk()
        async with over(Path(folder), disk) as rig:
            assert await indexed(rig, disk) == kept


def over(folder: Path, disk: Disk) -> AbstractAsyncContextManager[Rig]:
    """A bot over what others have left."""
    store = MemoryStore(disk)
    everything = EngineSettings(relevance_floor=0.0)
    return running(folder, MAP, settings=everything, store=store)


async def indexed(rig: Rig, disk: Disk) -> tuple[dict[Key, object], ...]:
    """What both indexes hold once they have caught up: all notes, each by its hash."""
    await rig.until_indexed()
    await rig.until_words()
    rows = [row for some in disk.collections.values() for row in some.items()]
    vectors = {key: record.content_hash for key, (record, _) in rows}
    words = {key: rig.engine.parts.lexical._held[key] for key in keys_in(rig.engine.parts.words)}
    living = {Key(c.place.name, c.note_id) for c in rig.engine.parts.note_book.all()}
    assert words.keys() == vectors.keys() == living
    return words, vectors


@given(steps, readers)
@settings(max_examples=max(4, settings().max_examples // 8))
def test_every_reader_sees_exactly_the_notes_that_are_its_own_or_everybodys(
    story: list[Step], who: list[Reader]
) -> None:
    asyncio.run(live(story, who))
