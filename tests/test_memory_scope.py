"""Which scope a conversation has, what an index is asked for, and who sees a record that has none.

From outside: what ``CognitiveService`` says and does, over a real vault.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    ConversationKind,
    DmScope,
    EngineSettings,
    MemoryDraft,
    ReadPublicOnly,
    Refused,
    Rejected,
    RejectReason,
    Usable,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.index.vector.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.models.migration import MigrationState
from astrbot_plugin_scoped_memory.llm_memory.models.scope import (
    PUBLIC,
    QUARANTINE_NAME,
    Scope,
    ScopeFilter,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    MAP,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.migrating import (
    fields,
    filled,
    migrating,
    status_of,
    until_done,
)

pytestmark = pytest.mark.engine

FAMILY = Scope.parse("家人")
TEXT = "书房的灯泡是三月换的"


def telegram(number: int, account: str = "bot-a") -> ConversationId:
    """A private chat on another platform."""
    umo = f"{account}:FriendMessage:{number}"
    kind = ConversationKind.PRIVATE
    return ConversationId(umo, "telegram", account, kind, peer=str(number), persona="")


async def scope_of(rig: Rig, where: ConversationId) -> str:
    """The scope that a conversation writes to, as it is told, and as the vault has it."""
    report = await rig.engine.service.describe(conversation_id=where)
    assert isinstance(report.resolution, Usable), report.resolution
    stored = await rig.remember(f"{TEXT}{where.umo}", where)
    folder = rig.root / "memory" / "scopes" / report.resolution.scope.name
    assert stored.memory.scope == report.resolution.scope
    assert (folder / stored.memory.path).is_file()
    return report.resolution.scope.name


async def until_told(rig: Rig, query: str, where: ConversationId) -> None:
    """Wait until a conversation recalls something."""
    async with asyncio.timeout(30):
        while True:
            if await rig.texts(query, where):
                return
            await asyncio.sleep(0.01)


def with_scopes(**changes: object) -> EngineSettings:
    return replace(QUICK, **changes)  # type: ignore[arg-type]


# Derivation


async def test_the_map_comes_first_and_what_is_in_no_map_is_public(tmp_path: Path) -> None:
    async with running(tmp_path, follow=False) as rig:
        assert await scope_of(rig, group(777)) == "家人"
        assert await scope_of(rig, private(1002)) == "家人"
        assert await scope_of(rig, group(888)) == "公司"
        assert await scope_of(rig, group(999)) == "public"
        assert await scope_of(rig, private(1001)) == "public"


async def test_a_thread_has_the_scope_of_its_group_and_a_persona_may_have_one(
    tmp_path: Path,
) -> None:
    mapped = {**MAP, "persona:猫娘": "猫"}
    async with running(tmp_path, mapped, follow=False) as rig:
        assert await scope_of(rig, group("777#12")) == "家人"
        assert await scope_of(rig, group(999, persona="猫娘")) == "猫"
        assert await scope_of(rig, group(777, persona="猫娘")) == "家人"


async def test_private_chats_of_two_people_meet_only_where_the_policy_says_so(
    tmp_path: Path,
) -> None:
    found: dict[DmScope, list[str]] = {}
    for policy in DmScope:
        settings = with_scopes(dm_scope=policy)
        async with running(tmp_path / policy, settings=settings, follow=False) as rig:
            chats = (private(1), private(2), telegram(1), telegram(1, "bot-b"))
            found[policy] = [await scope_of(rig, chat) for chat in chats]
    assert set(found[DmScope.PUBLIC]) == {"public"}
    for policy in (DmScope.PER_PEER, DmScope.PER_CHANNEL_PEER):
        one, other, elsewhere, account = found[policy]
        assert len({one, other, elsewhere}) == 3
        assert elsewhere == account
    assert len(set(found[DmScope.PER_ACCOUNT_CHANNEL_PEER])) == 4
    assert len(set(found[DmScope.MAIN])) == 1
    for policy, names in found.items():
        assert policy is DmScope.PUBLIC or all(name.startswith("dm-") for name in names)


@pytest.mark.parametrize(
    ("where", "scope_map", "settings", "outcome", "why"),
    [
        (group(5), {group(5).umo: "家 人"}, {}, ReadPublicOnly, WhyCode.ILLEGAL_NAME),
        (group(5), {group(5).umo: ""}, {}, ReadPublicOnly, WhyCode.ILLEGAL_NAME),
        (group(5), MAP, {"group_scope": None}, ReadPublicOnly, WhyCode.UNKNOWN_POLICY),
        (private(5), MAP, {"dm_scope": None}, ReadPublicOnly, WhyCode.UNKNOWN_POLICY),
        (
            ConversationId("nonsense", None, "", ConversationKind.OTHER),
            MAP, {}, Refused, WhyCode.MALFORMED_ID,
        ),
    ],
)  # fmt: skip
async def test_whatever_cannot_be_told_writes_nothing_and_sees_nothing_private(
    tmp_path: Path,
    where: ConversationId,
    scope_map: Mapping[str, object],
    settings: Mapping[str, object],
    outcome: type,
    why: WhyCode,
) -> None:
    async with running(tmp_path, follow=False) as rig:
        await rig.remember("奶奶对花生过敏", group(777))
    mixed = {**MAP, **scope_map}
    async with running(tmp_path, mixed, settings=with_scopes(**settings), follow=False) as rig:
        report = await rig.engine.service.describe(conversation_id=where)
        assert type(report.resolution) is outcome
        assert report.resolution.why.code is why
        refused = await rig.engine.service.remember(
            MemoryDraft(TEXT, actor=person(1)), conversation_id=where
        )
        assert isinstance(refused, Rejected)
        assert refused.reason in (RejectReason.READ_ONLY, RejectReason.REFUSED)
        assert await rig.texts("奶奶能吃花生吗", where) == []


# scope_where


def test_a_reader_asks_for_its_own_scope_and_public_and_for_nothing_else() -> None:
    assert scope_where(ScopeFilter.reading_as(PUBLIC)) == {"memory_scope": "public"}
    own = {"memory_scope": {"$in": ["家人", "public"]}}
    assert scope_where(ScopeFilter.reading_as(FAMILY)) == own


@pytest.mark.parametrize("name", ["家人", {"$ne": "x"}, None, 1, ["家人"]])
def test_no_raw_name_becomes_a_filter(name: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC, name)))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC,), migrating=name))  # type: ignore[arg-type]


def test_migration_mode_widens_the_question_by_unmarked_records_and_says_nothing_of_admitting() -> (
    None
):
    strict = ScopeFilter.reading_as(FAMILY)
    wide = replace(strict, migrating=True)
    where = scope_where(wide)
    assert where == {"$or": [scope_where(strict), {"has_scope": {"$ne": 1}}]}
    # What comes back by it is judged by its scope all the same.
    for name in ("家人", "public"):
        assert wide.admits(name)
    for name in (None, "", "公司", QUARANTINE_NAME, 7):
        assert not wide.admits(name)


# Migration mode


async def test_a_record_without_a_scope_is_public_from_the_first_second_of_a_migration(
    tmp_path: Path,
) -> None:
    source = filled(
        {
            "none": fields("图书馆的还书箱在后门"),
            "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
            "odd": fields("奇怪的密语在这里", memory_scope=["家人"]),
        }
    )
    go = asyncio.Event()
    loop = asyncio.get_running_loop()

    def held(what: str) -> None:
        """Reading is free; nothing is written before it may be."""
        if what == "write":
            asyncio.run_coroutine_threadsafe(go.wait(), loop).result(30)

    source.before_call = held
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        await until_told(rig, "还书箱在哪里", group(999))
        assert (await status_of(rig)).state is MigrationState.RUNNING
        assert source.changes == []
        for where in (group(999), group(777), group(888)):
            assert "图书馆的还书箱在后门" in await rig.texts("还书箱在哪里", where)
            assert not [t for t in await rig.texts("密语在哪里", where) if "密语" in t]
        assert not [t for t in await rig.texts("奶奶的存折在哪里", group(888)) if "存折" in t]
        go.set()
        await until_done(rig)
        assert "图书馆的还书箱在后门" in await rig.texts("还书箱在哪里", group(888))
        assert await rig.texts("奶奶的存折在哪里", group(777)) == ["奶奶的存折在衣柜里"]


async def test_after_the_migration_a_record_without_a_scope_is_nobodys(tmp_path: Path) -> None:
    source = filled({"none": fields("图书馆的还书箱在后门")})
    async with running(tmp_path, legacy=source) as rig, migrating(rig):
        await until_done(rig)
        late = "水电表在楼道尽头的柜子里"
        source.put("late", f"{late},  日常", fields(late))
        for where in (group(999), group(777), group(888)):
            assert late not in await rig.texts("水电表在哪里", where)
