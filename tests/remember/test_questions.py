"""The questions of a memory go where it goes, are for search alone, and decide nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import Exported, How, Reason, Refused, is_stored
from astrbot_plugin_scoped_memory.llm_memory.models.recall import FileText
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.remember.test_by_command import ADMIN, SPEAKER
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, running

pytestmark = pytest.mark.engine

HERE, WORK, OPEN = group(777), group(888), group(999)
PEANUTS = "奶奶对花生过敏"
ASKS = ("聚餐点菜要避开什么", "谁吃不了坚果")


async def told(rig: Rig, text: str = PEANUTS, asks: tuple[str, ...] = ASKS) -> str:
    """The id of a stored memory that answers these."""
    return await rig.stored_id(text, HERE, SPEAKER, asks=asks)


def asks_of(rig: Rig) -> dict[str, tuple[str, ...]]:
    """Of all that lives."""
    return {s.memory.judgment: s.memory.asks for s in rig.living()}


async def test_they_go_with_it_and_an_edit_alone_drops_them(tmp_path: Path) -> None:
    chat, edited = ScriptedChat('{"asks": {"1": ["谁不吃核桃"]}}'), "奶奶对核桃过敏"
    async with running(tmp_path, follow=False, chat=chat) as rig:
        memory_id = await told(rig)
        for done, then in (
            (partial(rig.move, memory_id, "公司", HERE, ADMIN), {PEANUTS: ASKS}),
            (partial(rig.restore, "", HERE, ADMIN), {PEANUTS: ASKS}),
            (partial(rig.forget, memory_id, HERE, ADMIN), {}),
            (partial(rig.restore, memory_id, HERE, ADMIN), {PEANUTS: ASKS}),
            (partial(rig.edit, memory_id, edited, HERE, ADMIN), {edited: ()}),
            (partial(rig.night, "command"), {edited: ("谁不吃核桃",)}),
            (partial(rig.restore, "", HERE, ADMIN), {PEANUTS: ASKS}),
        ):
            await done()
            assert asks_of(rig) == then


async def test_an_export_takes_them_along(rig: Rig) -> None:
    await told(rig)
    exported = await rig.engine.service.export(conversation_id=HERE, actor=ADMIN)
    assert isinstance(exported, Exported)
    (rig.root / "imports").mkdir(exist_ok=True)
    (rig.root / "exports" / exported.name).rename(rig.root / "imports" / exported.name)
    await rig.engine.service.import_(exported.name, conversation_id=WORK, actor=ADMIN)
    found = {one.scope.name: one.memory.asks for one in rig.living()}
    assert found == {"家人": ASKS, "公司": ASKS}


async def test_the_same_words_are_the_same_whatever_they_answer(rig: Rig) -> None:
    await told(rig)
    assert is_stored(await rig.tell(PEANUTS, HERE, SPEAKER, asks=("谁过敏",)), How.AGAIN)
    await told(rig, "爷爷每天散步", ASKS)  # the same questions are no same fact
    assert asks_of(rig) == {PEANUTS: ASKS, "爷爷每天散步": ASKS}


async def test_they_are_found_by_in_their_scope_and_never_shown(rig: Rig) -> None:
    service, memory_id = rig.engine.service, await told(rig)
    stored = rig.only()
    await rig.remember("门禁密码每周一换", WORK, SPEAKER, asks=("进门要按什么",))
    await rig.until_indexed()
    for where in (WORK, OPEN):
        assert PEANUTS not in await rig.texts(ASKS[0], where)
    recall = await rig.recall(ASKS[0], HERE)
    assert [hit.memory_id for hit in recall.hits] == [memory_id]
    await service.refresh_overview(conversation_id=HERE)
    seen: list[Any] = [recall, await service.explain(conversation_id=HERE)]
    for where in (stored.pointer, stored.path):
        text = await service.read(where, conversation_id=HERE)
        assert isinstance(text, FileText)
        assert PEANUTS in text.text
        seen.append(text.text)
    pages = [p.read_text("utf-8") for p in (rig.root / "memory").rglob("MEMORY.md")]
    assert pages
    said = repr([*seen, *pages])
    assert "谁吃不了坚果" not in said
    assert "问法" not in said


async def test_what_is_private_or_said_in_confidence_is_not_told_by_a_question(rig: Rig) -> None:
    await told(rig, asks=("手机号13812345678是谁的",))
    ((kept,),) = asks_of(rig).values()
    assert kept.startswith("手机号")
    assert "13812345678" not in kept
    refused = await rig.tell("小明要换工作", OPEN, SPEAKER, asks=("这件事别告诉任何人",))
    assert isinstance(refused, Refused)
    assert refused.reason is Reason.CONFIDENCE
