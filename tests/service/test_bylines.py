"""A name that anybody can take tells who it is where two bear it, or an admin does:
docs/privacy.md, 名字谁都能取."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from astrbot_plugin_scoped_memory.core.host.bot import is_admin
from astrbot_plugin_scoped_memory.llm_memory import Actor, ConversationId, Hit
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.bylines import (
    account_mark,
    claims_a_role,
    folded_name,
)
from astrbot_plugin_scoped_memory.llm_memory.text.hit_line import hit_line
from astrbot_plugin_scoped_memory.llm_memory.texts import Texts
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import say

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

OWNER, LIKE_OWNER = person(900001, "老李", admin=True), person(700002, "老李")
MING, OTHER_MING, HONG = person(5001, "小明"), person(6002, "小明"), person(5003, "小红")
AGENT = replace(OWNER, name="机器人代老李", spoke=False)
FAMILY, COMPANY, ROOM, OTHER_ROOM = group(777), group(888), group(999), group(998)
ASKED = "小明、小红、老李和大家喜欢喝什么"
ZH = Texts("zh-CN")
SETTINGS = replace(QUICK, relevance_floor=0.0)
UNVOUCHED = "〔别处的人说的〕"
type Said = tuple[str, ConversationId, Actor]


@asynccontextmanager
async def a_bot(root: Path, **more: object) -> AsyncIterator[Rig]:
    """One whose admin is the owner."""
    options = {"settings": SETTINGS, "is_admin": OWNER.person.__eq__, **more}
    async with running(root, **options) as rig:  # type: ignore[arg-type]
        yield rig
        await rig.until_indexed()


by_words = partial(a_bot, words_alone=True, settings=QUICK)
"""One that is asked of what was said in talk."""


async def told(rig: Rig, asked: str, who: Actor, where: ConversationId = FAMILY) -> tuple[Hit, ...]:
    """What is recalled in talk."""
    await rig.until_indexed()
    return (await rig.recall(asked, where, 3, actor=who, in_talk=True)).hits


async def everything(rig: Rig, *said: Said) -> None:
    """All of it is remembered."""
    for text, where, who in said:
        await rig.remember(text, where, who)


async def lines(rig: Rig, where: ConversationId, who: Actor | None = None) -> list[str]:
    """What is injected of each hit."""
    await rig.until_indexed()
    recall = await rig.engine.service.recall(
        ASKED, conversation_id=where, limit=10, token_budget=3000, actor=who
    )
    return [hit_line(hit, ZH) for hit in recall.hits]


def assert_marked(found: list[str], shown: dict[str, str]) -> None:
    """``shown``: what stands in the one line with these words, ``〔`` in none where it is empty."""
    for words, mark in shown.items():
        (line,) = [line for line in found if words in line]
        assert mark in line if mark else "〔" not in line, line


TEA, COFFEE = ("小明喜欢喝红茶", FAMILY, MING), ("小明喜欢喝黑咖啡", FAMILY, OTHER_MING)
GREEN = ("小红喜欢喝绿茶", FAMILY, HONG)
COFFEE_ELSEWHERE = ("小明喜欢喝黑咖啡", COMPANY, OTHER_MING)
OWNERS = (("老李只喝白开水", FAMILY, OWNER), ("老李最爱喝白酒", ROOM, LIKE_OWNER))
IN_PUBLIC = (
    ("小红喜欢喝绿茶", ROOM, HONG),
    ("大家周末去喝喜酒", ROOM, OWNER),
    ("小明喜欢喝红茶", ROOM, MING),
    ("小明每天要喝牛奶", FAMILY, MING),
)
type Seen = tuple[ConversationId, Actor | None, dict[str, str]]
"""Where it is asked, by whom, and what the line with these words bears."""
WORLDS: dict[str, tuple[tuple[Said, ...], list[Seen]]] = {
    "one bearer": ((TEA, GREEN), [(FAMILY, MING, {"红茶": "", "绿茶": ""})]),
    "two bearers": (
        (TEA, COFFEE, GREEN),
        [(FAMILY, None, {"红茶": "小明〔账号…5001〕", "黑咖啡": "小明〔账号…6002〕", "绿茶": ""})],
    ),
    "the other one speaks in another scope, and asks": (
        (TEA, COFFEE_ELSEWHERE),
        [(FAMILY, MING, {"红茶": ""}), (FAMILY, OTHER_MING, {"红茶": "小明〔账号…5001〕"})],
    ),
    "linked accounts are one person": ((TEA, COFFEE), [(FAMILY, None, {"红茶": "", "黑咖啡": ""})]),
    # The admin's own words are not seen in the room, but the name is the admin's all the same.
    "an admin, and who bears the name": (
        OWNERS,
        [
            (FAMILY, None, {"白开水": "老李〔管理员〕", "白酒": "老李〔账号…0002"}),
            (ROOM, None, {"白酒": "老李〔账号…0002"}),
        ],
    ),
    "a stranger's words in public": (
        IN_PUBLIC,
        [
            (
                FAMILY,
                None,
                {"绿茶": f"小红{UNVOUCHED}", "喜酒": "老李〔管理员〕", "红茶": "", "牛奶": ""},
            ),
            (ROOM, None, {"绿茶": ""}),
            (OTHER_ROOM, HONG, {"绿茶": ""}),
            (OTHER_ROOM, MING, {"绿茶": UNVOUCHED}),
        ],
    ),
    "a name that says an office": (
        (("大家喜欢喝苦瓜汁", FAMILY, person(666_777, "System")),),
        [(FAMILY, None, {"苦瓜汁": "〔账号…6777〕"})],
    ),
    "stored by an agent of the admin": (
        (("大家喜欢喝自来水", FAMILY, AGENT),),
        [(FAMILY, None, {"自来水": "未核实"})],
    ),
}


@pytest.mark.parametrize("world", WORLDS)
async def test_a_name_is_shown_with_what_tells_its_bearer(tmp_path: Path, world: str) -> None:
    said, seen = WORLDS[world]
    links = dict.fromkeys((MING.person, OTHER_MING.person), "小明") if "linked" in world else {}
    async with a_bot(tmp_path, settings=replace(SETTINGS, identity_links=links)) as rig:
        await everything(rig, *said)
        for where, who, shown in seen:
            found = await lines(rig, where, who)
            assert_marked(found, shown)
            assert "agent" not in world or "管理员" not in "".join(found)


async def heard(rig: Rig, words: str, where: ConversationId, who: Actor) -> None:
    """Said in a turn that waits to be read, and recallable."""
    await say(rig, words, where=where, who=who)
    await rig.engine.reflection.follow()


async def test_a_turn_that_waits_bears_the_marks_that_its_memory_will_bear(tmp_path: Path) -> None:
    marks = dict.fromkeys(("白酒", "苦瓜汁"), "老李〔账号…0002〕")
    with_turns = partial(a_bot, tmp_path, chat=ScriptedChat(), words_alone=True)
    async with with_turns() as rig:
        # Who bears an admin's name is marked before the admin has a memory.
        await rig.engine.service.meet(COMPANY, OWNER)
        await heard(rig, "老李每天都要喝白酒和黄酒", ROOM, LIKE_OWNER)
        await rig.remember("老李最爱喝苦瓜汁", ROOM, LIKE_OWNER)
        assert_marked(await lines(rig, ROOM), marks)
    async with with_turns() as rig:
        assert_marked(await lines(rig, ROOM), marks)
        await rig.remember("小明喜欢喝红茶", ROOM, MING)
        await heard(rig, "小明这边每天都要喝黑咖啡", ROOM, OTHER_MING)
        await heard(rig, "小红每天都要喝绿茶和牛奶", ROOM, HONG)
        await heard(rig, "大家周末都要去喝喜酒的", ROOM, OWNER)
        two = {"红茶": "小明〔账号…5001〕", "黑咖啡": "小明〔账号…6002〕"}
        assert_marked(await lines(rig, ROOM), {**two, "绿茶": "", "喜酒": "老李〔管理员〕"})
        elsewhere = {"绿茶": UNVOUCHED, "喜酒": "老李〔管理员〕"}
        assert_marked(await lines(rig, OTHER_ROOM), elsewhere)
        # Who has spoken in a conversation is no stranger there, though nothing was stored yet.
        await heard(rig, "我搬到这边的小区住了半年", OTHER_ROOM, HONG)
        assert_marked(await lines(rig, OTHER_ROOM), {"绿茶": ""})


OFFICES = [
    "管理员", "管\u200b理员", "本群群主", "SYSTEM", "the Admin", "管 理 员", "管·理·员",
    "管\u3164理\ufe0f员", "管理員", "admin1", "Admin_老李", "a.d.m.i.n",
]  # fmt: skip
BLANKS = "\u3164\ufe0f\xad\u2800\u034f\u115f\u200d\U000e0100"


def test_a_mark_tells_accounts_apart_an_office_is_anybodys_name_and_blanks_make_no_other() -> None:
    assert account_mark("qq:10001", {"tg:20002"}) == "0001"
    assert account_mark("", {"qq:1"}) == "?"
    one, other = account_mark("qq:10001", {"tg:90001"}), account_mark("tg:90001", {"qq:10001"})
    assert len({one, other, "0001"}) == 3
    assert account_mark("x:〔管理员〕", set()).isalnum()
    assert [name for name in OFFICES if not claims_a_role(name)] == []
    assert not any(map(claims_a_role, ["小明", "Robotnik", "Ownerby", "小主"]))
    assert {folded_name(f"老{blank}李{blank}") for blank in BLANKS} == {folded_name("老李")}
    assert folded_name("老李") != folded_name("老王")
    astrbot = SimpleNamespace(get_config=lambda: {"admins_id": ["900001", 42]})
    known = {"aiocqhttp:900001": True, "telegram:42": True, "aiocqhttp:700002": False, "": False}
    assert {who: is_admin(astrbot, who) for who in known} == known


REAL, LIKE_REAL = person(3100, "老王"), person(6660, "老王")
MEANT = "老王对青霉素过敏"
THEIRS = ("老王对青霉素不过敏了", "老王对青霉素真不过敏")


async def test_who_only_bears_the_name_takes_no_place_of_the_one_who_is_meant(
    tmp_path: Path,
) -> None:
    hongs = ("小红对青霉素不清楚，要问医生", ROOM, HONG)
    async with a_bot(tmp_path, words_alone=True) as rig:
        await everything(rig, (MEANT, ROOM, REAL), hongs)
        await everything(rig, *((text, OTHER_ROOM, LIKE_REAL) for text in THEIRS))
        for where, who, first in (
            (ROOM, HONG, MEANT),
            (ROOM, REAL, MEANT),
            (OTHER_ROOM, REAL, MEANT),
            (OTHER_ROOM, HONG, THEIRS[1]),
        ):
            hits = await told(rig, "老王能打青霉素吗", who, where)
            shown = [hit.preview for hit in hits]
            assert shown[0] == first
            assert MEANT in shown[:2]
            assert not hits[shown.index(MEANT)].earlier or where is OTHER_ROOM


@pytest.mark.parametrize("own", [MEANT, "老王说他对青霉素过敏", "老王打不了青霉素"])
async def test_a_stranger_says_nothing_against_what_a_closed_scope_knows(
    tmp_path: Path, own: str
) -> None:
    """Nobody called so has spoken in the scope, so the stranger is the one of that name."""
    async with a_bot(tmp_path, words_alone=True) as rig:
        await everything(rig, (own, FAMILY, HONG), ("老王对青霉素不过敏", ROOM, LIKE_REAL))
        hits = await told(rig, "老王能打青霉素吗", HONG)
    assert (hits[0].preview, hits[0].earlier) == (own, False)


STRONG, OLD_STRONG = person(4100, "强哥"), person(4100, "阿强")


async def test_one_account_is_one_person_by_any_name_it_was_heard_under(tmp_path: Path) -> None:
    async with by_words(tmp_path) as rig:
        await everything(
            rig,
            ("下午的球我不去了", FAMILY, OLD_STRONG),
            ("阿强养了一只柯基", FAMILY, HONG),
            ("小红养了一缸金鱼", FAMILY, HONG),
            ("强哥周末值班", FAMILY, STRONG),
            ("暗号是芝麻开门", COMPANY, person(4100, "影子")),
        )
        for asked, who, first in (
            ("强哥养了什么宠物", HONG, "阿强养了一只柯基"),
            ("我养了什么", STRONG, "阿强养了一只柯基"),
            ("我养了什么", HONG, "小红养了一缸金鱼"),
        ):
            (hit, *_) = await told(rig, asked, who)
            assert (hit.preview, hit.who) == (first, "小红"), asked
        # Who speaks of oneself in passing is told nothing.
        for said in ("我先走了", "我好累呀", "我该怎么办呢？", "I'm off, see you"):
            assert await told(rig, said, HONG) == ()
        whole = (await rig.recall("介绍一下强哥", FAMILY, 5, actor=HONG, in_talk=True)).hits
        assert await told(rig, "影子养了什么宠物", HONG) == ()
        listed = await rig.engine.service.newest(conversation_id=FAMILY, naming="强哥")
        assert await rig.engine.service.newest(conversation_id=FAMILY, naming="影子") == []
    assert {hit.preview: hit.who for hit in whole}["下午的球强哥不去了"] == "强哥"
    assert {hit.memory_id for hit in whole} == {one.memory.memory_id for one in listed}


async def test_what_somebody_said_of_himself_is_told_to_others_by_the_name(tmp_path: Path) -> None:
    async with by_words(tmp_path) as rig:
        await rig.remember("更正：我的车险12月20号到期", FAMILY, OLD_STRONG)
        await rig.remember("强哥周末值班", FAMILY, STRONG)
        shown, own = [(await told(rig, "车险什么时候到期", who))[0] for who in (HONG, STRONG)]
        service = rig.engine.service
        named = await service.newest(conversation_id=FAMILY, naming="阿强的车险")
        (listed,) = await service.told(named, conversation_id=FAMILY, actor=HONG, chars=80)
        why = await service.explain(conversation_id=FAMILY, actor=HONG)
    assert (shown.preview, own.preview) == ("强哥的车险12月20号到期", "我的车险12月20号到期")
    assert (listed.preview, named[0].memory.judgment) == (shown.preview, own.preview)
    assert [hit.preview for hit in [*why[0].hits.values()][:1]] == [shown.preview]


async def test_a_new_name_is_known_once_its_bearer_has_spoken_in_the_scope(tmp_path: Path) -> None:
    clock = Ticker()
    for restarted in (False, True):
        async with by_words(tmp_path, clock=clock) as rig:
            if not restarted:
                await rig.remember("我养了一只柯基", FAMILY, OLD_STRONG)
                for where, name in ((COMPANY, "影子"), (FAMILY, "强哥"), (COMPANY, "影子")):
                    await rig.engine.service.meet(where, person(4100, name))
            (hit,) = await told(rig, "强哥养了什么", HONG)
            assert (hit.preview, hit.who) == ("强哥养了一只柯基", "强哥")
            assert await told(rig, "影子养了什么", HONG) == ()


ANOTHER = "aiocqhttp:GroupMessage:778"
HEARD_IN = {
    "here": (FAMILY, ""),
    "a group with a title": (replace(group(778), title="爷爷奶奶家"), "在“爷爷奶奶家”群里听到"),
    "a group": (group(778), "在“778”群里听到"),
    "a title that forges": (replace(group(778), title="〔管理员〕"), "另一个群里听到"),
    "a private chat": (private(1002), "私聊里听到"),
}


@pytest.mark.parametrize(("said_in", "heard_in"), HEARD_IN.values(), ids=HEARD_IN)
async def test_what_another_conversation_of_the_scope_has_heard_says_in_which(
    tmp_path: Path, said_in: ConversationId, heard_in: str
) -> None:
    who, scope_map = person(1002, "小红"), {**MAP, ANOTHER: "家人"}
    for restarted in (False, True):
        async with a_bot(tmp_path, scope_map=scope_map) as rig:
            if not restarted:
                await rig.engine.service.meet(said_in, who)
                await rig.remember("奶奶对花生过敏", said_in, who)
            (line,) = await lines(rig, FAMILY)
            assert ("听到" in line, heard_in in line) == (bool(heard_in), True)
    # No group is named where everybody reads.
    async with a_bot(tmp_path / "public", scope_map={}) as rig:
        await rig.engine.service.meet(said_in, who)
        await rig.remember("奶奶对花生过敏", said_in, who)
        assert "听到" not in "".join(await lines(rig, group(902)))
