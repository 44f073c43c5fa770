"""Which scope a conversation has: the order of keys, the policies as a table, what fails closed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    ConversationId,
    ConversationKind,
)
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Resolution
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    DmScope,
    GroupScope,
    Policies,
    ScopeMap,
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


type Panel = tuple[ScopeMap, Policies]


def settings(
    scope_map: Mapping[str, object] | None = None,
    dm: DmScope | None = DmScope.PUBLIC,
    groups: GroupScope | None = GroupScope.PUBLIC,
    links: Mapping[str, str] | None = None,
    accounts: Mapping[str, DmScope | None] | None = MappingProxyType({}),
) -> Panel:
    panel = Policies(
        dm_scope=dm, group_scope=groups, identity_links=links or {}, dm_scope_by_account=accounts
    )
    return read_scope_map(scope_map or {}, ()), panel


def group(
    umo: str, own: str | None = None, persona: str | None = "", adapter: str | None = "telegram"
) -> ConversationId:
    account = umo.split(":", 1)[0]
    return ConversationId(umo, adapter, account, ConversationKind.GROUP, None, own, persona)


def private(
    peer: str | None,
    adapter: str | None = "aiocqhttp",
    account: str = "qq",
    persona: str | None = "",
) -> ConversationId:
    umo = f"{account}:FriendMessage:{peer or 'x'}"
    return ConversationId(umo, adapter, account, ConversationKind.PRIVATE, peer, None, persona)


def other(umo: str = "x:SpaceMessage:1") -> ConversationId:
    return ConversationId(umo, "x", "x", ConversationKind.OTHER, None, None, "")


def agent(name: str) -> ConversationId:
    return ConversationId.parse(f"mcp:{name}")


def scope_of(resolution: Resolution) -> Scope:
    assert resolution.scope, resolution
    return resolution.scope


def said(resolution: Resolution) -> str:
    """The scope's name, ``own`` for a derived one, or in brackets why there is none."""
    if name := resolution.name:
        return "own" if name.startswith(("dm-", "group-")) else name
    reads = "refused" if resolution.refused else "reads public"
    return f"<{reads}: {resolution.code}>"


EVERY = (SPLIT, "tg:GroupMessage:42_-100", TOPIC, CHAT, PERSONA)
CODES = (*["mapped"] * 5, "group_policy")


@pytest.mark.parametrize(("first", "code"), list(enumerate(CODES)))
def test_the_most_exact_key_decides(first: int, code: str) -> None:
    raw = {key: f"s{number}" for number, key in enumerate(EVERY) if number >= first}
    found = resolve(group(SPLIT, "-100#7", "猫娘"), *settings(raw))
    assert scope_of(found).name == (f"s{first}" if raw else "public")
    assert found.code == code


THREAD_MAP = {
    CHAT: "家人",
    "tg:GroupMessage:9": "家人",
    "tg:FriendMessage:-100": "家人",
    "tg": "家人",
}


@pytest.mark.parametrize(
    "umo",
    [
        f"{CHAT}#",
        "tg2:GroupMessage:-100#7",
        "TG:GroupMessage:-100#7",
        "tg:GroupMessage:-1001#7",
        "tg:OtherMessage:-100#7",
        "tg:FriendMessage:-100#7",  # a private chat has no parent and no group
        "tg#2:GroupMessage:-100",  # a mark in the account's name is no thread
    ],
)
def test_only_a_thread_of_the_very_chat_has_it_as_parent(umo: str) -> None:
    account, kind, _ = umo.split(":")
    own = "9" if kind == "FriendMessage" else None
    chat = ConversationId(umo, "telegram", account, ConversationKind(kind), None, own, "")
    assert said(resolve(chat, *settings(THREAD_MAP))) == "public"
    assert said(resolve(group(TOPIC), *settings(THREAD_MAP))) == "家人"


QQ, QQ_2, TG = private("10001"), private("10001", account="qq2"), private("42", "telegram", "tg")
LINKS = {"aiocqhttp:10001": "小明", "telegram:42": "小明", "aiocqhttp:7": "小明"}


def dm(policy: DmScope) -> Panel:
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
        (dm(CHANNEL), QQ, TG, False),
        (dm(CHANNEL), QQ, private("7"), True),
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
    panel: Panel, one: ConversationId, two: ConversationId, same: bool
) -> None:
    assert (scope_of(resolve(one, *panel)) == scope_of(resolve(two, *panel))) is same


