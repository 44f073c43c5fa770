"""A map that does not reach its conversations: renamed accounts, copied folders, mended typos."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import (
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import DmScope, EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.models.status import NoticeCode
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, private
from astrbot_plugin_scoped_memory.tests.support.scope_books import HELD, Restarts, says

pytestmark = pytest.mark.unit

OLD, NEW = "aiocqhttp", "xiaobao"
FAMILY_ROOM, FAMILY_CHAT = f"{OLD}:GroupMessage:777", f"{OLD}:FriendMessage:1002"
WORK_ROOM = f"{OLD}:GroupMessage:888"
MAP = {FAMILY_ROOM: "家人", FAMILY_CHAT: "家人", WORK_ROOM: "公司"}
REPAIRED = {key.replace(OLD, NEW): scope for key, scope in MAP.items()}


GONE, HOLD = f"<{WhyCode.DOUBTFUL_KEY}>", f"<{WhyCode.MAP_WITHHELD}>"


def renamed(where: ConversationId) -> ConversationId:
    """The same conversation on the renamed account."""
    return replace(where, umo=where.umo.replace(OLD, NEW, 1), account=NEW)


class Bot(Restarts):
    """With an account that may get another name."""

    def rename(self) -> None:
        """The owner gives it another name."""
        self.accounts = frozenset({NEW, "webchat"})


@pytest.fixture
def bot(tmp_path: Path) -> Bot:
    """A bot whose account is called aiocqhttp."""
    return Bot(tmp_path, frozenset({OLD, "webchat"}))


# A renamed account


@pytest.mark.parametrize("while_running", [True, False])
async def test_a_renamed_account_publishes_nothing_and_its_repaired_map_reads_as_before(
    bot: Bot, while_running: bool
) -> None:
    book = bot.start(MAP, ["家人", "公司"])
    await book.meet(group(777), person(1), book.resolve(group(777)))
    bot.rename()
    if not while_running:
        book = bot.start(MAP, ["家人", "公司"])
    assert says(book, renamed(group(777))) == GONE
    assert says(book, renamed(private(1002))) == GONE
    assert says(book, renamed(group(5))) == HOLD
    assert book.damaged
    assert bot.told(NoticeCode.MAP_ACCOUNTS_GONE).params["accounts"] == OLD
    for _ in range(2):
        book = bot.start(REPAIRED, ["家人", "公司"])
        assert says(book, renamed(group(777))) == "家人"
        assert says(book, renamed(group(5))) == "public"
        assert not book.damaged
        assert bot.notices.standing() == ()


async def test_an_admin_may_say_that_an_account_is_gone_for_good(bot: Bot) -> None:
    bot.rename()
    book = bot.start(MAP)
    assert await book.confirm_map() == len(MAP)
    for _ in range(2):
        assert says(book, renamed(group(777))) == "public"
        assert not book.damaged
        assert bot.notice(NoticeCode.MAP_ACCOUNTS_GONE) is None
        book = bot.start(MAP)


async def test_an_account_that_came_back_may_be_lost_again(bot: Bot) -> None:
    bot.rename()
    await bot.start(MAP).confirm_map()
    bot.accounts = frozenset({OLD, NEW})
    assert says(bot.start(MAP), group(777)) == "家人"
    bot.rename()
    assert says(bot.start(MAP), renamed(group(777))) == GONE


CAT = {"persona:猫娘": "家人"}


@pytest.mark.parametrize(
    ("accounts", "scope_map", "where", "says_so"),
    [
        # One private key on an account that exists ends the hold, but not of the same groups.
        ({NEW, "tg"}, {**MAP, "tg:GroupMessage:-5": "棋友"}, renamed(group(5)), "public"),
        ({NEW, "tg"}, {**MAP, "tg:GroupMessage:-5": "棋友"}, renamed(group(777)), GONE),
        # A public key ends no hold.
        ({NEW}, {**MAP, f"{NEW}:GroupMessage:9": "public"}, renamed(group(5)), HOLD),
        ({NEW}, {**MAP, f"{NEW}:GroupMessage:9": "public"}, renamed(group(9)), "public"),
        # Persona keys belong to no account.
        ({NEW}, CAT, renamed(group(5)), "public"),
        ({NEW}, CAT | {FAMILY_ROOM: "家人"}, renamed(group(5, persona="猫娘")), "家人"),
        ({NEW}, CAT | {FAMILY_ROOM: "家人"}, renamed(group(5)), HOLD),
        # Where nobody can tell the accounts none is gone, and one that is added changes nothing.
        (None, MAP, renamed(group(5)), "public"),
        ({OLD, NEW}, MAP, group(777), "家人"),
        ({OLD, NEW}, MAP, renamed(group(777)), "public"),
    ],
)
def test_which_keys_on_accounts_that_are_gone_hold_whom(
    bot: Bot,
    accounts: set[str] | None,
    scope_map: dict[str, str],
    where: ConversationId,
    says_so: str,
) -> None:
    bot.accounts = None if accounts is None else frozenset({*accounts, "webchat"})
    assert says(bot.start(scope_map), where) == says_so


def test_an_account_that_is_switched_on_again_ends_the_hold_at_once(bot: Bot) -> None:
    bot.accounts = frozenset({"webchat"})
    book = bot.start(MAP)
    assert says(book, group(5)) == HOLD
    bot.accounts = frozenset({OLD, "webchat"})
    assert says(book, group(5)) == "public"
    assert not book.damaged
    assert bot.notices.standing() == ()


def test_a_policy_that_isolates_needs_no_hold(bot: Bot) -> None:
    bot.rename()
    book = bot.start(MAP, settings=EngineSettings(dm_scope=DmScope.PER_PEER))
    assert says(book, renamed(private(5))).startswith("dm-5-")
    assert says(book, renamed(group(5))) == HOLD


async def test_a_map_that_is_lost_with_the_name_of_its_account_publishes_nothing(bot: Bot) -> None:
    book = bot.start(MAP, ["家人"])
    for where in (group(777), group(888), private(1002)):
        await book.meet(where, person(1), book.resolve(where))
    bot.rename()
    book = bot.start({}, ["家人"])
    for where in (group(777), group(5), private(1002)):
        assert says(book, renamed(where)).startswith("<")
    book = bot.start({f"{NEW}:GroupMessage:5": "棋友"}, ["家人"])
    assert says(book, renamed(group(777))) == GONE


# A folder without its map


@pytest.mark.parametrize("scope_map", [{}, {WORK_ROOM: "公司"}])
async def test_a_folder_that_came_without_its_map_publishes_nothing_until_it_is_mapped(
    bot: Bot, scope_map: dict[str, str]
) -> None:
    for _ in range(2):
        book = bot.start(scope_map, ["家人", "公司", "public"])
        assert says(book, group(777)) == f"<{WhyCode.MAP_WITHHELD}>"
        assert book.damaged
    told = bot.told(NoticeCode.MAP_UNKNOWN)
    assert told.params["scopes"] == "、".join(sorted({"家人", "公司"} - set(scope_map.values())))
    book = bot.start(MAP, ["家人", "公司", "public"])
    assert says(book, group(5)) == "public"
    assert bot.notices.standing() == ()


async def test_an_admin_may_say_that_no_key_is_to_name_a_scope(bot: Bot) -> None:
    book = bot.start({}, ["家人"])
    assert await book.confirm_map() == 0
    assert says(book, group(777)) == "public"
    assert says(bot.start({}, ["家人"]), group(777)) == "public"
    assert says(bot.start({}, ["家人", "公司"]), group(777)) == f"<{WhyCode.MAP_WITHHELD}>"


def test_to_take_the_last_key_of_a_scope_out_is_a_decision(bot: Bot) -> None:
    bot.start(MAP, ["家人", "公司"])
    book = bot.start({FAMILY_ROOM: "家人"}, ["家人", "公司"])
    assert says(book, group(888)) == "public"
    assert not book.damaged


@pytest.mark.parametrize("folder", ["public", "dm-1-abc", "group-1-abc", "quarantine", "家 人"])
def test_what_no_map_can_name_is_no_loss(bot: Bot, folder: str) -> None:
    assert says(bot.start({}, [folder]), group(777)) == "public"


async def test_a_scope_that_the_owner_brought_is_no_loss(bot: Bot) -> None:
    with bot.state() as state:
        state.know_scopes(["家人"], brought=True)
    assert says(bot.start({}, ["家人"]), group(777)) == "public"


# A typo that is mended


async def test_a_mended_typo_is_no_loss(bot: Bot) -> None:
    book = bot.start({f"{OLD}:GroupMessage:7777": "家人"})
    await book.meet(group(777), person(1), book.resolve(group(777)))
    for _ in range(2):
        book = bot.start({FAMILY_ROOM: "家人"})
        assert not book.damaged
        assert bot.notices.standing() == ()


async def test_of_several_keys_only_those_that_were_met_are_held(bot: Bot) -> None:
    book = bot.start({FAMILY_ROOM: "家人", f"{OLD}:GroupMessage:8888": "公司"})
    await book.meet(group(777), person(1), book.resolve(group(777)))
    book = bot.start({WORK_ROOM: "公司"})
    assert says(book, group(777)) == HELD
    told = bot.told(NoticeCode.MAP_DAMAGED)
    assert told.params["count"] == "1"


@pytest.mark.parametrize("key", ["persona:猫娘", f"{OLD}:GroupMessage:-100"])
async def test_a_key_that_decided_for_a_persona_or_a_thread_was_met(bot: Bot, key: str) -> None:
    where = group("-100#7", persona="猫娘")
    book = bot.start({key: "家人"})
    await book.meet(where, person(1), book.resolve(where))
    book = bot.start({WORK_ROOM: "公司"})
    assert says(book, where) == HELD


# What is said of keys


@pytest.mark.parametrize("drop", [True, False])
async def test_a_key_whose_conversation_has_one_of_its_own_is_not_told_to_hold_it(
    bot: Bot, drop: bool
) -> None:
    """The former key goes with a rebind; the owner may also leave it where it stands."""
    book = bot.start(MAP)
    bot.rename()
    here = renamed(group(777))
    await book.meet(here, person(1), book.resolve(here))
    changed = MAP | {here.umo: "家人"}
    if drop:
        del changed[FAMILY_ROOM]
    await book.change_map(changed, {here.umo, FAMILY_ROOM}, [])
    assert says(book, here) == "家人"
    told = {one.subject for one in bot.notices.standing()}
    assert FAMILY_ROOM not in told


def test_a_key_on_an_account_that_is_gone_is_told_beside_others(bot: Bot) -> None:
    bot.start({FAMILY_ROOM: "家人", "tg:GroupMessage:-5": "棋友"})
    told = bot.told(NoticeCode.MAP_ODD_KEY)
    assert (told.subject, told.params["odd"]) == ("tg:GroupMessage:-5", "account")
