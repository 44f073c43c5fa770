"""What the owner's map says over time: lost at once, on accounts that are gone, left on another
machine, mended; whom it warns of; who owns a scope alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    Actor,
    ConversationId,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Place
from astrbot_plugin_scoped_memory.llm_memory.models.settings import DmScope, EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.scopes.scope_book import ScopeBook
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private
from astrbot_plugin_scoped_memory.tests.support.scope_books import WITHHELD, Restarts, says

pytestmark = pytest.mark.unit

OLD, NEW, WEB = "aiocqhttp", "xiaobao", "webchat"
HOME, WORK, CHAT = group(777), group(888), private(1002)
MAP = {HOME.umo: "家人", CHAT.umo: "家人", WORK.umo: "公司"}
CAT = {"persona:猫娘": "家人"}
DOUBTFUL = "<doubtful_key>"
PER_PEER = EngineSettings(dm_scope=DmScope.PER_PEER)


def on(account: str, where: ConversationId) -> ConversationId:
    return replace(where, umo=where.umo.replace(where.account, account, 1), account=account)


@pytest.fixture
def bot(tmp_path: Path) -> Restarts:
    return Restarts(tmp_path, frozenset({OLD, WEB}))


async def hear(book: ScopeBook, *places: ConversationId, who: Actor | None = None) -> None:
    for where in places:
        await book.meet(where, who or person(1), book.resolve(where), kept=True)


def standing(bot: Restarts) -> set[str]:
    return {one.code for one in bot.notices.standing()}


# A map that lost everything at once

A, B, C, D = (f"{OLD}:GroupMessage:{number}" for number in range(1, 5))
ROOMS = {A: group(1), B: group(2), C: group(3), D: group(4)}
maps = st.dictionaries(st.sampled_from([*ROOMS]), st.sampled_from(["家人", "公司", "public", ""]))


@given(st.lists(maps, min_size=1, max_size=6))
@settings(max_examples=max(5, settings().max_examples // 3))
def test_what_no_map_names_is_public_unless_all_was_lost_at_once(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]]
) -> None:
    bot = Restarts(tmp_path_factory.mktemp("book"))
    keys, names, lost = set[str](), set[str](), False
    for scope_map in history:
        book = bot.start(scope_map)
        now = {key: value for key, value in scope_map.items() if value in {"家人", "公司"}}
        lost = bool(keys) and not keys & now.keys() and not names & {*now.values()}
        if not lost:
            keys, names = {*now}, {*now.values()}
        for key, room in ROOMS.items():
            written = scope_map.get(key)
            expected = {None: WITHHELD if lost else "public", "": "<illegal_name>"}
            assert says(book, room) == expected.get(written, written)
        assert book.damaged is ("map_damaged" in standing(bot)) is lost


async def test_what_an_admin_confirms_or_changes_in_chat_is_no_loss(bot: Restarts) -> None:
    bot.start({A: "家人", B: "家人"})
    book = bot.start({D: "公司"})
    await book.change_map({D: "公司", C: "书友"}, [], {C})
    assert [says(book, ROOMS[one]) for one in (A, D)] == [WITHHELD, "公司"]
    await book.confirm_map()
    for _ in range(2):
        assert [says(book, ROOMS[one]) for one in (A, D)] == ["public", "公司"]
        assert "map_damaged" not in standing(bot)
        book = bot.start({D: "公司"})
    await book.change_map({}, ["公司"], {D})
    assert says(book, ROOMS[D]) == says(bot.start({}, ["公司"]), ROOMS[D]) == "public"
    await book.change_map({D: "公司"}, ["公司"], {D})
    assert says(bot.start({}, ["公司"]), ROOMS[D]) == WITHHELD


@pytest.mark.parametrize(
    "found", [{A: "家人"}, {}], ids=["the map that was lost", "folders of no map"]
)
@pytest.mark.parametrize("back", [{f"{NEW}:GroupMessage:1": "新"}, {B: "家人"}])
async def test_what_is_new_ends_no_hold_and_one_key_or_scope_of_the_lost_does(
    bot: Restarts, found: dict[str, str], back: dict[str, str]
) -> None:
    bot.start({C: "从前"}, ["从前"])
    await bot.start({}, ["从前"]).confirm_map()
    bot.start(found, ["从前", "家人"])
    new, folders = {D: "新", C: "从前"}, ["从前", "家人", "新"]
    book = bot.start({}, ["从前", "家人"])
    for _ in range(2):
        await book.change_map(new, folders, {D})
        assert says(book, ROOMS[A]) == says(bot.start(new, folders), ROOMS[A]) == WITHHELD
    ends = bool(found) or "家人" in back.values()
    assert bot.start(new | back, folders).damaged is not ends


@pytest.mark.parametrize("dm_scope", [DmScope.PUBLIC, DmScope.MAIN])
async def test_a_map_that_was_emptied_elsewhere_is_lost_whatever_an_admin_changes_then(
    bot: Restarts, dm_scope: DmScope
) -> None:
    """And no two of its private chats come together, neither in public nor in that of all."""
    chosen = EngineSettings(dm_scope=dm_scope)
    book = bot.start({CHAT.umo: "家人", D: "公司"}, settings=chosen)
    await book.change_map({C: "书友"}, [], {C})
    for again in (book, bot.start({C: "书友"}, settings=chosen)):
        assert says(again, CHAT) == says(again, ROOMS[D]) == WITHHELD


def test_the_key_of_a_persona_may_be_all_that_was_lost(bot: Restarts) -> None:
    bot.start({"persona:猫娘": "家人"})
    assert says(bot.start({B: "公司"}), group(5, persona="猫娘")) == WITHHELD
    assert standing(bot) == {"map_damaged"}


def test_what_a_former_version_had_on_hold_stays_so(bot: Restarts) -> None:
    with bot.state() as state:
        state.rows("INSERT INTO lost_map_key VALUES (?)", (A,))
        state.rows("INSERT INTO map_key VALUES (?)", (D,))
        state.know_scopes(["家人", "公司"])
    for _ in range(2):
        assert says(bot.start({D: "公司"}, ["家人", "公司"]), ROOMS[A]) == WITHHELD
    assert says(bot.start({D: "公司", A: "家人"}), ROOMS[B]) == "public"


# Accounts that are gone


@pytest.mark.parametrize("while_running", [True, False])
async def test_a_renamed_account_publishes_nothing_and_its_repaired_map_reads_as_before(
    bot: Restarts, while_running: bool
) -> None:
    book = bot.start(MAP, ["家人", "公司"])
    bot.accounts = frozenset({NEW, WEB})
    if not while_running:
        book = bot.start(MAP, ["家人", "公司"])
    places = (HOME, CHAT, group(5))
    assert [says(book, on(NEW, one)) for one in places] == [DOUBTFUL, DOUBTFUL, WITHHELD]
    assert book.damaged
    assert bot.told("map_damaged").params["accounts"] == OLD
    repaired = {key.replace(OLD, NEW, 1): scope for key, scope in MAP.items()}
    for now in (MAP | repaired, repaired):  # the former keys beside the new ones mean nobody else
        book = bot.start(now, ["家人", "公司"])
        assert [says(book, on(NEW, one)) for one in places] == ["家人", "家人", "public"]
        assert (book.damaged, standing(bot)) == (False, set())
    book = bot.start({}, ["家人"])  # lost together with the name of its account
    assert {says(book, on(NEW, where)) for where in places} == {WITHHELD}


async def test_an_account_that_an_admin_let_go_and_that_came_back_may_be_lost_again(
    bot: Restarts,
) -> None:
    gone, there = frozenset({NEW}), frozenset({OLD, NEW})
    bot.accounts = gone
    await bot.start(MAP).confirm_map()
    book = bot.start(MAP)
    assert (says(book, on(NEW, HOME)), standing(bot)) == ("public", set())
    bot.accounts = there
    assert says(bot.start(MAP), HOME) == "家人"
    bot.accounts = gone
    book = bot.start(MAP)
    assert says(book, on(NEW, HOME)) == DOUBTFUL
    bot.accounts = there  # it is switched on again while the bot runs
    assert (says(book, group(5)), book.damaged, standing(bot)) == ("public", False, set())


CHESS, PUBLIC_KEY = {"tg:GroupMessage:-5": "棋友"}, {f"{NEW}:GroupMessage:9": "public"}


@pytest.mark.parametrize(
    ("accounts", "scope_map", "where", "expected"),
    [
        # One private key on an account that exists ends the hold, but not of the same groups.
        ({NEW, "tg"}, MAP | CHESS, on(NEW, group(5)), "public"),
        ({NEW, "tg"}, MAP | CHESS, on(NEW, HOME), DOUBTFUL),
        # A public key ends no hold.
        ({NEW}, MAP | PUBLIC_KEY, on(NEW, group(5)), WITHHELD),
        ({NEW}, MAP | PUBLIC_KEY, on(NEW, group(9)), "public"),
        # Persona keys belong to no account.
        ({NEW}, CAT, on(NEW, group(5)), "public"),
        ({NEW}, CAT | {HOME.umo: "家人"}, on(NEW, group(5, persona="猫娘")), "家人"),
        # Where nobody can tell the accounts none is gone, and one that is added changes nothing.
        (None, MAP, on(NEW, group(5)), "public"),
        ({OLD, NEW}, MAP, on(NEW, HOME), "public"),
    ],
)
def test_which_keys_on_accounts_that_are_gone_hold_whom(
    bot: Restarts,
    accounts: set[str] | None,
    scope_map: dict[str, str],
    where: ConversationId,
    expected: str,
) -> None:
    bot.accounts = None if accounts is None else frozenset({*accounts, WEB})
    assert says(bot.start(scope_map), where) == expected
    # A policy that isolates needs no hold.
    assert says(bot.start(scope_map, settings=PER_PEER), on(NEW, private(5))).startswith("dm-5-")


# A folder without its map


@pytest.mark.parametrize("scope_map", [{}, {group(4).umo: "棋友"}])
async def test_folders_of_which_the_map_names_none_publish_nothing_until_one_is_or_they_are_let_go(
    bot: Restarts, scope_map: dict[str, str]
) -> None:
    folders = ["家人", "公司", "public"]
    for _ in range(2):
        book = bot.start(scope_map, folders)
        assert (says(book, HOME), book.damaged) == (WITHHELD, True)
    assert bot.told("map_damaged").params["scopes"] == "公司、家人"
    if scope_map:
        await book.confirm_map()
    else:
        book = bot.start({WORK.umo: "公司"}, folders)
    assert (says(book, group(5)), standing(bot)) == ("public", set())
    assert says(bot.start(scope_map, folders), group(5)) == ("public" if scope_map else WITHHELD)


def test_what_no_map_can_name_or_was_brought_is_no_loss(bot: Restarts) -> None:
    with bot.state() as state:
        state.know_scopes(["家人"])
    folders = ["public", "dm-1-abc", "group-1-abc", "quarantine", "家 人", "家人"]
    assert says(bot.start({}, folders), HOME) == "public"


# Strangers


ADMIN = person(2, admin=True)


@pytest.mark.parametrize(
    ("heard", "warned"),
    [
        ([(private(2), person(2))], True),
        ([(private(2), ADMIN)], False),
        ([(group(5), person(3)), (private(3), person(3))], False),  # the chat is mapped, to public
        ([(private(4), Actor("", "无名"))], False),
        ([(private(2), person(2)), (private(2), ADMIN)], False),
    ],
)
async def test_anybody_but_an_admin_who_shares_public_in_private_is_warned_of(
    bot: Restarts, heard: list[tuple[ConversationId, Actor]], warned: bool
) -> None:
    scope_map = {private(3).umo: "public"}
    book = bot.start(scope_map)
    for where, who in heard:
        await hear(book, where, who=who)
    for _ in range(2):
        told = "strangers_in_public" in standing(bot)
        assert bool(book.strangers) is told is warned
        book = bot.start(scope_map)
    assert not bot.start(scope_map, settings=PER_PEER).strangers


async def test_who_shares_public_is_told_by_the_policy_of_the_account(bot: Restarts) -> None:
    book = bot.start({})
    for account, number in (("a", 1), ("b", 3)):
        await hear(book, on(account, private(number)), who=person(number))
    for common, accounts, warned in (
        (DmScope.PUBLIC, {"b": DmScope.PER_PEER}, True),
        (DmScope.PUBLIC, {"a": DmScope.PER_PEER, "b": None}, False),
        (DmScope.MAIN, {}, False),
        (None, {"a": DmScope.PUBLIC}, True),
    ):
        chosen = EngineSettings(dm_scope=common, dm_scope_by_account=accounts)
        assert bool(bot.start({}, settings=chosen).strangers) is warned, accounts


ONE = private(1)


@pytest.mark.parametrize(
    ("scope_map", "chat", "policy", "alone"),
    [
        ({ONE.umo: "家人"}, ONE, DmScope.PUBLIC, True),
        ({ONE.umo: "家人", A: "家人"}, ONE, DmScope.PUBLIC, False),
        (CAT, private(1, persona="猫娘"), DmScope.PUBLIC, False),
        ({A: "家人"}, group(1), DmScope.PUBLIC, False),
        ({}, ONE, DmScope.PUBLIC, False),
        ({ONE.umo: "public"}, ONE, DmScope.PER_PEER, False),
        ({}, ONE, DmScope.MAIN, False),
        ({}, ONE, DmScope.PER_PEER, True),
    ],
)
def test_a_private_chat_owns_its_scope_only_if_no_other_conversation_has_it(
    bot: Restarts, scope_map: dict[str, str], chat: ConversationId, policy: DmScope, alone: bool
) -> None:
    book = bot.start(scope_map, settings=EngineSettings(dm_scope=policy))
    found = book.resolve(chat)
    assert found.scope
    assert book.owns_alone(chat, found.scope) is alone


QQ_1, QQ_3, TG_2 = "aiocqhttp:1", "aiocqhttp:3", "telegram:2"


def test_linked_ids_are_one_person_and_nobody_is_no_person(bot: Restarts) -> None:
    book = bot.start({}, settings=EngineSettings(identity_links={QQ_1: "小明", TG_2: "小明"}))
    pairs = {(QQ_1, TG_2): True, (QQ_3, QQ_3): True, (QQ_1, QQ_3): False, ("", ""): False}
    for (one, other), same in pairs.items():
        for mine, theirs in ((one, other), (other, one)):
            assert book.same_person(mine, theirs) is same is (theirs in book.ids_of(mine))
            # An account reads what was heard from all that are linked to it.
            assert not same or Place.of_person(theirs) in book.shelves_of(ONE.umo, mine)
