"""A person's notes are recalled beside memories, only for those who may see them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    EngineSettings,
    Hit,
    NoteSection,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import absent
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import line_tokens
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = pytest.mark.engine

RUNBOOK = """\
# 服务器手册

## 备份恢复

先停掉机器人，再解压备份。

```sh
# 解压
tar xf backup.tar
```

### 找回密码

问小王。
"""
TRIP = "# 旅行\n\n## 京都\n\n奶奶订了鸭川边的旅馆。\n"
SOUL = "# 猫娘\n\n说话爱用喵结尾。\n"
ASK_RUNBOOK, ASK_TRIP, ASK_SOUL = "备份恢复要怎么做", "京都的旅馆在鸭川边", "猫娘说话用什么结尾"


def put(root: Path, path: str, text: str) -> Path:
    """A note below the memory root."""
    target = root / "memory" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")
    return target


@contextlib.asynccontextmanager
async def with_notes(root: Path, *, indexed: bool = True) -> AsyncIterator[Rig]:
    """An engine over the three notes; unless ``indexed``, without an index to ask."""
    put(root, "shared/RUNBOOK.md", RUNBOOK)
    put(root, "scopes/家人/旅行.md", TRIP)
    put(root, "roles/猫娘/SOUL.md", SOUL)
    async with running(root, follow=indexed) as rig:
        if indexed:
            await rig.until_indexed()
        else:
            await rig.engine.scan_notes()
        await until_found(rig, ASK_RUNBOOK, group(999))
        yield rig


async def until_found(rig: Rig, query: str, where: ConversationId) -> list[Hit]:
    """The pieces of notes that a conversation recalls, once the index of words knows them."""
    async with asyncio.timeout(60):
        while True:
            if found := await notes_for(rig, query, where):
                return found
            await asyncio.sleep(0.01)


async def notes_for(rig: Rig, query: str, where: ConversationId) -> list[Hit]:
    """The pieces of notes among what a conversation recalls."""
    return [hit for hit in (await rig.recall(query, where)).hits if hit.is_note]


def cat(number: int) -> ConversationId:
    """A group that talks to the cat."""
    return group(number, persona="猫娘")


async def test_a_conversation_that_is_none_reads_no_note(tmp_path: Path) -> None:
    async with with_notes(tmp_path) as rig:
        (hit, *_) = await notes_for(rig, ASK_RUNBOOK, group(777))
        nowhere = ConversationId("x", None, "", group(1).kind)
        assert (await rig.recall(ASK_RUNBOOK, nowhere)).hits == ()
        expansion = await rig.engine.service.expand(hit.pointer, conversation_id=nowhere)
        assert expansion == absent(hit.pointer)


async def test_a_pointer_opens_the_whole_section_for_those_who_see_it(tmp_path: Path) -> None:
    async with with_notes(tmp_path) as rig:
        expand = rig.engine.service.expand
        hits = await notes_for(rig, ASK_RUNBOOK, group(999))
        (hit,) = [hit for hit in hits if len(hit.headings) == 2]
        opened = await expand(hit.pointer, conversation_id=group(888))
        assert isinstance(opened, NoteSection)
        section = opened
        assert section.text == RUNBOOK.split("\n", 2)[2].rstrip("\n")
        assert (section.first, section.last) == (3, 14)
        assert (section.chunk.place.name, section.chunk.file) == ("@shared", "shared/RUNBOOK.md")
        (trip,) = await notes_for(rig, ASK_TRIP, group(777))
        for pointer in (trip.pointer, trip.memory_id, f"shared/RUNBOOK.md#{trip.memory_id}"):
            assert isinstance(await expand(pointer, conversation_id=private(1002)), NoteSection)
            assert await expand(pointer, conversation_id=group(888)) == absent(pointer)


async def test_notes_and_memories_share_the_limit_and_the_budget(tmp_path: Path) -> None:
    async with with_notes(tmp_path) as rig:
        await rig.remember("备份恢复要怎么做，问小王", group(999))
        await rig.until_indexed()
        hits = (await rig.recall(ASK_RUNBOOK, group(999))).hits
        assert {hit.is_note for hit in hits} == {True, False}
        assert len((await rig.recall(ASK_RUNBOOK, group(999), limit=1)).hits) == 1
        budget = line_tokens(hits[0], Texts("zh-CN"))
        poor = await rig.recall(ASK_RUNBOOK, group(999), token_budget=budget)
        assert [hit.pointer for hit in poor.hits] == [hits[0].pointer]


async def test_memories_are_recalled_while_the_notes_are_not_read_yet(tmp_path: Path) -> None:
    put(tmp_path, "shared/a.md", RUNBOOK)
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("备份恢复要怎么做，问小王", group(999))
        assert [hit.is_note for hit in (await rig.recall(ASK_RUNBOOK, group(999))).hits] == [False]
        await rig.engine.scan_notes()
        assert await until_found(rig, ASK_RUNBOOK, group(999))


async def test_a_note_is_no_memory_that_could_be_forgotten(tmp_path: Path) -> None:
    async with with_notes(tmp_path) as rig:
        (hit, *_) = await notes_for(rig, ASK_RUNBOOK, group(999))
        admin = person(1, admin=True)
        service = rig.engine.service
        gone = await service.forget(hit.memory_id, conversation_id=group(999), actor=admin)
        assert gone == absent(hit.memory_id)
        assert await service.newest(conversation_id=group(999), limit=9) == []
        assert (await service.describe(conversation_id=group(999))).visible == 0


async def test_with_the_filter_off_all_notes_are_read_but_those_in_quarantine(
    tmp_path: Path,
) -> None:
    put(tmp_path, "scopes/quarantine/x.md", "# 隔离\n\n来路不明的话。\n")
    put(tmp_path, "scopes/家人/旅行.md", TRIP)
    settings = EngineSettings(scope_filter_enabled=False)
    async with running(tmp_path, settings=settings, follow=False) as rig:
        await rig.engine.scan_notes()
        assert await until_found(rig, ASK_TRIP, group(888))
        assert await notes_for(rig, "隔离来路不明的话", group(888)) == []


async def test_a_superseded_record_comes_behind_what_holds_and_a_page_of_ones_own_is_recalled(
    tmp_path: Path,
) -> None:
    put(tmp_path, "shared/DECISIONS.md", "# 决定\n\n## D-0003 检索面用 SQLite\n> 已接受\n")
    put(tmp_path, "shared/CONTRACTS.md", "## D-0009 检索面用 Lucene\n> 已接受 · 取代：D-0003\n")
    put(tmp_path, "scopes/家人/MEMORY.md", "# 我们家\n门卡在抽屉里。\n")
    put(tmp_path, "roles/猫娘/MEMORY.md", "# 猫娘\n名字叫阿福。\n")
    async with with_notes(tmp_path) as rig:
        for where in (group(777), group(888)):
            hits = [
                (hit.headings[-1], hit.closed)
                for hit in await notes_for(rig, "检索面用 SQLite 吗", where)
                if hit.headings[-1].startswith("D-")
            ]
            assert hits == [("D-0009 检索面用 Lucene", False), ("D-0003 检索面用 SQLite", True)]
        assert "门卡在抽屉里。" in await rig.texts("门卡在哪里", group(777))
        assert "门卡在抽屉里。" not in await rig.texts("门卡在哪里", group(888))
        assert "名字叫阿福。" in await rig.texts("名字叫什么阿福", cat(888))
        assert "名字叫阿福。" not in await rig.texts("名字叫什么阿福", group(888))
