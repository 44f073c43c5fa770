"""A message that asks for several things is answered for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.engines import group, running

pytestmark = pytest.mark.engine

HERE = group(777)
NOISE = [f"第{number}号储物柜里放着第{number}箱旧杂志" for number in range(30)]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            ["妈妈的生日是五月三号", "爸爸的鞋码是四十三码"],
            "妈妈的生日是哪天，爸爸的鞋码是多少？",
        ),
        (
            ["Mom's birthday is the third of May", "Dad's shoes are size forty-three"],
            "When is mom's birthday and what size are dad's shoes?",
        ),
    ],
    ids=["Chinese", "English"],
)
@pytest.mark.parametrize("in_talk", [True, False])
async def test_each_of_two_things_is_found(
    tmp_path: Path, facts: list[str], message: str, *, in_talk: bool
) -> None:
    async with running(tmp_path) as rig:
        for text in (*NOISE, *facts):
            await rig.remember(text, HERE)
        found = await rig.engine.service.recall(
            message, conversation_id=HERE, limit=3, token_budget=400, in_talk=in_talk
        )
        assert {hit.preview for hit in found.hits} >= set(facts)
        assert sum(hit.tokens for hit in found.hits) <= 400
        assert len(found.hits) <= 3


async def test_the_second_thing_is_asked_of_whom_the_first_named(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for text in (*NOISE, "小刚的生日是五月三号", "小刚在华为上班", "小雯在医院上班"):
            await rig.remember(text, HERE)
        found = await rig.engine.service.recall(
            "小刚的生日是哪天？他在哪里上班？", conversation_id=HERE, limit=3, token_budget=400
        )
        assert [hit.preview for hit in found.hits][:2] == ["小刚的生日是五月三号", "小刚在华为上班"]
