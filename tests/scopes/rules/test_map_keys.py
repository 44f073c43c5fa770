"""Keys of the map as people write them, and which conversation they mean."""

from __future__ import annotations

import itertools

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    ConversationId,
    ConversationKind,
)
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import (
    ReadPublicOnly,
    Resolution,
    Usable,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import GroupScope, ScopeSettings
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.map_keys import (
    canonical_key,
    is_unreadable,
    seems_to_mean,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve
from astrbot_plugin_scoped_memory.tests.support.engines import group, private

pytestmark = pytest.mark.unit

FAMILY = Scope.parse("家人")


@pytest.mark.parametrize(
    ("kinds", "canonical"),
    [
        (["group", "Group", "GROUP", "groupmessage", "GroupMessage"], "GroupMessage"),
        (["friend", "Friend", "friendmessage", "FRIENDMESSAGE"], "FriendMessage"),
    ],
)
def test_a_key_may_be_written_short_in_any_case_and_in_full_width_digits(
    kinds: list[str], canonical: str
) -> None:
    for kind, number in itertools.product(kinds, ("777", "７７７")):
        assert canonical_key(f"aiocqhttp:{kind}:{number}") == f"aiocqhttp:{canonical}:777"


@pytest.mark.parametrize(
    "key", ["777", "persona:group:x", "a:grp:777", "a:group:", ":group:1", "a:SpaceMessage:1"]
)
def test_nothing_else_is_written_anew(key: str) -> None:
    assert canonical_key(key) == key


def test_the_example_map_of_the_scope_plan_is_understood() -> None:
    raw = {"aiocqhttp:group:777": "家人", "aiocqhttp:friend:1002": "家人"}
    panel = ScopeSettings(read_scope_map(raw, ()))
    for where in (group(777), private(1002)):
        found = resolve(where, panel)
        assert isinstance(found, Usable)
        assert found.scope == FAMILY


def test_a_key_in_astrbots_own_spelling_wins_over_a_short_one() -> None:
    for raw in (
        {"a:group:1": "公司", "a:GroupMessage:1": "家人"},
        {"a:GroupMessage:1": "家人", "a:group:1": "公司"},
    ):
        assert dict(read_scope_map(raw, ()).entries) == {"a:GroupMessage:1": FAMILY}


@pytest.mark.parametrize(
    ("key", "unreadable"),
    [
        ("777", True),
        ("aiocqhttp:grp:777", True),
        ("aiocqhttp：GroupMessage：777", True),
        ("GroupMessage:777", True),
        ("aiocqhttp:GroupMessage:777", False),
        ("persona:猫娘", False),
    ],
)
def test_a_key_that_is_no_conversation_id_is_told(key: str, unreadable: bool) -> None:
    assert is_unreadable(key) is unreadable


TOPIC = ConversationId(
    "tg:GroupMessage:-100777#5", "telegram", "tg", ConversationKind.GROUP, group="-100777#5"
)
SPLIT = ConversationId(
    "aiocqhttp:GroupMessage:2001_777", "aiocqhttp", "aiocqhttp", ConversationKind.GROUP, group="777"
)


@pytest.mark.parametrize(
    ("key", "where", "means"),
    [
        ("777", group(777), True),
        ("aiocqhttp:grp:777", group(777), True),
        ("aiocqhttp：GroupMessage：777", group(777), True),
        ("QQ群777", group(777), True),
        ("777", SPLIT, True),
        ("-100777", TOPIC, True),
        ("100777", TOPIC, True),
        ("7770", group(777), False),
        ("qq777:grp:888", group(777), False),
        ("1002", group(777), False),
    ],
)
def test_a_key_means_the_conversation_whose_number_stands_in_it(
    key: str, where: ConversationId, means: bool
) -> None:
    assert seems_to_mean(key, where) is means


def says(
    where: ConversationId, raw: dict[str, object], group_scope: GroupScope = GroupScope.PUBLIC
) -> Resolution:
    """What the map says of a conversation."""
    return resolve(where, ScopeSettings(read_scope_map(raw, ()), group_scope=group_scope))


@pytest.mark.parametrize("key", ["777", "aiocqhttp:grp:777", "aiocqhttp：GroupMessage：777"])
@pytest.mark.parametrize("policy", GroupScope)
def test_the_conversation_that_an_unreadable_key_seems_to_mean_reads_public_only(
    key: str, policy: GroupScope
) -> None:
    found = says(group(777), {key: "家人"}, group_scope=policy)
    assert isinstance(found, ReadPublicOnly)
    assert (found.why.code, found.why.key) == (WhyCode.UNREADABLE_KEY, key)
    assert isinstance(says(group(888), {key: "家人"}, group_scope=policy), Usable)


def test_a_conversation_that_is_mapped_itself_heeds_no_unreadable_key() -> None:
    found = says(group(777), {"777": "公司", "aiocqhttp:GroupMessage:777": "家人"})
    assert isinstance(found, Usable)
    assert found.scope == FAMILY


def test_an_unreadable_key_goes_before_a_persona_and_not_before_public() -> None:
    cat = group(777, persona="猫娘")
    found = says(cat, {"777": "家人", "persona:猫娘": "公司"})
    assert isinstance(found, ReadPublicOnly)
    open_to_all = says(group(777), {"777": "public"})
    assert isinstance(open_to_all, Usable)


def test_an_unreadable_key_with_an_illegal_name_means_its_conversation_all_the_same() -> None:
    assert isinstance(says(group(777), {"777": "家 人"}), ReadPublicOnly)
