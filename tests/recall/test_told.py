"""Who tells something and asks for nothing is seldom told a memory beside it, on talk that no fit
has seen; who asks for the same is."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.fakes.trust import FixedTrust
from astrbot_plugin_scoped_memory.tests.support.engines import group, running

pytestmark = [pytest.mark.engine, pytest.mark.property]

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
HERE = group(777)


@pytest.mark.parametrize("name", ["dairy-en", "garage-zh"])
async def test_few_of_those_who_tell_something_are_told_a_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from everyday_cast import read_cast

    cast = read_cast(BENCHMARKS / "casts" / "held_out" / f"{name}.json")
    beside_told, answered = list[bool](), list[bool]()
    async with running(tmp_path, trust=FixedTrust(0.0)) as rig:
        await rig.until_words()
        for talk in cast.talk:
            who = cast.actor(talk.who)
            if talk.learned and not {*talk.said} & {*"?？"}:
                recall = await rig.recall(talk.said, HERE, 3, actor=who, in_talk=True)
                beside_told.append(bool(recall.hits))
            for lesson in talk.learned:
                await rig.remember(lesson["judgment"], HERE, who)
        for question in cast.questions:
            who = cast.actor(question.who)
            recall = await rig.recall(question.original, HERE, 3, actor=who, in_talk=True)
            answered.append(bool(recall.hits))
    assert sum(beside_told) <= len(beside_told) / 5
    assert sum(answered) >= len(answered) * 3 / 4
