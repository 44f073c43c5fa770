"""Which scope a conversation has: the order of keys, the policies as a table, what fails closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ([TOPIC, CHAT, PERSONA], "s2", WhyCode.MAPPED_PARENT),
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
    ("umo", "where"),
    [
        (CHAT, "家人"),
        (f"{CHAT}#", "public"),
        ("tg2:GroupMessage:-100#7", "public"),
        ("TG:GroupMessage:-100#7", "public"),
        ("tg:GroupMessage:-1001#7", "public"),
        ("tg:OtherMessage:-100#7", "public"),
        ("tg:FriendMessage:-100#7", "public"),  # a private chat has no parent and no group
        ("tg#2:GroupMessage:-100", "public"),  # a mark in the account's name is no thread
    ],
)
def test_only_a_thread_of_the_very_chat_has_it_as_parent(umo: str, where: str) -> None:
    account, kind, _ = umo.split(":")
    raw = {CHAT: "家人", "tg:GroupMessage:9": "家人", "tg:FriendMessage:-100": "家人", "tg": "家人"}
    own = "9" if kind == "FriendMessage" else None
    chat = ConversationId(umo, "telegram", account, ConversationKind(kind), None, own, "")
    assert scope_of(resolve(chat, settings(raw))).name == where


QQ, QQ_2, TG = private("10001"), private("10001", account="qq2"), private("42", "telegram", "tg")
TG_SAME_NUMBER = private("10001", "telegram", "tg")
LINKS = {"aiocqhttp:10001": "小明", "telegram:42": "小明", "aiocqhttp:7": "小明"}


def dm(policy: DmScope) -> ScopeSettings:
    """A policy for private chats, and links of accounts."""
    return settings(dm=policy, links=LINKS)


EACH, CHANNEL, ACCOUNT = (
    DmScope.PER_PEER,
    DmScope.PER_CHANNEL_PEER,
    DmScope.PER_ACCOUNT_CHANNEL_PEER,
)
TAKEOVER = settings(dm=EACH, links={"telegram:42": "10001", "telegram:43": "aiocqhttp"})
GROUPS = settings(groups=GroupScope.PER_GROUP)


@pytest.mark.parametrize(
    ("panel", "one", "two", "same"),
    [
        (settings(dm=DmScope.PUBLIC), QQ, TG, True),
        (settings(dm=DmScope.MAIN), QQ, private(None, adapter=None), True),
        (dm(DmScope.MAIN), QQ, TG, True),
        (dm(EACH), QQ, TG, True),
        (dm(EACH), QQ, private("7"), True),
        (dm(EACH), QQ, TG_SAME_NUMBER, False),
        (dm(CHANNEL), QQ, TG, False),
        (dm(CHANNEL), QQ, private("7"), True),
        (dm(ACCOUNT), QQ, QQ_2, False),
        (dm(ACCOUNT), QQ, TG, False),
        (dm(ACCOUNT), QQ, private("7"), True),
        # A link cannot take over an unlinked person's scope.
        (TAKEOVER, QQ, TG, False),
        (TAKEOVER, QQ, private("43", "telegram", "tg"), False),
        *((dm(policy), private(None), private(None, account="qq2"), False) for policy in ISOLATING),
        *((dm(policy), other(), other("x:SpaceMessage:2"), False) for policy in ISOLATING),
        # A topic and a split group share their group's scope; one without an id keeps to itself.
        (GROUPS, group(CHAT, "-100"), group(TOPIC, "-100#7"), True),
        (GROUPS, group(CHAT, "-100"), group(SPLIT, "-100#7"), True),
        (GROUPS, group(CHAT, "-100"), group("tg:GroupMessage:43_-100", "-100"), True),
        (GROUPS, group("tg:GroupMessage:1"), group("tg:GroupMessage:2"), False),
        (GROUPS, group("tg:GroupMessage:1"), group("tg:GroupMessage:1", "1"), False),
    ],
)
def test_who_shares_a_scope(
    panel: ScopeSettings, one: ConversationId, two: ConversationId, same: bool
) -> None:
    assert (scope_of(resolve(one, panel)) == scope_of(resolve(two, panel))) is same


def said(resolution: Resolution) -> str:
    """The scope's name, ``own`` for a derived one, or in brackets why there is none."""
    if isinstance(resolution, Usable):
        name = resolution.scope.name
        return "own" if name.startswith(("dm-", "group-")) else name
    reads = "reads public" if isinstance(resolution, ReadPublicOnly) else "refused"
    return f"<{reads}: {resolution.why.code}>"


NO_ID, NO_ADAPTER = f"<refused: {WhyCode.MALFORMED_ID}>", f"<refused: {WhyCode.NO_ADAPTER}>"
BAD_POLICY = f"<reads public: {WhyCode.UNKNOWN_POLICY}>"
NO_PERSONA = f"<reads public: {WhyCode.UNKNOWN_PERSONA}>"
ONE_MAPPED, UNTOLD = {"qq:FriendMessage:1": "家人"}, private("2", persona=None)
MALFORMED = ("", "x", "a:b", "a::c", ":b:c", "a:b:", " : : ")