NO_ID = "<refused: malformed_id>"
UNMAPPED = "<reads public: agent_unmapped>"
BAD_POLICY = "<reads public: unknown_policy>"
NO_PERSONA = "<reads public: unknown_origin>"
ONE_MAPPED, UNTOLD = {"qq:FriendMessage:1": "家人"}, private("2", persona=None)
SITE, HOME = {"mcp:project:site": "work"}, (ScopeMap(), Policies(scope_per_project=True))
WITHHELD = ScopeMap(withheld=True), HOME[1]
MAIN = settings({"qq:FriendMessage:7": "家人"}, dm=DmScope.MAIN, links=LINKS)
BY_ACCOUNT = settings(accounts={"qq2": DmScope.MAIN, "tg": EACH, "bad": None})
MALFORMED = ("", "x", "a:b", "a::c", ":b:c", "a:b:", " : : ")


@pytest.mark.parametrize(
    ("chat", "panel", "expected"),
    [
        *(
            (ConversationId(umo, None, "", ConversationKind.OTHER), settings({umo: "家"}), NO_ID)
            for umo in MALFORMED
        ),
        # All private chats have one scope, and nothing else has it.
        *((one, MAIN, "own") for one in (QQ, QQ_2, TG, private(None))),
        (private("7"), MAIN, "家人"),
        (group(CHAT, "-100"), MAIN, "public"),
        # An account follows its own policy, all others the common one.
        *zip((QQ, QQ_2, TG), [BY_ACCOUNT] * 3, ("public", "own", "own"), strict=True),
        (private("1", account="bad"), BY_ACCOUNT, BAD_POLICY),
        # In a bot's store an agent reads public and writes nothing, unless the owner maps it.
        *(
            (agent(f"{level}:site"), settings(dm=policy, groups=groups), UNMAPPED)
            for level in ("project", "global", "workspace")
            for policy in DmScope
            for groups in GroupScope
        ),
        (agent("project:site"), settings(SITE), "work"),
        *(
            (agent(name), settings(SITE), UNMAPPED)
            for name in ("project:site#evil", "project:site2", "global:site")
        ),
        (agent("GroupMessage:7"), settings(), "public"),  # a bot account of that name
        # In a home it has a scope, and global is public also while a lost map is withheld.
        (agent("global:home"), HOME, "public"),
        (agent("global:home"), WITHHELD, "public"),
        (agent("other:home"), HOME, UNMAPPED),
        # An unknown policy closes what is not mapped.
        (private("1"), settings(ONE_MAPPED, None, None), "家人"),
        (private("2"), settings(ONE_MAPPED, None, None), BAD_POLICY),
        (group("tg:GroupMessage:1", "1"), settings(ONE_MAPPED, None, None), BAD_POLICY),
        (other(), settings(ONE_MAPPED, None, None), "own"),
        # An unknown persona closes where a persona is mapped.
        (UNTOLD, settings(ONE_MAPPED), "public"),
        (UNTOLD, settings({PERSONA: "家人"}), NO_PERSONA),
        (UNTOLD, settings({PERSONA: ""}), NO_PERSONA),
        (UNTOLD, settings({PERSONA: "别", "qq:FriendMessage:2": "家人"}), "家人"),
        # Without a person, or a platform, nothing is public where a policy isolates.
        *((private(None), settings(dm=policy), "own") for policy in ISOLATING),
        *((private("1", adapter=None), settings(dm=policy), NO_ID) for policy in ISOLATING),
        (group("tg:GroupMessage:1", "1", adapter=None), GROUPS, NO_ID),
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
    chat: ConversationId, panel: Panel, expected: str
) -> None:
    assert said(resolve(chat, *panel)) == expected


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
    assert scope_of(resolve(chat, *panel)).name == name


def test_a_bad_policy_of_an_account_is_named() -> None:
    bad = resolve(private("1", account="bad"), *BY_ACCOUNT)
    assert bad.key == "advanced.dm_scope_by_account"


NAMES = st.text(min_size=1, max_size=30).filter(lambda text: bool(text.strip()))


@given(one=NAMES, other=NAMES)
def test_in_a_home_each_project_has_a_scope_of_its_own(one: str, other: str) -> None:
    mine, theirs = (scope_of(resolve(agent(f"project:{name}"), *HOME)) for name in (one, other))
    assert not mine.is_public
    assert (mine == theirs) == (one == other)
