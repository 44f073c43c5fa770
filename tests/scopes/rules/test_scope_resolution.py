"""Which scope a conversation has: the order of keys, the policies as a table, what fails closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    ConversationId,
    ConversationKind,
)
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import (
    ReadPublicOnly,
    Refused,
    Resolution,
    Usable,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    DmScope,
    GroupScope,
    ScopeSettings,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve

pytestmark = pytest.mark.unit

ISOLATING = [policy for policy in DmScope if policy not in (DmScope.PUBLIC, DmScope.MAIN)]
"""Each person a scope, or more than one."""
TOPIC = "tg:GroupMessage:-100#7"
CHAT = "tg:GroupMessage:-100"
SPLIT = "tg:GroupMessage:42_-100#7"
PERSONA = "persona:猫娘"


def settings(
    scope_map: Mapping[str, object] | None = None,
    dm: DmScope | None = DmScope.PUBLIC,
    groups: GroupScope | None = GroupScope.PUBLIC,
    links: Mapping[str, str] | None = None,
    held: frozenset[str] = frozenset(),
    accounts: Mapping[str, DmScope | None] | None = MappingProxyType({}),
) -> ScopeSettings:
    """What the panel says."""
    read = replace(read_scope_map(scope_map or {}, ()), held=held)
    return ScopeSettings(read, dm, groups, links or {}, accounts)


def group(
    umo: str, own: str | None = None, persona: str | None = "", adapter: str | None = "telegram"
) -> ConversationId:
    """A group chat."""
    account = umo.split(":", 1)[0]
    return ConversationId(umo, adapter, account, ConversationKind.GROUP, None, own, persona)


def private(
    peer: str | None,
    adapter: str | None = "aiocqhttp",
    account: str = "qq",
    persona: str | None = "",
) -> ConversationId:
    """A private chat."""
    umo = f"{account}:FriendMessage:{peer or 'x'}"
    return ConversationId(umo, adapter, account, ConversationKind.PRIVATE, peer, None, persona)


def other(umo: str = "x:SpaceMessage:1") -> ConversationId:
    """A conversation of a kind that we don't know."""
    return ConversationId(umo, "x", "x", ConversationKind.OTHER, None, None, "")


def scope_of(resolution: Resolution) -> Scope:
    """The scope, where there is one."""
    assert isinstance(resolution, Usable), resolution
    return resolution.scope


@pytest.mark.parametrize(
    ("present", "scope", "code"),
    [
        ([SPLIT, "tg:GroupMessage:42_-100", TOPIC, CHAT, PERSONA], "s0", WhyCode.MAPPED),
        (["tg:GroupMessage:42_-100", TOPIC, CHAT, PERSONA], "s1", WhyCode.MAPPED_PARENT),
        ([TOPIC, CHAT, PERSONA], "s2", WhyCode.MAPPED_GROUP),
        ([CHAT, PERSONA], "s3", WhyCode.MAPPED_PARENT),
        ([PERSONA], "s4", WhyCode.MAPPED_PERSONA),
        ([], "public", WhyCode.GROUP_POLICY),
    ],
)
def test_the_most_exact_key_decides(present: list[str], scope: str, code: WhyCode) -> None:
    every = [SPLIT, "tg:GroupMessage:42_-100", TOPIC, CHAT, PERSONA]
    raw = {key: f"s{number}" for number, key in enumerate(every) if key in present}
    found = resolve(group(SPLIT, "-100#7", "猫娘"), settings(raw))
    assert scope_of(found).name == scope
    assert found.why.code is code


@pytest.mark.parametrize(
    "umo",
    [
        "tg:GroupMessage:-100",
        "tg:GroupMessage:-100#",
        "tg2:GroupMessage:-100#7",
        "TG:GroupMessage:-100#7",
        "tg:GroupMessage:-1001#7",
        "tg:OtherMessage:-100#7",
    ],
)
def test_only_a_thread_of_the_very_chat_has_it_as_parent(umo: str) -> None:
    panel = settings({CHAT: "家人"})
    expected = "家人" if umo == CHAT else "public"
    kind = ConversationKind(umo.split(":")[1])
    found = resolve(ConversationId(umo, "telegram", "tg", kind, persona=""), panel)
    assert scope_of(found).name == expected


def test_a_private_chat_has_no_parent_and_no_group() -> None:
    panel = settings({"tg:FriendMessage:42": "家人", "tg:GroupMessage:9": "家人"})
    chat = ConversationId(
        "tg:FriendMessage:42#7", "telegram", "tg", ConversationKind.PRIVATE, "42#7", "9", ""
    )
    assert scope_of(resolve(chat, panel)).is_public


def test_a_mark_in_the_accounts_name_is_no_thread() -> None:
    panel = settings({"tg": "家人"}, groups=GroupScope.PER_GROUP)
    found = resolve(group("tg#2:GroupMessage:-100", "-100"), panel)
    assert scope_of(found).name.startswith("group-")


