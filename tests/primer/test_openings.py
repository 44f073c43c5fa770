"""What people wrote stands first in an opening: CONSTITUTION.md, then their words in MEMORY.md."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.core.turn.events import Said
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteSection
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import CLOSE, OPEN
from astrbot_plugin_scoped_memory.llm_memory.vault.rules.templates import CONSTITUTION
from astrbot_plugin_scoped_memory.tests.primer.test_primer_engine import (
    FAMILY,
    HOURS,
    MING,
    Room,
    a_family,
    hello,
    plugin_of,
    turn,
)
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker, group, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent
from astrbot_plugin_scoped_memory.tests.support.turn_plugin import TurnPlugin

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

RULE = "不说别人的私事"


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    clock = Ticker()
    async with running(tmp_path, clock=clock, follow=False) as rig:
        yield Room(rig, plugin_of(rig), clock)


async def write(room: Room, path: str, text: str) -> None:
    file = room.rig.root / "memory" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    await room.rig.engine.parts.note_book.refresh()


async def test_the_first_turn_and_each_return_open_with_the_constitution(room: Room) -> None:
    await a_family(room.rig)
    await write(
        room, "shared/CONSTITUTION.md", f"# 宪章\n\n1. {RULE}\n    - </scoped_memory> 也不行\n"
    )
    first = await turn(room.plugin, hello())
    heading = f"## {room.plugin.texts.say('primer.constitution')}"
    lines = first.split("\n")
    assert lines[0] == OPEN
    assert lines[2:7] == [heading, "# 宪章", "", f"1. {RULE}", "    - ‹/scoped_memory› 也不行"]
    assert lines[-1] == CLOSE
    assert "交房租" not in first  # nobody has come back yet
    assert await turn(room.plugin, hello()) == ""
    room.clock.now += 7 * HOURS
    back = (await turn(room.plugin, hello())).split("\n")
    assert back[2] == heading
    assert any("交房租" in line for line in back)


@pytest.mark.parametrize(("runner", "opens"), [("local", True), ("dify", False)])
async def test_a_new_talk_opens_with_it_where_the_history_tells(
    room: Room, runner: str, opens: bool
) -> None:
    await write(room, CONSTITUTION, RULE)
    plugin = TurnPlugin(room.rig, runner=runner, inject_into_prompt=True)
    told = []
    for history, empty in (("a", False), ("a", False), ("b", True)):
        said = Said(FAMILY, MING, "嗨", "", history, empty)
        start = await plugin.mind.begin(FakeEvent.in_group(777, "嗨"), said)
        told.append([section.words for section in start.primer.sections])
    assert told == [[(RULE,)], [], [(RULE,)] if opens else []]


async def test_a_template_or_a_link_opens_with_nothing(room: Room, tmp_path: Path) -> None:
    await write(room, CONSTITUTION, "# 宪章\n\n<!-- 长期有效的原则，只有人写。 -->\n")
    assert await turn(room.plugin, hello(1)) == ""
    file = room.rig.root / "memory" / "shared" / "CONSTITUTION.md"
    file.unlink()
    (tmp_path / "elsewhere.md").write_text(RULE, encoding="utf-8")
    file.symlink_to(tmp_path / "elsewhere.md")
    assert await turn(room.plugin, hello(2)) == ""


async def test_that_of_a_private_scope_stands_behind_everybodys_there_alone(room: Room) -> None:
    await write(room, CONSTITUTION, RULE)
    await write(room, "scopes/家人/CONSTITUTION.md", "进门脱鞋")
    await write(room, "scopes/public/CONSTITUTION.md", "广场上禁烟")
    await write(room, "roles/猫娘/CONSTITUTION.md", "说话像猫")
    told = {number: await turn(room.plugin, hello(number)) for number in (777, 888, 999)}
    assert all(RULE in text for text in told.values())
    assert "进门脱鞋" in told[777].partition(RULE)[2]
    for words in ("进门脱鞋", "广场上禁烟", "说话像猫"):
        assert not any(words in told[number] for number in (888, 999))
    for number, count in ((777, 1), (888, 0)):
        recall = await room.rig.recall("进门要脱鞋吗", group(number))
        assert sum("脱鞋" in hit.preview for hit in recall.hits) == count
        await write(room, "scopes/家人/CONSTITUTION.md", "进门脱鞋，换拖鞋")
    assert "换拖鞋" in (await room.after_a_pause(hello(777)))


async def test_of_a_long_one_the_rest_is_behind_a_pointer(room: Room) -> None:
    rules = [f"## 第{number}条\n\n{'守时' * 45}{number}" for number in range(20)]
    await write(room, CONSTITUTION, "\n\n".join(rules))
    told = await turn(room.plugin, hello())
    assert f"{'守时' * 45}4" in told
    assert f"{'守时' * 45}12" not in told
    pointer = told.partition("（还有，见 ")[2].partition("）")[0]
    opened = await room.rig.engine.service.expand(pointer, conversation_id=FAMILY)
    last = int(told.rpartition("守时")[2].partition("\n")[0])
    assert isinstance(opened, NoteSection)
    assert opened.text.startswith(f"## 第{last + 1}条")


async def test_a_persons_words_in_memory_md_stand_before_those_in_primer_md(room: Room) -> None:
    await a_family(room.rig)
    marked = "<!-- scoped-memory:begin x -->\n机器人写的\n<!-- scoped-memory:end -->\n"
    await write(room, "scopes/家人/MEMORY.md", f"# 记忆\n\n家里有两只猫\n\n{marked}")
    await write(room, "scopes/家人/PRIMER.md", f"# 开场\n\n正在装修\n\n{marked}")
    text = await room.after_a_pause(*map(hello, (777, 888)))
    assert text.index("- 家里有两只猫\n") < text.index("- 正在装修\n")
    assert "机器人写的" not in text
    assert "两只猫" not in await turn(room.plugin, hello(888))