@pytest.mark.parametrize(
    ("chat", "panel", "expected"),
    [
        *(
            (
                ConversationId(umo, None, "", ConversationKind.OTHER),
                settings({umo: "家"}, one),
                NO_ID,
            )
            for umo in MALFORMED
            for one in (*DmScope, None)
        ),
        # An unknown policy closes what is not mapped.
        (private("1"), settings(ONE_MAPPED, None, None), "家人"),
        (private("2"), settings(ONE_MAPPED, None, None), BAD_POLICY),
        (group("tg:GroupMessage:1", "1"), settings(ONE_MAPPED, None, None), BAD_POLICY),
        (other(), settings(ONE_MAPPED, None, None), "own"),
        # An unknown persona closes where a persona is mapped.
        (UNTOLD, settings(ONE_MAPPED), "public"),
        (UNTOLD, settings({PERSONA: "家人"}), NO_PERSONA),
        (UNTOLD, settings({PERSONA: ""}), NO_PERSONA),
        (UNTOLD, settings(held=frozenset({PERSONA})), NO_PERSONA),
        (UNTOLD, settings({PERSONA: "别", "qq:FriendMessage:2": "家人"}), "家人"),
        # Without a person, or a platform, nothing is public where a policy isolates.
        *((private(None), settings(dm=policy), "own") for policy in ISOLATING),
        *((private("1", adapter=None), settings(dm=policy), NO_ADAPTER) for policy in ISOLATING),
        (group("tg:GroupMessage:1", "1", adapter=None), GROUPS, NO_ADAPTER),
        # An unknown kind is public only where everything is.
        (other(), settings(), "public"),
        *((other(), settings(dm=policy), "own") for policy in (DmScope.MAIN, *ISOLATING, None)),
        (other(), GROUPS, "own"),
        (other(), settings(groups=None), "own"),
        (other(), settings(accounts=None), "own"),
        # A bad policy of an account closes that account alone, a bad table of them every one.
        (QQ, settings(accounts={"qq2": None}), "public"),
        (QQ_2, settings(accounts={"qq2": None}), BAD_POLICY),
        (
            private("1", account="qq2"),
            settings({"qq2:FriendMessage:1": "家"}, accounts={"qq2": None}),
            "家",
        ),
        (QQ, settings(dm=None, accounts={"qq2": EACH}), BAD_POLICY),
        (QQ_2, settings(dm=None, accounts={"qq2": EACH}), "own"),
        (QQ, settings(accounts=None), BAD_POLICY),
        (TG, settings(accounts=None), BAD_POLICY),
    ],
)
def test_what_cannot_be_told_is_closed_and_the_rest_is_not(
    chat: ConversationId, panel: ScopeSettings, expected: str
) -> None:
    assert said(resolve(chat, panel)) == expected


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
    (shared,) = {scope_of(resolve(chat, panel)) for chat in (QQ, QQ_2, TG, private(None))}
    assert not shared.is_public
    assert scope_of(resolve(private("7"), panel)).name == "家人"
    assert scope_of(resolve(group(CHAT, "-100"), panel)).is_public
    assert resolve(QQ, panel).why.code is WhyCode.DM_POLICY


def test_an_account_follows_its_own_policy_and_all_others_the_common_one() -> None:
    panel = settings(accounts={"qq2": DmScope.MAIN, "tg": DmScope.PER_PEER, "bad": None})
    assert scope_of(resolve(QQ, panel)).is_public
    assert scope_of(resolve(QQ_2, panel)) == scope_of(resolve(QQ, settings(dm=DmScope.MAIN)))
    assert scope_of(resolve(TG, panel)) == scope_of(resolve(TG, settings(dm=DmScope.PER_PEER)))
    why, bad = resolve(QQ, panel).why, resolve(private("1", account="bad"), panel).why
    assert (why.value, bad.key) == ("dm_scope", "advanced.dm_scope_by_account")


# Coding agents

NAMES = st.text(min_size=1, max_size=30).filter(lambda text: bool(text.strip()))
HOME = ScopeSettings(scope_per_project=True)


@given(st.sampled_from(["project", "global", "workspace"]), NAMES, st.sampled_from(DmScope))
def test_in_a_bots_store_an_unmapped_agent_reads_public_and_writes_nothing(
    level: str, name: str, policy: DmScope
) -> None:
    agent = ConversationId.parse(f"mcp:{level}:{name}")
    for groups in GroupScope:
        found = resolve(agent, settings(dm=policy, groups=groups))
        assert isinstance(found, ReadPublicOnly)
        assert found.why.code is WhyCode.AGENT_UNMAPPED


def test_a_mapped_agent_has_the_scope_that_the_owner_gave_it() -> None:
    panel = settings({"mcp:project:site": "work"})
    assert scope_of(resolve(ConversationId.parse("mcp:project:site"), panel)).name == "work"
    for other in ("mcp:project:site#evil", "mcp:project:site2", "mcp:global:site"):
        assert isinstance(resolve(ConversationId.parse(other), panel), ReadPublicOnly)
    # A bot account of that name keeps its groups.
    assert scope_of(resolve(ConversationId.parse("mcp:GroupMessage:7"), settings())).is_public


@given(one=NAMES, other=NAMES)
def test_in_a_home_each_project_has_a_scope_of_its_own(one: str, other: str) -> None:
    mine, theirs = (
        scope_of(resolve(ConversationId.parse(f"mcp:project:{name}"), HOME))
        for name in (one, other)
    )
    assert not mine.is_public
    assert (mine == theirs) == (one == other)


def test_in_a_home_global_is_public_also_while_a_lost_map_is_withheld() -> None:
    withheld = replace(HOME.scope_map, unnamed=frozenset({"家人"}))
    for panel in (HOME, replace(HOME, scope_map=withheld)):
        assert scope_of(resolve(ConversationId.parse("mcp:global:home"), panel)).is_public
    assert isinstance(resolve(ConversationId.parse("mcp:other:home"), HOME), ReadPublicOnly)
