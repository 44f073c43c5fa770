"""What the bot has only heard in a private chat without a scope of its own is its speaker's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import (
    Actor,
    BroughtBack,
    ConversationId,
    DmScope,
    Exported,
    Feedback,
    Imported,
    MemoryDraft,
    MemoryKind,
    NotVisible,
    Rejected,
    RejectReason,
    Replaced,
    Restored,
    Stored,
    StoredMemory,
    TaskAction,
    TaskChange,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.tasks import is_done
from astrbot_plugin_scoped_memory.llm_memory.consolidation.models import Postponed
from astrbot_plugin_scoped_memory.llm_memory.consolidation.rules.questions import SYSTEM
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Contradiction, Merge
from astrbot_plugin_scoped_memory.llm_memory.primer.primer_service import Written
from astrbot_plugin_scoped_memory.tests.fakes.chat import ScriptedChat
from astrbot_plugin_scoped_memory.tests.support.arms_alone import recall_by
from astrbot_plugin_scoped_memory.tests.support.engines import (
    QUICK,
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import reflect

pytestmark = pytest.mark.engine

MING, HONG, ADMIN = person(5001, "小明"), person(5002, "小红"), person(9, "老李", admin=True)
CHAT, OTHERS_CHAT, ROOM, FAMILY = private(5001), private(5002), group(999), group(777)
MOVE = "小明打算年底搬出去住"
QUESTION = "小明年底有什么打算"
WRITTEN = Written(line=repr, heading=lambda part, names: f"{part}{names}", words=str)
SETTINGS = replace(QUICK, relevance_floor=0.0)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An engine with the usual map."""
    async with running(tmp_path, settings=SETTINGS) as made:
        yield made


async def hear(
    rig: Rig,
    text: str,
    where: ConversationId = CHAT,
    who: Actor = MING,
    said: str = "",
    kind: MemoryKind = MemoryKind.KNOWLEDGE,
    tags: tuple[str, ...] = (),
) -> StoredMemory:
    """Reflection learns this from a turn in which it was said."""
    turn = Turn(who, said or text, "嗯嗯")
    ticket = await rig.engine.service.observe(turn, conversation_id=where)
    assert isinstance(ticket, Ticket), ticket
    draft = MemoryDraft(text, kind=kind, tags=tags, active=False, actor=who)
    report = await rig.engine.service.feedback(Feedback(drafts=(draft,)), ticket=ticket)
    (outcome,) = report.outcomes
    assert isinstance(outcome, Stored), outcome
    return outcome.memory


async def shown(rig: Rig, where: ConversationId, who: Actor, words: str = "搬出去") -> set[str]:
    """The doors through which a conversation is shown the words."""
    service, doors = rig.engine.service, {}
    doors["recall"] = await rig.recall(QUESTION, where, 20)
    for arm in (Arm.LEXICAL, Arm.DENSE):
        doors[arm] = await recall_by(
            rig.engine, {arm}, QUESTION, conversation_id=where, limit=20, token_budget=5000
        )
    for name, query in (("days", "今天说了什么"), ("tasks?", "有什么待办"), ("likes", "喜欢什么")):
        doors[name] = await rig.recall(query, where, 20)
    doors["newest"] = await service.newest(conversation_id=where, limit=100)
    change = TaskChange(TaskAction.LIST)
    doors["tasks"] = await service.update_tasks(change, conversation_id=where, actor=who)
    doors["explain"] = await service.explain(conversation_id=where)
    everything = [*rig.engine.rooms.catalogue.all()]
    doors["expand"] = [
        await service.expand(stored.pointer, conversation_id=where) for stored in everything
    ]
    exported = await service.export(conversation_id=where, actor=replace(who, admin=True))
    assert isinstance(exported, Exported)
    doors["export"] = (rig.root / "exports" / exported.name).read_text("utf-8")
    return {name for name, seen in doors.items() if words in repr(seen)}


ALL_DOORS = {"recall", "lexical", "dense", "newest", "explain", "expand", "export"}


async def test_what_nobody_is_known_to_have_said_stays_in_the_chat_in_which_it_was_said(
    rig: Rig,
) -> None:
    nobody = Actor("", "")
    await hear(rig, MOVE, who=nobody)
    assert await rig.texts(QUESTION, CHAT)
    assert await rig.texts(QUESTION, OTHERS_CHAT) == []
    assert await rig.texts(QUESTION, ROOM) == []


