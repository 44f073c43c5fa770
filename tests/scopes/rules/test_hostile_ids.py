"""Resolution under hostile ids: injective, stable, never public where a policy isolates."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import (
    ConversationId,
    ConversationKind,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    DmScope,
    GroupScope,
    Policies,
    ScopeMap,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve

pytestmark = [pytest.mark.unit, pytest.mark.property]

# Few different letters, so that separators meet; case variants; what cuts or joins parts elsewhere.
part = st.one_of(
    st.text(alphabet="aA1#!:-_%./\\ ·小é", min_size=1, max_size=6),
    st.text(min_size=1, max_size=6),
    st.sampled_from(["10001", "-100", "#general", "a-b", "a:b", "link", "id", "umo", "x" * 300]),
)
accounts = part.map(lambda text: text.replace(":", "").strip() or "a")
maybe = st.one_of(st.none(), part)
ISOLATING = [policy for policy in DmScope if policy is not DmScope.PUBLIC]
dm_policies = st.sampled_from([*DmScope, None])
group_policies = st.sampled_from([*GroupScope, None])
NO_MAP = ScopeMap()


@st.composite
def conversations(draw: st.DrawFn) -> ConversationId:
    account, session = draw(accounts), draw(part)
    kind = draw(st.sampled_from(ConversationKind))
    umo = f"{account}:{kind.value}:{session}"
    return ConversationId(umo, draw(maybe), account, kind, draw(maybe), draw(maybe), draw(maybe))


def private(account: str, adapter: str, peer: str) -> ConversationId:
    umo = f"{account}:FriendMessage:{peer}"
    return ConversationId(umo, adapter, account, ConversationKind.PRIVATE, peer, None, "")


def group(account: str, own: str) -> ConversationId:
    umo = f"{account}:GroupMessage:{own}"
    return ConversationId(umo, "tg", account, ConversationKind.GROUP, None, own, "")


def name_of(chat: ConversationId, panel: Policies, scope_map: ScopeMap = NO_MAP) -> str:
    found = resolve(chat, scope_map, panel)
    assert found.scope, found
    return found.scope.name


spoken = part.filter(str.strip)
persons = st.tuples(accounts, accounts, spoken)


@example(("qq", "aiocqhttp", "10001"), ("qq2", "aiocqhttp", "10001"))
@example(("qq", "aiocqhttp", "10001"), ("tg", "telegram", "10001"))
@given(persons, persons)
def test_derived_private_names_are_as_different_as_the_policy_says(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    for policy, same in (
        (DmScope.PER_PEER, one[1:] == other[1:]),
        (DmScope.PER_CHANNEL_PEER, one[1:] == other[1:]),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, one == other),
    ):
        panel = Policies(dm_scope=policy)
        names = {name_of(private(*who), panel).lower() for who in (one, other)}
        assert (len(names) == 1) is same


def chat_of(own: str) -> str:
    cut = own.rfind("#")
    return own[:cut] if 0 < cut < len(own) - 1 else own


@example(("irc", "#general"), ("irc", "#random"))
@example(("irc", "#"), ("irc", "##"))
@example(("irc", "a#"), ("irc", "a"))
@example(("irc", "#1"), ("irc", "1"))
@given(st.tuples(accounts, spoken), st.tuples(accounts, spoken))
def test_derived_group_names_differ_unless_one_is_the_others_thread(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    panel = Policies(group_scope=GroupScope.PER_GROUP)
    names = [name_of(group(*which), panel).lower() for which in (one, other)]
    same = one[0] == other[0] and chat_of(one[1]) == chat_of(other[1])
    assert (names[0] == names[1]) is same


@given(conversations(), conversations(), st.sampled_from([*ISOLATING, None]))
def test_under_isolation_all_have_scopes_of_their_own_that_no_map_can_name(
    one: ConversationId, other: ConversationId, policy: DmScope | None
) -> None:
    panel = Policies(dm_scope=policy, group_scope=GroupScope.PER_GROUP)
    found = [resolve(chat, NO_MAP, panel) for chat in (one, other)]
    assert found[0] == resolve(replace(one), NO_MAP, panel)
    scopes = [one.scope for one in found if one.scope]
    for scope in scopes:
        assert scope.name.startswith(("dm-", "group-"))
        assert Scope.parse(scope.name, derived=True) == scope
        with pytest.raises(InvalidScope):
            Scope.parse(scope.name)
    assert one.kind is other.kind or len({*scopes}) == len(scopes)


@pytest.mark.parametrize("persona", ["小A ", "\u200b小A", "小\x1bA"])
def test_a_personas_key_is_found_though_the_map_drops_what_nobody_sees(persona: str) -> None:
    scope_map = read_scope_map({f"persona:{persona}": "家人"}, ())
    assert name_of(replace(group("qq", "1"), persona=persona), Policies(), scope_map) == "家人"


@given(conversation=conversations(), data=st.data())
def test_an_origin_that_hides_its_group_or_person_writes_where_the_whole_one_does_or_nowhere(
    conversation: ConversationId, data: st.DataObject
) -> None:
    account, session = conversation.account, conversation.session
    chat = session.rpartition("#")[0] or session
    keys = [
        conversation.umo,
        f"{account}:{conversation.kind}:{chat}",
        f"{account}:GroupMessage:{conversation.group}",
        f"persona:{conversation.persona}",
    ]
    chosen = data.draw(st.dictionaries(st.sampled_from(keys), st.sampled_from(["甲", "乙", "con"])))
    scope_map = read_scope_map(chosen, ())
    settings = Policies(
        dm_scope=data.draw(dm_policies),
        group_scope=data.draw(group_policies),
    )
    bare = replace(conversation, adapter=None, peer=None, group=None, hidden=True)
    found = resolve(bare, scope_map, settings)
    if found.scope:
        assert resolve(conversation, scope_map, settings) == found
