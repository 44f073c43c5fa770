"""A conversation comes back after hours: what it is told, and what the night has written down."""

from pathlib import Path

import pytest
import pytest_asyncio

from astrbot_plugin_scoped_memory.harness.places import Person, group, private
from astrbot_plugin_scoped_memory.harness.records import files_with, history
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.harness.waiting import until
from astrbot_plugin_scoped_memory.tests.e2e.cast import queued

pytestmark = [
    pytest.mark.astrbot,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(300),
]

OWNER, PARTNER, COLLEAGUE = Person(9001, "房主"), Person(2101, "阿芳"), Person(3101, "小周")
HOME, OFFICE, OWNERS_CHAT = group(7701), group(8801), private(OWNER)
RULE = "必须用公历写日期"
RENT = "十二月五日前交房租"
PARCEL = "去驿站取快递"
OFFICE_TASK = "给客户寄样品"
LEARNED = ("阿芳说客厅的窗帘旧了", "阿芳打算周末去看布料", "阿芳喜欢米色的窗帘")
DIGEST = "记下了 3 条："
SMALL_TALK = "你好呀，今天挺暖和"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def running(learning: Rig) -> Rig:
    """Hours pass in it."""
    learning.clock.set_to(10, days=1)
    return learning


async def test_the_first_turn_after_seven_hours_is_told_where_things_stand_and_the_second_is_not(
    running: Rig,
) -> None:
    await running.onebot.ask(OWNERS_CHAT, OWNER, f"/memory add {RULE}")
    added = await running.use_tool(
        HOME, PARTNER, "update_tasks", {"action": "add", "tasks": [RENT, PARCEL]}
    )
    assert RENT in added
    await running.use_tool(
        OFFICE, COLLEAGUE, "update_tasks", {"action": "add", "tasks": [OFFICE_TASK]}
    )
    running.clock.move(hours=5)
    early = await running.turn(HOME, PARTNER, SMALL_TALK)
    assert early.first.injected == []
    await saved(running, 1)
    running.clock.move(hours=7)
    back = await running.turn(HOME, PARTNER, SMALL_TALK)
    (part,) = back.first.injected
    for words in (RULE, RENT, PARCEL, PARTNER.nickname):
        assert words in part
    assert OFFICE_TASK not in back.first.everything
    assert back.first.system == early.first.system
    assert RULE not in await saved(running, 2)
    again = await running.turn(HOME, PARTNER, SMALL_TALK)
    assert again.first.injected == []


async def saved(running: Rig, turns: int) -> str:
    """What AstrBot has of the talk at home, once it has saved so many turns of small talk."""

    async def probe() -> str | None:
        text = str(history(running.bot.data, HOME.umo))
        return text if text.count(SMALL_TALK) >= turns else None

    return await until(probe, within=30, what="the chat's history")


async def test_a_task_that_is_done_is_told_no_more_and_the_others_stay(running: Rig) -> None:
    done = await running.use_tool(
        HOME, PARTNER, "update_tasks", {"action": "done", "tasks": [PARCEL]}
    )
    assert RENT in done
    running.clock.move(hours=7)
    back = await running.turn(HOME, PARTNER, SMALL_TALK)
    assert RENT in back.injected
    assert PARCEL not in back.injected
    tasks = (running.memory / "scopes" / "小家" / "TASKS.md").read_text(encoding="utf-8")
    assert RENT in tasks
    assert PARCEL in tasks


async def test_the_night_writes_the_day_and_the_pages_and_nothing_of_the_office_into_the_home(
    running: Rig,
) -> None:
    learned = [{"judgment": text, "kind": "event"} for text in LEARNED]
    running.model.on_reflection("窗帘", {"new_memories": learned})
    await running.turn(HOME, PARTNER, "客厅的窗帘旧了，周末我们去看看布料吧")
    await running.turn(OFFICE, COLLEAGUE, "样品已经包好了，等快递上门")
    await queued(running, "样品已经")
    for where in (HOME, OFFICE):
        await running.onebot.ask(where, OWNER, "/memory reflect")
    home = running.memory / "scopes" / "小家"
    running.clock.set_to(4, 5, days=1)
    await running.panel.indexed()
    await running.onebot.ask(OWNERS_CHAT, OWNER, "/memory sleep")

    async def of_the_day() -> list[Path] | None:
        """An earlier day has a journal of its own once its turns are read."""
        learned_in = files_with(home / "journal", LEARNED[0])
        return [day for day in files_with(home / "journal", DIGEST) if day in learned_in] or None

    (journal,) = await until(of_the_day, within=60, what="the journal of the day")
    assert (home / "journal" / journal).read_text(encoding="utf-8").count(DIGEST) == 1
    assert {path.parts[:2] for path in files_with(running.memory, "窗帘")} == {("scopes", "小家")}

    async def pages() -> bool:
        return (home / "MEMORY.md").exists() and (home / "PRIMER.md").exists()

    await until(pages, within=60, what="the pages")
    for name in ("MEMORY.md", "PRIMER.md"):
        page = (home / name).read_text(encoding="utf-8")
        assert "scoped-memory:begin" in page
        assert RULE in page
        assert "样品" not in page
    asked = await running.turn(HOME, PARTNER, "昨天我们聊了什么")
    assert DIGEST in str(asked.injected), asked.injected
    asked = await running.turn(OFFICE, COLLEAGUE, "昨天我们聊了什么")
    assert "窗帘" not in asked.first.everything