async def test_a_web_chat_is_private_too(rig: Rig) -> None:
    def web(user: str) -> ConversationId:
        umo = f"webchat:FriendMessage:webchat!{user}!s1"
        return replace(private(user), umo=umo, adapter="webchat", account="webchat", peer=user)

    await hear(rig, MOVE, web("anna"), Actor("webchat:anna", "Anna"))
    assert await rig.texts(QUESTION, web("anna"))
    assert await rig.texts(QUESTION, web("bob")) == []


async def test_an_entry_that_its_owner_makes_active_by_hand_is_public(tmp_path: Path) -> None:
    async with running(tmp_path, settings=SETTINGS) as rig:
        stored = await hear(rig, MOVE)
        await rig.until_indexed()
    path = tmp_path / "memory" / "scopes" / "public" / stored.path
    path.write_text(path.read_text("utf-8").replace("被动", "主动"), "utf-8")
    async with running(tmp_path, settings=SETTINGS) as rig:
        await rig.until_indexed()
        assert await rig.texts(QUESTION, OTHERS_CHAT) == [MOVE]
        assert await rig.texts(QUESTION, CHAT) == [MOVE]


async def test_what_strangers_said_in_private_takes_no_place_in_an_answer(rig: Rig) -> None:
    """Better matches that this reader may not see do not hide the one that everybody may."""
    for number in range(150):
        who = person(70_000 + number)
        await hear(rig, f"年底有什么打算：第{number}号要搬走", private(70_000 + number), who)
    openly = await hear(rig, "大家说年底聚一次，别的打算以后再说", ROOM, HONG)
    await rig.until_indexed()
    for arm in (None, {Arm.LEXICAL}, {Arm.DENSE}):
        recall = await recall_by(
            rig.engine, arm, "年底有什么打算", conversation_id=ROOM, limit=5, token_budget=5000
        )
        assert [hit.memory_id for hit in recall.hits] == [openly.memory.memory_id]
        assert recall.trace.dropped.get("scope_check", 0) == 0


async def test_a_confidence_is_stored_in_public_by_nobody(tmp_path: Path) -> None:
    words = "别告诉别人：我打算年底搬出去"
    async with running(tmp_path, settings=SETTINGS) as rig:
        service = rig.engine.service
        for where in (CHAT, ROOM):
            for draft in (
                MemoryDraft(words, actor=MING),
                MemoryDraft(MOVE, reasoning="他让我保密", actor=MING),
                MemoryDraft(MOVE, actor=ADMIN, heard=words),
            ):
                outcome = await service.remember(draft, conversation_id=where)
                assert outcome == Rejected(RejectReason.CONFIDENCE)
            change = TaskChange(TaskAction.ADD, ("年底搬家",), heard=words)
            report = await service.update_tasks(change, conversation_id=where, actor=MING)
            assert not isinstance(report, Rejected)
            assert report.outcomes[0].rejected == Rejected(RejectReason.CONFIDENCE)
            observed = await service.observe(Turn(MING, words, "好的"), conversation_id=where)
            assert not isinstance(observed, Ticket)
        kept = await service.remember(MemoryDraft(words, actor=MING), conversation_id=FAMILY)
        assert isinstance(kept, Stored)
        assert isinstance(
            await service.observe(Turn(MING, words, "好的"), conversation_id=FAMILY), Ticket
        )
        moved = await service.move(
            kept.memory.memory.memory_id, "public", conversation_id=FAMILY, actor=ADMIN
        )
        assert moved == Rejected(RejectReason.CONFIDENCE)
    for path in (tmp_path / "memory" / "scopes" / "public").rglob("*.md"):
        assert "搬" not in path.read_text("utf-8")