@pytest.mark.parametrize("policy", [*DmScope, None])
def test_a_malformed_id_is_refused_under_every_policy(policy: DmScope | None) -> None:
    for umo in ("", "x", "a:b", "a::c", ":b:c", "a:b:", " : : "):
        chat = ConversationId(umo, None, "", ConversationKind.OTHER)
        found = resolve(chat, settings({umo: "家人"}, dm=policy))
        assert isinstance(found, Refused)
        assert found.why.code is WhyCode.MALFORMED_ID


def test_an_unknown_policy_closes_unmapped_conversations_only() -> None:
    panel = settings({"qq:FriendMessage:1": "家人"}, dm=None, groups=None)
    assert scope_of(resolve(private("1"), panel)).name == "家人"
    for chat in (private("2"), group("tg:GroupMessage:1", "1")):
        found = resolve(chat, panel)
        assert isinstance(found, ReadPublicOnly)
        assert found.why.code is WhyCode.UNKNOWN_POLICY
    assert not scope_of(resolve(other(), panel)).is_public


def test_an_unknown_persona_closes_only_where_a_persona_is_mapped() -> None:
    unknown = private("2", persona=None)
    assert scope_of(resolve(unknown, settings({"qq:FriendMessage:1": "家人"}))).is_public
    for panel in (
        settings({PERSONA: "家人"}),
        settings({PERSONA: ""}),
        settings(held=frozenset({PERSONA})),
    ):
        found = resolve(unknown, panel)
        assert isinstance(found, ReadPublicOnly)
        assert found.why.code is WhyCode.UNKNOWN_PERSONA
    exact = settings({PERSONA: "别", "qq:FriendMessage:2": "家人"})
    assert scope_of(resolve(unknown, exact)).name == "家人"


@pytest.mark.parametrize("policy", ISOLATING)
def test_a_private_chat_without_a_person_or_a_platform_is_never_public(policy: DmScope) -> None:
    panel = settings(dm=policy)
    nobody = scope_of(resolve(private(None), panel))
    assert not nobody.is_public
    assert nobody != scope_of(resolve(private(None, account="qq2"), panel))
    found = resolve(private("1", adapter=None), panel)
    assert isinstance(found, Refused)
    assert found.why.code is WhyCode.NO_ADAPTER


@pytest.mark.parametrize(
    ("dm", "groups"),
    [
        *((policy, GroupScope.PUBLIC) for policy in (DmScope.MAIN, *ISOLATING)),
        (DmScope.PUBLIC, GroupScope.PER_GROUP),
        (None, GroupScope.PUBLIC),
        (DmScope.PUBLIC, None),
    ],
)
def test_an_unknown_kind_is_public_only_where_everything_is(
    dm: DmScope | None, groups: GroupScope | None
) -> None:
    assert scope_of(resolve(other(), settings())).is_public
    own = scope_of(resolve(other(), settings(dm=dm, groups=groups)))
    assert not own.is_public
    assert own != scope_of(resolve(other("x:SpaceMessage:2"), settings(dm=dm, groups=groups)))


def test_a_group_without_a_platform_is_refused_and_without_an_id_keeps_to_itself() -> None:
    panel = settings(groups=GroupScope.PER_GROUP)
    assert isinstance(resolve(group("tg:GroupMessage:1", "1", adapter=None), panel), Refused)
    one = scope_of(resolve(group("tg:GroupMessage:1"), panel))
    two = scope_of(resolve(group("tg:GroupMessage:2"), panel))
    assert len({one, two, scope_of(resolve(group("tg:GroupMessage:1", "1"), panel))}) == 3


def test_a_topic_and_a_split_group_share_their_groups_scope() -> None:
    panel = settings(groups=GroupScope.PER_GROUP)
    whole = scope_of(resolve(group(CHAT, "-100"), panel))
    assert scope_of(resolve(group(TOPIC, "-100#7"), panel)) == whole
    assert scope_of(resolve(group(SPLIT, "-100#7"), panel)) == whole
    assert scope_of(resolve(group("tg:GroupMessage:43_-100", "-100"), panel)) == whole


QQ, QQ_2, TG = private("10001"), private("10001", account="qq2"), private("42", "telegram", "tg")
TG_SAME_NUMBER = private("10001", "telegram", "tg")
LINKS = {"aiocqhttp:10001": "小明", "telegram:42": "小明", "aiocqhttp:7": "小明"}


@pytest.mark.parametrize(
    ("policy", "linked", "one", "two", "same"),
    [
        (DmScope.PUBLIC, False, QQ, TG, True),
        (DmScope.MAIN, False, QQ, TG, True),
        (DmScope.MAIN, False, QQ, private(None, adapter=None), True),
        (DmScope.PER_PEER, True, QQ, TG, True),
        (DmScope.PER_PEER, True, QQ, private("7"), True),
        (DmScope.PER_PEER, True, QQ, TG_SAME_NUMBER, False),
        (DmScope.PER_CHANNEL_PEER, True, QQ, TG, False),
        (DmScope.PER_CHANNEL_PEER, True, QQ, private("7"), True),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, True, QQ, QQ_2, False),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, True, QQ, TG, False),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, True, QQ, private("7"), True),
    ],
)
def test_who_shares_a_private_scope(
    policy: DmScope, linked: bool, one: ConversationId, two: ConversationId, same: bool
) -> None:
    panel = settings(dm=policy, links=LINKS if linked else {})
    assert (scope_of(resolve(one, panel)) == scope_of(resolve(two, panel))) is same


