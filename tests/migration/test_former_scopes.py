"""A policy's scope gets another name: what is left behind is told to those whose it is, and an
admin brings it along as a whole, and back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    Brought,
    BroughtBack,
    ConversationId,
    DeedKind,
    DmScope,
    EngineSettings,
    Feedback,
    GroupScope,
    MemoryDraft,
    Refused,
    Ticket,
    Turn,
    is_changed,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import absent, is_absent, is_denied
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    QUICK,
    Rig,
    group,
    person,
    private,
    running,
)

pytestmark = pytest.mark.engine

ADMIN = person(9, "管理员", admin=True)
OFFICE = private(9)
ONE, TWO = private(1), private(2)
QUESTION = "存折放在哪里"


def to(policy: DmScope | None = DmScope.PER_PEER, **more: Any) -> EngineSettings:
    """Settings with this policy for private chats."""
    return replace(QUICK, dm_scope=policy, **more)


def linked(**people: str) -> dict[str, str]:
    """Identity links of accounts ``p<number>``."""
    return {f"{ADAPTER}:{name.removeprefix('p')}": who for name, who in people.items()}


async def say(rig: Rig, text: str, where: ConversationId, number: int = 1) -> None:
    """Somebody writes, and has something remembered."""
    await rig.engine.service.meet(where, person(number))
    await rig.remember(text, where, person(number))


async def scope_of(rig: Rig, where: ConversationId) -> str:
    """The name of the scope that the conversation has now."""
    found = (await rig.engine.service.describe(conversation_id=where)).resolution
    assert found.scope
    return found.scope.name


async def left(rig: Rig, where: ConversationId) -> dict[str, int]:
    """What the conversation is told: former scopes with the number of their memories."""
    report = await rig.engine.service.describe(conversation_id=where)
    return {one.source.name: one.memories for one in report.left}


async def bring(
    rig: Rig, where: ConversationId, *names: str, actor: Actor = ADMIN
) -> list[Brought] | Refused:
    """What comes of asking for it."""
    return await rig.engine.service.bring(names, conversation_id=where, actor=actor)


def counted(outcome: object) -> list[tuple[int, int]]:
    """Memories and turns that were brought."""
    assert isinstance(outcome, list), outcome
    return [(one.memories, one.turns) for one in outcome]


CHANGES: list[tuple[EngineSettings, EngineSettings]] = [
    (to(DmScope.PER_PEER), to(DmScope.PER_CHANNEL_PEER)),
    (to(DmScope.PER_CHANNEL_PEER), to(DmScope.PER_ACCOUNT_CHANNEL_PEER)),
    (to(), to(DmScope.PUBLIC, dm_scope_by_account={ADAPTER: DmScope.PER_CHANNEL_PEER})),
    (to(), to(identity_links=linked(p1="小明"))),
    (to(identity_links=linked(p1="小明")), to()),
    (to(identity_links=linked(p1="小明")), to(identity_links=linked(p1="小刚"))),
]


@pytest.mark.parametrize(("before", "after"), CHANGES)
async def test_a_change_of_name_leaves_nothing_behind_unsaid_and_its_person_brings_it(
    tmp_path: Path, before: EngineSettings, after: EngineSettings
) -> None:
    async with running(tmp_path, settings=before, follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        await say(rig, "备用钥匙在花盆下面", ONE)
        await say(rig, "存折放在琴凳里面", TWO, 2)
        former = await scope_of(rig, ONE)
        assert await left(rig, ONE) == {}
    async with running(tmp_path, settings=after, follow=False) as rig:
        assert await rig.texts(QUESTION, ONE) == []
        assert await left(rig, ONE) == {former: 2}
        assert [one for one in (await rig.engine.status()).left if one.source.name == former]
        assert is_denied(await bring(rig, ONE, actor=person(2)))
        assert counted(await bring(rig, ONE, actor=person(1))) == [(2, 0)]
        assert await left(rig, ONE) == {}
        assert await rig.texts(QUESTION, ONE) == ["存折放在饼干盒里"]
        assert "存折放在饼干盒里" not in await rig.texts("饼干盒里的存折", TWO)
        (stored,) = [
            one
            for one in await rig.engine.service.newest(conversation_id=ONE, limit=9)
            if "存折" in one.memory.judgment
        ]
        assert stored.memory.provenance.person == f"{ADAPTER}:1"
        assert counted(await bring(rig, ONE)) == []
    async with running(tmp_path, settings=after, follow=False) as rig:
        undone = await rig.engine.service.restore(conversation_id=ONE, actor=person(1))
        assert isinstance(undone, BroughtBack)
        assert (undone.source, undone.memories, undone.left) == (former, 2, 0)
        assert await left(rig, ONE) == {former: 2}
        assert await rig.texts(QUESTION, ONE) == []
        again = await rig.engine.service.restore(conversation_id=ONE, actor=ADMIN)
        assert is_absent(again)
        assert counted(await bring(rig, ONE)) == [(2, 0)]


BOTH = linked(p1="小明", p2="小明")


@pytest.mark.parametrize(
    ("before", "after", "brought", "rest"),
    [
        (to(identity_links=BOTH), to(identity_links=linked(p1="小明")), 1, 0),
        (to(identity_links=BOTH), to(identity_links=dict.fromkeys(BOTH, "明明")), 3, 0),
        (to(DmScope.MAIN), to(), 1, 1),
    ],
    ids=["taken out of a link", "a link that is renamed", "out of the shared scope"],
)
async def test_each_takes_along_its_own_words_and_one_person_all(
    tmp_path: Path, before: EngineSettings, after: EngineSettings, brought: int, rest: int
) -> None:
    """The second of two; ``rest`` is what is left of the first one's then."""
    async with running(tmp_path, settings=before, follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        await say(rig, "自行车的锁是红色的", TWO, 2)
        joined = await scope_of(rig, ONE)
        note = rig.root / "memory" / "scopes" / joined / "entities.md"
        note.write_text("## 小明怕打雷\n", encoding="utf-8")
    async with running(tmp_path, settings=after, follow=False) as rig:
        await rig.engine.reconcile()
        assert await left(rig, TWO) == {joined: brought}
        assert counted(await bring(rig, TWO)) == [(brought, 0)]
        assert await left(rig, TWO) == {}
        assert await left(rig, ONE) == ({joined: rest} if rest else {})
        assert "自行车的锁是红色的" in await rig.texts("自行车的锁是什么颜色", TWO)
        for question, text in ((QUESTION, "存折放在饼干盒里"), ("小明怕什么", "小明怕打雷")):
            assert (text in await rig.texts(question, TWO)) is (brought == 3)
            assert (text in await rig.texts(question, ONE)) is (rest == 0)


@pytest.mark.parametrize("wider", [DmScope.PUBLIC, DmScope.MAIN, None])
async def test_where_others_see_the_target_too_it_has_to_be_named(
    tmp_path: Path, wider: DmScope | None
) -> None:
    scope_map = {private(2).umo: "家人", ONE.umo: "家人"} if wider is None else {}
    async with running(tmp_path, {}, settings=to(), follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        former = await scope_of(rig, ONE)
    async with running(tmp_path, scope_map, settings=to(wider or DmScope.PER_PEER)) as rig:
        target = await scope_of(rig, ONE)
        assert await left(rig, ONE) == {former: 1}
        refused = await bring(rig, ONE)
        assert isinstance(refused, Refused)
        assert [(one.source.name, one.target.name) for one in refused.left] == [(former, target)]
        assert await rig.texts(QUESTION, TWO) == []
        odd = await bring(rig, ONE, target, "邻居")
        assert isinstance(odd, Refused)
        assert (odd.reason, odd.detail) == ("unknown_scope", "邻居")
        assert counted(await bring(rig, ONE, target)) == [(1, 0)]
        assert await rig.texts(QUESTION, TWO) == ["存折放在饼干盒里"]


async def test_a_groups_is_told_to_the_group_and_to_no_other(tmp_path: Path) -> None:
    per_group = replace(QUICK, group_scope=GroupScope.PER_GROUP)
    async with running(tmp_path, {}, settings=per_group, follow=False) as rig:
        await say(rig, "社团的钥匙在值班室", group("777#5"))
        former = await scope_of(rig, group(777))
    async with running(tmp_path, {}, settings=QUICK, follow=False) as rig:
        for where in (group(777), group("777#5"), group("777#6")):
            assert await left(rig, where) == {former: 1}
        for where in (group(778), ONE, OFFICE):
            assert await left(rig, where) == {}
        assert counted(await bring(rig, group(777), "public")) == [(1, 0)]
        assert await rig.texts("社团的钥匙在哪里", group(778)) == ["社团的钥匙在值班室"]


async def test_an_admin_brings_anothers_from_afar_by_its_name(tmp_path: Path) -> None:
    async with running(tmp_path, settings=to(), follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        await say(rig, "自行车的锁是红色的", TWO, 2)
        former = await scope_of(rig, ONE)
    async with running(tmp_path, settings=to(DmScope.PER_CHANNEL_PEER), follow=False) as rig:
        told = {one.source.name: one.memories for one in (await rig.engine.status()).left}
        assert told.pop(former) == 1
        assert len(told) == 1
        assert await left(rig, OFFICE) == {}
        assert counted(await bring(rig, OFFICE)) == []
        assert isinstance(await bring(rig, OFFICE, "dm-9-xxxxxxxx"), Refused)
        assert counted(await bring(rig, OFFICE, former)) == [(1, 0)]
        assert await rig.texts(QUESTION, ONE) == ["存折放在饼干盒里"]
        assert await rig.texts(QUESTION, OFFICE) == []
        assert await left(rig, TWO) != {}
        undone = await rig.engine.service.restore(conversation_id=OFFICE, actor=ADMIN)
        assert isinstance(undone, BroughtBack)
        assert await rig.texts(QUESTION, ONE) == []


async def test_queued_turns_stay_where_they_were_said_unless_the_scope_is_brought_along(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, settings=to(), follow=False) as rig:
        service = rig.engine.service
        await service.meet(ONE, person(1))
        tickets = [
            await service.observe(Turn(person(1), text, "好"), conversation_id=ONE)
            for text in ("存折搬到琴凳里了", "我换了新的自行车锁", "窗帘是蓝色的")
        ]
        former = await scope_of(rig, ONE)
    stays, goes, back = (one for one in tickets if isinstance(one, Ticket))
    async with running(tmp_path, settings=to(DmScope.PER_CHANNEL_PEER), follow=False) as rig:
        service = rig.engine.service

        async def learn(ticket: Ticket, text: str) -> None:
            draft = MemoryDraft(text, actor=person(1), active=False)
            assert (await service.feedback(Feedback(drafts=(draft,)), ticket=ticket)).known

        await learn(stays, "存折现在放在琴凳里")
        assert await rig.texts(QUESTION, ONE) == []
        report = await service.describe(conversation_id=ONE)
        assert [(one.source.name, one.memories, one.turns) for one in report.left] == [
            (former, 1, 2)
        ]
        assert counted(await bring(rig, ONE)) == [(1, 2)]
        await learn(goes, "他换了新的自行车锁")
        assert await rig.texts("自行车锁换了吗", ONE) == ["他换了新的自行车锁"]
        assert isinstance(await service.restore(conversation_id=ONE, actor=ADMIN), BroughtBack)
        await learn(back, "他的窗帘是蓝色的")
        assert await rig.texts("窗帘是什么颜色的", ONE) == []


async def test_what_was_forgotten_there_stays_forgotten_where_its_turns_are_brought(
    tmp_path: Path,
) -> None:
    text = "存折放在饼干盒里"
    async with running(tmp_path, settings=to(), follow=False) as rig:
        service = rig.engine.service
        await service.meet(ONE, person(1))
        ticket = await service.observe(Turn(person(1), text, "好"), conversation_id=ONE)
        stored = await rig.remember(text, ONE, person(1))
        memory_id = stored.memory.memory.memory_id
        await service.forget(memory_id, conversation_id=ONE, actor=person(1))
    assert isinstance(ticket, Ticket)
    async with running(tmp_path, settings=to(DmScope.PER_CHANNEL_PEER), follow=False) as rig:
        assert counted(await bring(rig, ONE)) == [(0, 1)]
        draft = MemoryDraft(text, actor=person(1), active=False)
        await rig.engine.service.feedback(Feedback(drafts=(draft,)), ticket=ticket)
        assert await rig.engine.service.newest(conversation_id=ONE, limit=9) == []


async def test_without_the_record_the_policies_tell_what_was_derived(tmp_path: Path) -> None:
    async with running(tmp_path, settings=to(), follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        await say(rig, "自行车的锁是红色的", TWO, 2)
        former = await scope_of(rig, ONE)
    with closing(sqlite3.connect(tmp_path / "state" / "state.sqlite")) as connection:
        connection.execute("DELETE FROM derived_scope")
        connection.commit()
    async with running(tmp_path, settings=to(DmScope.PER_CHANNEL_PEER), follow=False) as rig:
        assert await left(rig, ONE) == {former: 1}
        assert (await rig.engine.status()).left == ()
        await rig.engine.service.meet(ONE, person(1))
        assert [one.source.name for one in (await rig.engine.status()).left] == [former]


async def test_nothing_is_brought_while_the_filter_is_off(tmp_path: Path) -> None:
    async with running(tmp_path, settings=to(), follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
    off = to(DmScope.PER_CHANNEL_PEER, scope_filter_enabled=False)
    async with running(tmp_path, settings=off, follow=False) as rig:
        refused = await bring(rig, ONE)
        assert isinstance(refused, Refused)
        assert refused.reason == "learning_paused"


async def test_two_pairs_of_scopes_whose_names_run_together_go_back_one_by_one(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, {}, settings=to(identity_links=linked(p1="a"))) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        one = await scope_of(rig, ONE)
    longer = to(identity_links=linked(p2=f"{one.removeprefix('dm-')}-b"))
    async with running(tmp_path, {}, settings=longer) as rig:
        await say(rig, "备用钥匙在花盆下面", TWO, 2)
        two = await scope_of(rig, TWO)
    rest = two.removeprefix(f"{one}-")
    now = {ONE.umo: f"{rest}-c", TWO.umo: "c"}
    assert f"{one}-{now[ONE.umo]}" == f"{two}-{now[TWO.umo]}"
    async with running(tmp_path, now, settings=to(), follow=False) as rig:
        for where in (ONE, TWO):
            assert counted(await bring(rig, where)) == [(1, 0)]
        undo = rig.engine.service.restore
        for where, source in ((TWO, two), (ONE, one)):
            back = await undo("", conversation_id=where, actor=ADMIN)
            assert back == BroughtBack(source, now[where.umo], 1, 0)
            assert await undo("", conversation_id=where, actor=ADMIN) == absent()
            assert await left(rig, where) == {source: 1}
        assert await rig.texts("存折放在哪里", ONE) == []


async def test_a_bringing_is_undone_in_its_turn(tmp_path: Path) -> None:
    """What was done since and cannot be undone is passed over, what was done before waits."""
    async with running(tmp_path, {}, settings=to(), follow=False) as rig:
        await say(rig, "存折放在饼干盒里", ONE)
        former = await scope_of(rig, ONE)
    async with running(tmp_path, {ONE.umo: "家人"}, settings=to(), follow=False) as rig:
        service = rig.engine.service
        ids = []
        for text in ("备用钥匙在花盆下面", "帐篷在阁楼里"):
            stored = await rig.remember(text, ONE, person(1))
            ids.append(stored.memory.memory.memory_id)
        await service.forget(ids[0], conversation_id=ONE, actor=ADMIN)
        assert counted(await bring(rig, ONE)) == [(1, 0)]
        await service.edit(ids[1], "帐篷在车库里", conversation_id=ONE, actor=ADMIN)
        await service.forget(ids[1], conversation_id=ONE, actor=person(1))
        back = await service.restore("", conversation_id=ONE, actor=ADMIN)
        assert back == BroughtBack(former, "家人", 1, 0)
        assert is_changed(
            await service.restore("", conversation_id=ONE, actor=ADMIN),
            DeedKind.FORGOTTEN,
            undone=True,
        )
        left_over = await service.restore("", conversation_id=ONE, actor=ADMIN)
        assert left_over == absent("")