@pytest.mark.parametrize("kind", ["contradiction", "merge"])
async def test_what_was_only_heard_never_becomes_public_by_correction_or_merge(
    rig: Rig, kind: str
) -> None:
    service = rig.engine.service
    asked = await rig.remember("小明喜欢喝咖啡", CHAT, MING)
    heard = await hear(rig, "小明喜欢喝红茶", said="我喜欢喝红茶")
    turn = Turn(MING, "我不喜欢喝咖啡了，改喝白开水，因为查出了胃病", "好的")
    ticket = await service.observe(turn, conversation_id=CHAT)
    assert isinstance(ticket, Ticket)
    ids = asked.memory.memory.memory_id, heard.memory.memory_id
    new = "小明不喜欢喝咖啡了，改喝白开水"
    draft = MemoryDraft(new, "查出了胃病", ("胃病",), active=False, actor=MING)
    merged = MemoryDraft("小明喜欢喝咖啡和红茶", "查出了胃病", ("胃病",), active=False)
    said = (
        Feedback(contradictions=(Contradiction(ids[0], draft, ticket.ids[0]),))
        if kind == "contradiction"
        else Feedback(merges=(Merge(ids, merged),))
    )
    report = await service.feedback(said, ticket=ticket)
    if kind == "contradiction":
        assert isinstance(report.outcomes[0], Replaced)
        assert new in await rig.texts("小明喝什么", CHAT)
    for where in (ROOM, OTHERS_CHAT):
        assert not [t for t in await rig.texts("小明喝什么", where, 20) if "红茶" in t]
        newest = await service.newest(conversation_id=where, limit=20)
        assert "胃病" not in repr(newest)
        assert "白开水" not in repr(newest)


async def test_the_night_tidies_it_up_and_publishes_nothing_of_it(tmp_path: Path) -> None:
    clock = Ticker()
    async with running(tmp_path, settings=SETTINGS, clock=clock) as rig:
        await hear(rig, MOVE, kind=MemoryKind.EVENT)
        await hear(rig, "小明打算年底搬去郊区", kind=MemoryKind.TASK)
        await hear(rig, "大家约好年底聚餐", ROOM, HONG, kind=MemoryKind.EVENT)
        await hear(rig, "小红订好了包间", ROOM, HONG, kind=MemoryKind.EVENT)
        await hear(rig, "小红说停车不要钱", ROOM, HONG, kind=MemoryKind.EVENT)
        await rig.until_indexed()
        clock.now += timedelta(days=1)
        await rig.engine.loop.sleep.run_once("command")
        public = tmp_path / "memory" / "scopes" / "public"
        assert "聚餐" in (public / "MEMORY.md").read_text("utf-8")
        for page in public.glob("*.md"):
            if page.name in ("MEMORY.md", "PRIMER.md"):
                assert "搬" not in page.read_text("utf-8")
        (digest,) = [s for s in rig.engine.rooms.catalogue.all() if "日记" in s.memory.tags]
        assert digest.memory.provenance.conversation == ROOM.umo
        assert "搬" not in digest.memory.judgment
        assert await shown(rig, OTHERS_CHAT, HONG, "搬") == set()


@pytest.mark.parametrize(("where", "journals"), [(CHAT, 0), (ROOM, 1)])
async def test_a_day_of_private_talk_alone_has_no_public_journal(
    tmp_path: Path, where: ConversationId, journals: int
) -> None:
    clock, chat = Ticker(), ScriptedChat(otherwise=lambda _: "小明说要搬出去。")
    async with running(tmp_path, settings=SETTINGS, chat=chat, clock=clock) as rig:
        for text in (MOVE, "小明订好了搬家公司", "小明去看了郊区的房子"):
            await hear(rig, text, where, kind=MemoryKind.EVENT)
        await rig.until_indexed()
        clock.now += timedelta(days=1)
        report = await rig.engine.loop.sleep.run_once("command")
        assert report.postponed is Postponed.NO
        assert {call.system for call in chat.calls} <= {SYSTEM}  # it asks for questions
        written = [s for s in rig.engine.rooms.catalogue.all() if "日记" in s.memory.tags]
        assert len(written) == journals


async def test_tasks_that_were_only_heard_are_done_by_their_person_and_seen_by_nobody_else(
    rig: Rig,
) -> None:
    service = rig.engine.service
    await hear(rig, "年底找搬家公司", kind=MemoryKind.TASK)
    for where, who in ((OTHERS_CHAT, HONG), (ROOM, MING)):
        done = TaskChange(TaskAction.DONE, ("年底找搬家公司",))
        report = await service.update_tasks(done, conversation_id=where, actor=who)
        assert "unknown" in repr(report)
    report = await service.update_tasks(done, conversation_id=CHAT, actor=MING)
    assert not isinstance(report, Rejected)
    (task,) = rig.engine.rooms.catalogue.all()
    assert is_done(task)


