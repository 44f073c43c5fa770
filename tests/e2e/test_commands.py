"""`/memory` and `/记忆`, in groups and private chats, by speaker, stranger and admin."""

import re

import pytest

from astrbot_plugin_scoped_memory.harness.places import Person, Place, private
from astrbot_plugin_scoped_memory.harness.records import files_with, scopes_with
from astrbot_plugin_scoped_memory.harness.rig import Rig
from astrbot_plugin_scoped_memory.tests.e2e.cast import ADMIN, MEMBER, ROOM_A, ROOM_B

pytestmark = [pytest.mark.astrbot, pytest.mark.asyncio(loop_scope="session")]


async def added(rig: Rig, place: Place, person: Person, text: str) -> str:
    """Adds a memory by command; gives its id, as `list` shows it."""
    await rig.onebot.ask(place, person, f"/memory add {text}")
    assert scopes_with(rig.memory, text) != set()
    listed = await rig.onebot.ask(place, person, "/memory list")
    return id_of(listed, text)


def id_of(reply: str, text: str) -> str:
    """The memory id next to `text`: on the same line, or on a line beside it."""
    before, _, after = reply.partition(text)
    same_line = before.rpartition("\n")[2] + after.partition("\n")[0]
    found = re.search(r"m-[0-9a-z]+", same_line)
    if found is None:
        found = re.search(r"m-[0-9a-z]+", after)
    assert found is not None, reply
    return found[0]


def archived(rig: Rig, text: str) -> bool:
    """Whether the text lies in an archive folder."""
    return any("archive" in path.parts for path in files_with(rig.memory, text))


async def test_status_answers(rig: Rig, room: Place, person: Person) -> None:
    version = (await rig.panel.ready())["version"]
    assert version in await rig.onebot.ask(room, person, "/memory status")


async def test_the_chinese_name_is_the_same_command(rig: Rig, room: Place, person: Person) -> None:
    english = await rig.onebot.ask(room, person, "/memory scope")
    assert await rig.onebot.ask(room, person, "/记忆 scope") == english


async def test_scope_tells_the_id_the_scope_and_what_to_paste(
    rig: Rig, room: Place, person: Person
) -> None:
    mapped = await rig.onebot.ask(ROOM_A, MEMBER, "/memory scope")
    assert ROOM_A.umo in mapped
    assert "测试甲" in mapped
    unmapped = await rig.onebot.ask(room, person, "/memory scope")
    assert room.umo in unmapped
    assert "public" in unmapped
    assert unmapped.count(room.umo) == 2  # the id, and the line to paste


async def test_add_list_and_search_in_a_private_chat(rig: Rig) -> None:
    chat = private(MEMBER)
    await added(rig, chat, MEMBER, "路由器放在书房的柜顶")
    assert scopes_with(rig.memory, "路由器放在书房的柜顶") == {"测试甲"}
    found = await rig.onebot.ask(chat, MEMBER, "/memory search 路由器 书房")
    assert "路由器放在书房的柜顶" in found


async def test_add_list_and_search_in_a_group(rig: Rig) -> None:
    await added(rig, ROOM_B, MEMBER, "打印机的墨盒放在前台")
    assert scopes_with(rig.memory, "打印机的墨盒放在前台") == {"测试乙"}
    found = await rig.onebot.ask(ROOM_B, MEMBER, "/memory search 打印机 墨盒")
    assert "打印机的墨盒放在前台" in found


async def test_list_and_search_show_no_other_scope(rig: Rig, room: Place, person: Person) -> None:
    await added(rig, ROOM_A, MEMBER, "备用轮胎在车库最里面")
    for place, reader in ((room, person), (ROOM_B, MEMBER), (private(person), person)):
        assert "备用轮胎" not in await rig.onebot.ask(place, reader, "/memory list")
        assert "车库最里面" not in await rig.onebot.ask(place, reader, "/memory search 轮胎 车库")


async def test_the_speaker_forgets_and_the_text_goes_to_the_archive(rig: Rig) -> None:
    text = "水表的读数每月十五号抄"
    memory_id = await added(rig, ROOM_A, MEMBER, text)
    await rig.onebot.ask(ROOM_A, MEMBER, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, text) == set()
    assert archived(rig, text)
    assert text not in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 水表 读数")


