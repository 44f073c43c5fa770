"""What the owner's map says over time: damage, confirmation, strangers, first messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    Actor,
    ConversationId,
    ConversationKind,
)
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import (
    ReadsNothing,
    Usable,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Place, Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    DmScope,
    EngineSettings,
    GroupScope,
)
from astrbot_plugin_scoped_memory.llm_memory.models.status import NoticeCode
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    group,
    person,
    private,
)
from astrbot_plugin_scoped_memory.tests.support.scope_books import HELD, Restarts, says

pytestmark = pytest.mark.unit

A, B, C, D = (f"aiocqhttp:GroupMessage:{number}" for number in range(1, 5))


ROOMS = {A: group(1), B: group(2), C: group(3), D: group(4)}


def hear(books: Restarts, *keys: str) -> None:
    """Messages came from these conversations, or from some that these keys decided for."""
    with books.state() as state:
        for key in keys:
            state.mark_seen(key)


@pytest.fixture
def books(tmp_path: Path) -> Restarts:
    """Restarts over one state file."""
    return Restarts(tmp_path)


async def test_an_admins_confirmation_lets_the_keys_go_for_good(books: Restarts) -> None:
    hear(books, A, B, C, D)
    books.start({A: "家人", B: "家人"})
    book = books.start({D: "公司"})
    assert await book.confirm_map() == 2
    assert [says(book, ROOMS[A]), says(book, ROOMS[D])] == ["public", "公司"]
    assert not books.notice(NoticeCode.MAP_DAMAGED)
    assert await book.confirm_map() == 0
    assert says(books.start({D: "公司"}), ROOMS[A]) == "public"
    assert says(books.start({}), ROOMS[D]) == HELD


keys = st.sampled_from([A, B, C, D])
maps = st.one_of(
    st.none(), st.just({}), st.dictionaries(keys, st.sampled_from(["家人", "公司", "public", ""]))
)


@given(st.lists(maps, min_size=1, max_size=6))
@settings(max_examples=max(5, settings().max_examples // 3))
def test_a_private_conversation_is_public_only_after_a_decision(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str] | None]
) -> None:
    books = Restarts(tmp_path_factory.mktemp("book"))
    hear(books, A, B, C, D)
    former: set[str] = set()
    held: set[str] = set()
    for scope_map in history:
        book = books.start(scope_map)
        entries = scope_map or {}
        now = {key for key, value in entries.items() if value in {"家人", "公司"}}
        if held & now:
            held = set()
        elif former and not former & now:
            held |= former
        former = now or former
        for key in (A, B, C, D):
            written = entries.get(key)
            expected = {None: HELD if key in held else "public", "": "<illegal_name>"}
            assert says(book, ROOMS[key]) == expected.get(written, written)
        assert book.damaged is bool(held - entries.keys())
        assert bool(books.notice(NoticeCode.MAP_DAMAGED)) is book.damaged


async def test_the_first_private_message_of_anybody_but_an_admin_warns_of_strangers(
    books: Restarts,
) -> None:
    book, admin = books.start({}), person(1, admin=True)
    await book.meet(private(1), admin, book.resolve(private(1)))
    await book.meet(group(5), person(3), book.resolve(group(5)))
    assert not book.strangers_in_public
    await book.meet(private(2), person(2), book.resolve(private(2)))
    assert book.strangers_in_public
    assert books.notice(NoticeCode.STRANGERS_IN_PUBLIC)
    assert books.start({}).strangers_in_public
    isolated = EngineSettings(dm_scope=DmScope.PER_PEER)
    assert not books.start({}, settings=isolated).strangers_in_public


async def test_who_has_become_an_admin_is_no_stranger(books: Restarts) -> None:
    book = books.start({})
    await book.meet(private(2), person(2), book.resolve(private(2)))
    await book.meet(private(2), person(2, admin=True), book.resolve(private(2)))
    assert not book.strangers_in_public
    assert not books.notice(NoticeCode.STRANGERS_IN_PUBLIC)
    assert not books.start({}).strangers_in_public


async def test_linked_ids_are_one_stranger_and_mapped_chats_none(books: Restarts) -> None:
    linked = EngineSettings(identity_links={"aiocqhttp:1": "小明", "aiocqhttp:2": "小明"})
    book = books.start({"aiocqhttp:FriendMessage:3": "public"}, settings=linked)
    await book.meet(private(3), person(3), book.resolve(private(3)))
    await book.meet(private(4), Actor("", "无名"), book.resolve(private(4)))
    assert not book.strangers_in_public
    for number in (1, 2):
        await book.meet(private(number), person(number), book.resolve(private(number)))
    assert book.strangers_in_public


async def test_who_shares_public_is_told_by_the_policy_of_the_account(books: Restarts) -> None:
    def by_account(account: str, number: int) -> ConversationId:
        umo = f"{account}:FriendMessage:{number}"
        return ConversationId(
            umo, ADAPTER, account, ConversationKind.PRIVATE, str(number), None, ""
        )

    book = books.start({})
    for account, number in (("a", 1), ("a", 2), ("b", 3)):
        await book.meet(
            by_account(account, number), person(number), book.resolve(by_account(account, number))
        )
    for common, accounts, warned in (
        (DmScope.PUBLIC, {}, True),
        (DmScope.PUBLIC, {"b": DmScope.PER_PEER}, True),
        (DmScope.PUBLIC, {"a": DmScope.PER_PEER}, True),
        (DmScope.PUBLIC, {"a": DmScope.PER_PEER, "b": None}, False),
        (DmScope.MAIN, {}, False),
        (DmScope.PER_PEER, {"a": DmScope.PUBLIC}, True),
        (DmScope.PER_PEER, {"b": DmScope.PUBLIC}, True),
        (DmScope.PER_PEER, {"c": DmScope.PUBLIC}, False),
        (None, {"a": DmScope.PUBLIC}, True),
    ):
        chosen = EngineSettings(dm_scope=common, dm_scope_by_account=accounts)
        assert books.start({}, settings=chosen).strangers_in_public is warned, accounts


async def test_a_conversation_is_met_for_the_first_time_once(books: Restarts) -> None:
    book = books.start({})
    assert (await book.meet(group(1), person(1), book.resolve(group(1)))).first
    assert not (await book.meet(group(1), person(2), book.resolve(group(1)))).first
    book = books.start({})  # and once more in the log of each start
    assert (await book.meet(group(1), person(1), book.resolve(group(1)))).first
    assert not (await book.meet(group(1), person(1), book.resolve(group(1)))).first


async def test_a_malformed_id_is_refused_and_said(books: Restarts) -> None:
    book = books.start({})
    bad = ConversationId("nonsense", None, "", ConversationKind.OTHER)
    meeting = await book.meet(bad, person(1), book.resolve(bad))
    assert isinstance(meeting.resolution, ReadsNothing)
    assert not meeting.first
    assert "nonsense" in books.told(NoticeCode.REFUSED_ID).params["id"]


FAMILY = Scope.parse("家人")


@pytest.mark.parametrize(
    ("scope_map", "chat", "scope", "alone"),
    [
        ({"aiocqhttp:FriendMessage:1": "家人"}, private(1), FAMILY, True),
        ({"aiocqhttp:FriendMessage:1": "家人", A: "家人"}, private(1), FAMILY, False),
        ({"persona:猫娘": "家人"}, private(1, persona="猫娘"), FAMILY, False),
        ({A: "家人"}, group(1), FAMILY, False),
        ({}, private(1), PUBLIC, False),
        ({"aiocqhttp:FriendMessage:1": "public"}, private(1), PUBLIC, False),
        ({}, private(1), DmScope.MAIN, False),
        ({}, private(1), DmScope.PER_PEER, True),
    ],
)
def test_a_private_chat_owns_its_scope_only_if_no_other_conversation_has_it(
    books: Restarts,
    scope_map: dict[str, object],
    chat: ConversationId,
    scope: Scope | DmScope,
    alone: bool,
) -> None:
    """Also of one that a policy derives."""
    policy = scope if isinstance(scope, DmScope) else DmScope.PUBLIC
    book = books.start(scope_map, settings=EngineSettings(dm_scope=policy))
    found = book.resolve(chat)
    assert isinstance(found, Usable)
    assert scope in (policy, found.scope)
    assert book.owns_alone(chat, found.scope) is alone


def test_linked_ids_are_one_person_and_nobody_is_no_person(books: Restarts) -> None:
    linked = EngineSettings(
        identity_links={"aiocqhttp:1": "小明", "telegram:2": "小明"},
        group_scope=GroupScope.PER_GROUP,
    )
    book = books.start({}, settings=linked)
    assert book.same_person("aiocqhttp:1", "telegram:2")
    assert book.same_person("aiocqhttp:3", "aiocqhttp:3")
    assert not book.same_person("aiocqhttp:1", "aiocqhttp:3")
    assert not book.same_person("", "")
    assert not book.same_person("aiocqhttp:3", "AIOCQHTTP:3")


def test_an_account_that_others_are_linked_to_reads_what_was_heard_from_them(
    books: Restarts,
) -> None:
    main, other = "aiocqhttp:1", "telegram:2"
    book = books.start({}, settings=EngineSettings(identity_links={other: main}))
    assert book.same_person(main, other)
    for person_id, linked in ((main, other), (other, main)):
        assert {main, other} == set(book.ids_of(person_id))
        shelves = book.shelves_of(private(1).umo, person_id)
        assert Place.of_person(linked) in shelves


async def test_a_key_that_means_a_conversation_which_has_spoken_is_told_with_its_id(
    books: Restarts,
) -> None:
    book = books.start({"777": "家人"})
    for where in (group(777), private(777)):
        await book.meet(where, person(1), book.resolve(where))
    assert books.told(NoticeCode.MAP_ODD_KEY).params == {
        "key": "777", "value": "家人", "odd": "meant", "meant": group(777).umo,
    }  # fmt: skip