async def test_a_primer_tells_of_public_what_its_own_people_or_an_admin_said(
    tmp_path: Path,
) -> None:
    clock = Ticker()
    loop = replace(QUICK.loop, prime_after_hours=1)
    async with running(tmp_path, settings=replace(QUICK, loop=loop), clock=clock) as rig:
        service = rig.engine.service
        strangers = group(1234)
        for where, who, text in (
            (strangers, person(5003, "小刚"), "陌生人要去取快递"),
            (FAMILY, MING, "家里要换灯泡"),
            (strangers, MING, "小明要还图书馆的书"),
            (strangers, ADMIN, "大家周五前交作业"),
            (ROOM, HONG, "房间里要订蛋糕"),
        ):
            change = TaskChange(TaskAction.ADD, (text,))
            await service.update_tasks(change, conversation_id=where, actor=who)
            draft = MemoryDraft(f"今天{text}了", kind=MemoryKind.EVENT, actor=who)
            assert isinstance(await service.remember(draft, conversation_id=where), Stored)
        await hear(rig, "小明打算年底搬出去", kind=MemoryKind.EVENT)

        async def primer(where: ConversationId, who: Actor) -> str:
            for _ in range(2):
                clock.now += timedelta(hours=2)
                made = await service.prime(conversation_id=where, actor=who, written=WRITTEN)
            return repr(made)

        told = await primer(FAMILY, MING)
        for words in ("灯泡", "图书馆", "作业"):
            assert words in told
        for words in ("快递", "蛋糕", "搬出去"):
            assert words not in told
        told = await primer(ROOM, HONG)
        assert "蛋糕" in told
        assert "作业" in told
        for words in ("快递", "图书馆", "搬出去"):
            assert words not in told
        told = await primer(CHAT, MING)
        assert "搬出去" in told
        assert "快递" not in told
        assert "搬出去" not in await primer(OTHERS_CHAT, HONG)
        # Asked for, what is public is found by everybody.
        assert any("快递" in text for text in await rig.texts("陌生人要去取什么", FAMILY))


async def test_what_an_older_index_names_public_is_shown_to_nobody(rig: Rig) -> None:
    stored = await hear(rig, MOVE)
    old = Key("public", stored.memory.memory_id)
    assert rig.engine.rooms.catalogue.at(old) is None
    assert rig.engine.rooms.catalogue.get(old) is not None  # its entry can be found and changed


async def test_what_a_woken_agent_stores_in_an_unmapped_private_chat_is_its_persons_alone(
    rig: Rig,
) -> None:
    for where in (CHAT, ROOM):
        draft = MemoryDraft(f"提醒过小明去{where.session}号楼取药", actor=AGENT)
        outcome = await rig.engine.service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored), outcome
    question = "提醒小明去几号楼取药"
    in_chat, in_room = (f"提醒过小明去{where.session}号楼取药" for where in (CHAT, ROOM))
    assert set(await rig.texts(question, CHAT)) == {in_chat, in_room}
    for where in (OTHERS_CHAT, ROOM, FAMILY):
        assert await rig.texts(question, where) == [in_room]


AGENT = replace(MING, name="机器人（代小明）", spoke=False)


@pytest.mark.parametrize("by_agent", [True, False])
async def test_an_export_that_is_imported_again_publishes_nothing(
    tmp_path: Path, by_agent: bool
) -> None:
    words = "提醒过小明去12号楼取药" if by_agent else MOVE
    question = "小明去几号楼取药" if by_agent else QUESTION
    async with running(tmp_path / "a", settings=SETTINGS) as rig:
        if by_agent:
            draft = MemoryDraft(words, actor=AGENT)
            await rig.engine.service.remember(draft, conversation_id=CHAT)
        else:
            await hear(rig, words)
        exported = await rig.engine.service.export(conversation_id=CHAT, actor=ADMIN)
        assert isinstance(exported, Exported)
        text = (tmp_path / "a" / "exports" / exported.name).read_text("utf-8")
    assert words in text
    async with running(tmp_path / "b", settings=SETTINGS) as rig:
        folder = tmp_path / "b" / "imports"
        folder.mkdir(exist_ok=True)
        (folder / "x.jsonl").write_text(text, "utf-8")
        for _ in range(2):
            report = await rig.engine.service.import_(
                "x.jsonl", conversation_id=private(9), actor=ADMIN
            )
        assert isinstance(report, Imported)
        assert report.known == 1
        assert await rig.texts(question, CHAT) == [words]
        for where in (private(9), ROOM):
            assert await rig.texts(question, where) == []


