"""Days after a group has decided, somebody elsewhere asks why: the model is told what was decided,
when, where it was discussed and where it stands; the group itself also gets its talk back."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group
from astrbot_plugin_scoped_memory.harness.records import files_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import learned, memory_id, queued

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

ADMIN, MEMBER, STRANGER = Person(9001, "房主"), Person(2601, "小林"), Person(2602, "阿岚")
CLUB, ELSEWHERE = group(8851), group(8852)
SAID = "那就定了，年会订海边的民宿，不去温泉，温泉那边没有素食"
DECISION = "年会订海边的民宿，不去温泉：温泉那边没有素食"
WHY = "年会为什么不去温泉？"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(learning: Rig) -> AsyncIterator[Rig]:
    """A bot whose readers of turns propose decisions."""
    toml = learning.root / "workflow.toml"
    toml.write_text("[memory]\nauto_inject_topk = 3\n", encoding="utf-8")
    advanced = (await learning.panel.config())["advanced"]
    await learning.panel.save(advanced={**advanced, "workflow_file": str(toml)})
    await learning.panel.ready()
    yield learning
    await learning.panel.save(advanced=advanced)
    await learning.panel.ready()


async def test_who_asks_days_later_is_told_what_when_where_and_the_group_also_its_talk(
    running: Rig,
) -> None:
    decide, found = "/memory decide", learned(DECISION, turn=2) | {"decision": True}
    running.model.on_reflection("素食", {"new_memories": [found]})
    await running.turn(CLUB, MEMBER, "温泉和海边选哪个")
    await running.turn(CLUB, MEMBER, SAID)
    await queued(running, "素食")
    await running.onebot.ask(CLUB, ADMIN, "/memory reflect")
    proposal = memory_id(running.memory, DECISION)
    assert "未决" in (await running.turn(CLUB, MEMBER, WHY)).injected
    assert "提议" in await running.onebot.ask(CLUB, ADMIN, decide)
    assert "没有" in await running.onebot.ask(ELSEWHERE, ADMIN, decide)

    refused = await running.onebot.ask(CLUB, MEMBER, f"{decide} accept {proposal}")
    assert "D-" not in refused
    draft = await running.onebot.ask(
        CLUB, ADMIN, f"{decide} accept {proposal} issue=#12 pr=club/plans#34"
    )
    record = next(line for line in draft.splitlines() if line.startswith("## D-"))
    assert not files_with(running.memory / "shared", DECISION)
    assert "DECISIONS.md" in await running.onebot.ask(CLUB, ADMIN, f"{decide} yes")
    assert record in (running.memory / "shared" / "DECISIONS.md").read_text(encoding="utf-8")
    decided_on = running.clock.now().date()

    running.clock.move(days=5)
    asked = await running.turn(ELSEWHERE, STRANGER, WHY)
    (line,) = (line for line in asked.injected.splitlines() if DECISION in line)
    told = re.search(r"\[笔记 · (.*) · (shared/DECISIONS\.md#n-[0-9a-f]+)\] (.*)", line)
    assert told, line
    assert told[1].startswith(f"{decided_on} · ")
    assert record.removeprefix("## ") in told[1]
    assert told[3].startswith("Issue #12 · PR club/plans#34")
    assert "小林" not in asked.first.everything

    for transcript in (False, True):
        given = {"pointer": told[2], "transcript": transcript}
        opened = await running.use_tool(ELSEWHERE, STRANGER, "expand_memory", given)
        assert opened.startswith("ok ")
        assert record.removeprefix("## ") in opened
        assert "PR：club/plans#34" in opened
        assert "没有素食，" not in opened
        assert "选哪个" not in opened
    here = await running.use_tool(CLUB, MEMBER, "expand_memory", given)
    assert f"→ 小林：{SAID}" in re.sub(r"→ \[.*?\] ", "→ ", here)
    assert "选哪个" in here