async def test_a_stranger_cannot_forget_it(rig: Rig, person: Person) -> None:
    text = "煤气表的卡在抽屉第二格"
    memory_id = await added(rig, ROOM_A, MEMBER, text)
    await rig.onebot.ask(ROOM_A, person, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 煤气表 卡")


async def test_an_admin_forgets_what_another_said(rig: Rig) -> None:
    text = "快递柜的取件码短信发给妈妈"
    memory_id = await added(rig, ROOM_A, MEMBER, text)
    await rig.onebot.ask(ROOM_A, ADMIN, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, text) == set()
    assert archived(rig, text)


async def test_an_admin_edits_moves_and_takes_both_back(rig: Rig) -> None:
    text, other = "冰箱的保修卡在书柜左边", "冰箱的保修卡在书柜右边"
    memory_id = await added(rig, ROOM_A, MEMBER, text)
    for words in (f"edit {memory_id} {other}", f"move {memory_id} 测试乙"):
        await rig.onebot.ask(ROOM_A, MEMBER, f"/memory {words}")
        assert scopes_with(rig.memory, text) == {"测试甲"}
    await rig.onebot.ask(ROOM_A, ADMIN, f"/memory edit {memory_id} {other}")
    await rig.onebot.ask(ROOM_A, ADMIN, f"/记忆 移动 {memory_id} 测试乙")
    assert scopes_with(rig.memory, other) == {"测试乙"}
    assert other in await rig.onebot.ask(ROOM_B, MEMBER, "/memory search 冰箱 保修卡")
    assert other not in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 冰箱 保修卡")
    await rig.onebot.ask(ROOM_A, ADMIN, "/memory undo")
    await rig.onebot.ask(ROOM_A, ADMIN, "/memory undo")
    assert scopes_with(rig.memory, text) == {"测试甲"}
    assert text in await rig.onebot.ask(ROOM_A, MEMBER, "/memory search 冰箱 保修卡")


async def test_what_a_room_exports_an_admin_imports_into_another(rig: Rig) -> None:
    text, other = "雨伞架在门后第二个钩子", "访客登记簿在前台抽屉"
    await added(rig, ROOM_A, MEMBER, text)
    await added(rig, ROOM_B, MEMBER, other)
    said = await rig.onebot.ask(ROOM_A, ADMIN, "/memory export")
    found = re.search(r"exports/(\S+\.jsonl)", said)
    assert found is not None, said
    folder = rig.memory.parent
    exported = folder / "exports" / found[1]
    words = exported.read_text(encoding="utf-8")
    assert text in words
    assert other not in words
    (folder / "imports").mkdir(exist_ok=True)
    exported.rename(folder / "imports" / "来自甲.jsonl")
    for person in (MEMBER, ADMIN):
        assert scopes_with(rig.memory, text) == {"测试甲"}
        await rig.onebot.ask(ROOM_B, person, "/记忆 导入 来自甲.jsonl")
    assert scopes_with(rig.memory, text) == {"测试甲", "测试乙"}
    assert text in await rig.onebot.ask(ROOM_B, MEMBER, "/memory search 雨伞架 钩子")


async def test_forget_does_not_reach_into_another_scope(rig: Rig, person: Person) -> None:
    text = "望远镜借给了三楼的老周"
    memory_id = await added(rig, ROOM_A, MEMBER, text)
    await rig.onebot.ask(ROOM_B, MEMBER, f"/memory forget {memory_id}")
    assert scopes_with(rig.memory, text) == {"测试甲"}


@pytest.mark.parametrize(
    "words",
    [
        "",
        "forget",
        "forget m-nothing",
        "search",
        "add",
        "import",
        "import ../x",
        "what 7",
        "edit",
        "move x",
        "undo",
        "confirm",
    ],
)
async def test_an_incomplete_command_is_answered(
    rig: Rig, room: Place, person: Person, words: str
) -> None:
    said = await rig.onebot.ask(room, person, f"/memory {words}".strip())
    assert said != ""
    assert "收到：" not in said  # as the model answers