async def test_what_woken_agents_stored_is_their_persons_in_one_piece_too(rig: Rig) -> None:
    service = rig.engine.service
    ids = []
    for words in ("小明喜欢喝咖啡", "小明喜欢喝红茶"):
        stored = await service.remember(MemoryDraft(words, actor=AGENT), conversation_id=CHAT)
        assert isinstance(stored, Stored)
        ids.append(stored.memory.memory.memory_id)
    ticket = await service.observe(Turn(MING, "我渴了", "好的"), conversation_id=CHAT)
    assert isinstance(ticket, Ticket)
    whole = MemoryDraft("小明喜欢喝咖啡和红茶", active=False)
    await service.feedback(Feedback(merges=(Merge(tuple(ids), whole),)), ticket=ticket)
    assert await rig.texts("小明喜欢喝什么", CHAT) == ["小明喜欢喝咖啡和红茶"]
    assert await rig.texts("小明喜欢喝什么", ROOM) == []


async def test_a_move_to_public_looks_at_all_that_an_entry_says(rig: Rig) -> None:
    service = rig.engine.service
    change = TaskChange(TaskAction.ADD, ("找搬家公司",), progress="别告诉别人，定金付了")
    await service.update_tasks(change, conversation_id=FAMILY, actor=MING)
    draft = MemoryDraft(MOVE, tags=("保密",), actor=MING)
    await service.remember(draft, conversation_id=FAMILY)
    for stored in list(rig.engine.rooms.catalogue.all()):
        moved = await service.move(
            stored.memory.memory_id, "public", conversation_id=FAMILY, actor=ADMIN
        )
        assert moved == Rejected(RejectReason.CONFIDENCE)


async def test_what_is_brought_to_public_publishes_no_confidence(tmp_path: Path) -> None:
    admin = replace(MING, admin=True)
    async with running(tmp_path, settings=replace(SETTINGS, dm_scope=DmScope.PER_PEER)) as rig:
        service = rig.engine.service
        await service.conversations.meet(CHAT, MING)
        await rig.remember(f"别告诉别人：{MOVE}", CHAT, MING)
        await rig.remember("小明喜欢喝红茶", CHAT, MING)
        heard = await hear(rig, "小明打算春天去旅行")
        secret = Turn(MING, "别告诉别人：我打算年底搬出去", "嗯")
        assert isinstance(await service.observe(secret, conversation_id=CHAT), Ticket)
    learned = '{"new_memories": [{"judgment": "小明打算年底搬出去住", "turn": 1}]}'
    chat = ScriptedChat(otherwise=lambda _: learned)
    async with running(tmp_path, settings=SETTINGS, chat=chat) as rig:
        service = rig.engine.service
        outcome = await service.admin.bring(["public"], conversation_id=CHAT, actor=admin)
        assert isinstance(outcome, list)
        (brought,) = outcome
        assert (brought.memories, brought.left) == (2, 1)
        assert await rig.texts("小明", ROOM, 20) == ["小明喜欢喝红茶"]
        assert heard.memory.judgment in await rig.texts("小明", CHAT, 20)
        await reflect(rig, CHAT)
        assert not [
            s for s in rig.engine.rooms.catalogue.all() if s.scope.is_public and "搬" in repr(s)
        ]
        # What went back is brought no more: forgotten since, it is not counted as left here.
        await service.restore(conversation_id=CHAT, actor=admin)
    async with running(tmp_path, settings=replace(SETTINGS, dm_scope=DmScope.PER_PEER)) as rig:
        service = rig.engine.service
        await service.forget(heard.memory.memory_id, conversation_id=CHAT, actor=MING)
    async with running(tmp_path, settings=SETTINGS) as rig:
        service = rig.engine.service
        await service.admin.bring(["public"], conversation_id=CHAT, actor=admin)
        undone = await service.restore(conversation_id=CHAT, actor=admin)
        assert isinstance(undone, BroughtBack)
        assert (undone.memories, undone.left) == (1, 0)