def test_a_link_cannot_take_over_an_unlinked_persons_scope() -> None:
    panel = settings(
        dm=DmScope.PER_PEER, links={"telegram:42": "10001", "telegram:43": "aiocqhttp"}
    )
    scopes = {scope_of(resolve(c, panel)) for c in (QQ, TG, private("43", "telegram", "tg"))}
    assert len(scopes) == 3


PINNED = [
    (DmScope.MAIN, {}, QQ, "dm-main-5dwztja4uqqcvxwo"),
    (DmScope.PER_PEER, {}, QQ, "dm-10001-fvx2tut7i7w3trdc"),
    (DmScope.PER_PEER, LINKS, QQ, "dm-小明-la5qlqlhzahejgdt"),
    (DmScope.PER_CHANNEL_PEER, {}, QQ, "dm-aiocqhttp-10001-bxirvfjcemkldsa2"),
    (DmScope.PER_ACCOUNT_CHANNEL_PEER, {}, QQ, "dm-qq-aiocqhttp-10001-jhnyczkybdo3fdir"),
    (DmScope.PER_PEER, {}, private("用户 A/B"), "dm-用户-A-B-jbl4nvhx3n5xhhd4"),
    (DmScope.PER_PEER, {}, private(None), "dm-nobody-b2bexvgyts7ncr2h"),
    (DmScope.PER_PEER, {}, other(), "dm-unknown-xdqhmznv3wdewdei"),
    (DmScope.PUBLIC, {}, group(TOPIC, "-100#7"), "group-100-lhfbswtlx2ypy4xj"),
    (DmScope.PUBLIC, {}, group(CHAT), "group-unnamed-27n3sgg2mlivnx3y"),
]


@pytest.mark.parametrize(("policy", "links", "chat", "name"), PINNED)
def test_a_derived_name_never_changes(
    policy: DmScope, links: dict[str, str], chat: ConversationId, name: str
) -> None:
    panel = settings(dm=policy, groups=GroupScope.PER_GROUP, links=links)
    assert scope_of(resolve(chat, panel)).name == name


def test_main_is_one_scope_of_all_private_chats_and_of_nothing_else() -> None:
    panel = settings({"qq:FriendMessage:7": "家人"}, dm=DmScope.MAIN, links=LINKS)
    shared = {scope_of(resolve(chat, panel)) for chat in (QQ, QQ_2, TG, private(None))}
    assert len(shared) == 1
    assert not shared.pop().is_public
    assert scope_of(resolve(private("7"), panel)).name == "家人"
    assert scope_of(resolve(group(CHAT, "-100"), panel)).is_public
    assert resolve(QQ, panel).why.code is WhyCode.DM_POLICY


def test_an_account_follows_its_own_policy_and_all_others_the_common_one() -> None:
    accounts: dict[str, DmScope | None] = {"qq2": DmScope.MAIN, "tg": DmScope.PER_PEER}
    panel = settings(dm=DmScope.PUBLIC, accounts=accounts)
    assert scope_of(resolve(QQ, panel)).is_public
    assert scope_of(resolve(QQ_2, panel)) == scope_of(resolve(QQ, settings(dm=DmScope.MAIN)))
    assert scope_of(resolve(TG, panel)) == scope_of(resolve(TG, settings(dm=DmScope.PER_PEER)))
    assert (resolve(QQ, panel).why.value, resolve(TG, panel).why.value) == (
        "dm_scope",
        "advanced.dm_scope_by_account",
    )


def test_a_bad_policy_of_an_account_closes_that_account_alone() -> None:
    panel = settings({"qq2:FriendMessage:1": "家人"}, accounts={"qq2": None})
    assert scope_of(resolve(QQ, panel)).is_public
    assert scope_of(resolve(private("1", account="qq2"), panel)).name == "家人"
    found = resolve(QQ_2, panel)
    assert isinstance(found, ReadPublicOnly)
    assert (found.why.code, found.why.key) == (
        WhyCode.UNKNOWN_POLICY,
        "advanced.dm_scope_by_account",
    )


def test_a_good_policy_of_an_account_holds_where_the_common_one_is_bad() -> None:
    panel = settings(dm=None, accounts={"qq2": DmScope.PER_PEER})
    assert isinstance(resolve(QQ, panel), ReadPublicOnly)
    assert isinstance(resolve(QQ_2, panel), Usable)


def test_a_table_of_accounts_that_is_none_closes_every_account() -> None:
    for chat in (QQ, TG):
        assert isinstance(resolve(chat, settings(accounts=None)), ReadPublicOnly)
    assert not scope_of(resolve(other(), settings(accounts=None))).is_public
