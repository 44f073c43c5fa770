"""A message that asks for several things is answered for each."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group

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
    rig: Rig, facts: list[str], message: str, *, in_talk: bool
) -> None:
    for text in (*NOISE, *facts):
        await rig.remember(text, HERE)
    found = await rig.recall(message, HERE, 3, in_talk=in_talk, token_budget=400)
    assert {hit.preview for hit in found.hits} >= set(facts)
    assert sum(hit.tokens for hit in found.hits) <= 400
    assert len(found.hits) <= 3


async def test_the_second_thing_is_asked_of_whom_the_first_named(rig: Rig) -> None:
    for text in (*NOISE, "小刚的生日是五月三号", "小刚在华为上班", "小雯在医院上班"):
        await rig.remember(text, HERE)
    found = await rig.recall("小刚的生日是哪天？他在哪里上班？", HERE, 3, token_budget=400)
    assert [hit.preview for hit in found.hits][:2] == ["小刚的生日是五月三号", "小刚在华为上班"]