async def test_what_nobody_else_reads_nobody_else_restores_or_purges(rig: Rig) -> None:
    service = rig.engine.service
    heard = await hear(rig, MOVE)
    task = await hear(rig, "年底找搬家公司", kind=MemoryKind.TASK)
    done = TaskChange(TaskAction.DONE, ("年底找搬家公司",))
    await service.update_tasks(done, conversation_id=CHAT, actor=MING)
    await service.forget(heard.memory.memory_id, conversation_id=CHAT, actor=MING)
    for where, who in ((ROOM, ADMIN), (ROOM, MING), (private(9), ADMIN)):
        for one in (heard, task):
            named = one.memory.memory_id
            outcome = await service.restore(named, conversation_id=where, actor=who)
            assert outcome == NotVisible(named), (where, who)
        named = heard.memory.memory_id
        outcome = await service.forget(named, conversation_id=where, actor=who, for_good=True)
        assert outcome == NotVisible(named), (where, who)
    outcome = await service.restore(heard.memory.memory_id, conversation_id=CHAT, actor=MING)
    assert isinstance(outcome, Restored)
    assert MOVE in await rig.texts(QUESTION, CHAT)


@pytest.mark.parametrize("action", [TaskAction.ADD, TaskAction.DONE])
async def test_what_a_woken_agent_says_of_everybodys_task_is_not_for_everybody(
    rig: Rig, action: TaskAction
) -> None:
    service = rig.engine.service
    task = TaskChange(TaskAction.ADD, ("交报告",))
    await service.update_tasks(task, conversation_id=ROOM, actor=HONG)
    news = TaskChange(action, ("交报告",), progress="小明搬出去了，没交")
    report = await service.update_tasks(news, conversation_id=CHAT, actor=AGENT)
    assert not isinstance(report, Rejected)
    assert await shown(rig, OTHERS_CHAT, HONG) == set()
    (stored,) = rig.engine.rooms.catalogue.all()
    assert is_done(stored) is (action is TaskAction.DONE)


async def test_what_is_told_as_learned_is_passive_whatever_its_draft_says(rig: Rig) -> None:
    service = rig.engine.service
    for where, text in ((CHAT, MOVE), (ROOM, "大家年底聚餐")):
        ticket = await service.observe(Turn(MING, text, "嗯"), conversation_id=where)
        assert isinstance(ticket, Ticket)
        draft = MemoryDraft(text, actor=MING, active=True)
        await service.feedback(Feedback(drafts=(draft,)), ticket=ticket)
    assert MOVE in await rig.texts("年底有什么打算", CHAT)
    assert await shown(rig, OTHERS_CHAT, HONG) == set()
    assert await rig.texts("年底聚餐", OTHERS_CHAT) == ["大家年底聚餐"]


@pytest.mark.parametrize("chats", [1, 2])
async def test_a_day_of_a_private_scope_is_published_by_no_bringing(
    tmp_path: Path, chats: int
) -> None:
    clock, again = Ticker(), replace(CHAT, umo="second:FriendMessage:5001", account="second")
    per_peer = replace(SETTINGS, dm_scope=DmScope.PER_PEER)
    admin = replace(MING, admin=True)
    async with running(tmp_path, settings=per_peer, clock=clock) as rig:
        service = rig.engine.service
        await service.conversations.meet(CHAT, MING)
        await rig.remember("小明喜欢喝茶", CHAT, MING)
        await rig.until_indexed()
        await rig.engine.loop.sleep.run_once("nightly")
        for number in range(4):
            where = again if number % chats else CHAT
            await service.conversations.meet(where, MING)
            await hear(rig, f"小明第{number}次去看了新房子", where, kind=MemoryKind.EVENT)
        await rig.until_indexed()
        clock.now += timedelta(days=1)
        await rig.engine.loop.sleep.run_once("nightly")
        assert [s for s in rig.engine.rooms.catalogue.all() if "日记" in s.memory.tags]
    async with running(tmp_path, settings=SETTINGS, clock=clock) as rig:
        brought = await rig.engine.service.admin.bring(
            ["public"], conversation_id=CHAT, actor=admin
        )
        assert isinstance(brought, list)
        assert (brought[0].memories, brought[0].left) == (7 - chats, chats - 1)
        assert await shown(rig, OTHERS_CHAT, HONG, "新房子") == set()
