"""Reading the owner's map: which names are legal, which keys look odd, when the map is damaged, and
which conversation a key means as people write it; and changing one conversation's entry in it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
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
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFault, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    GroupScope,
    IllegalName,
    MapPast,
    ScopeSettings,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.map_history import (
    judge_map,
    map_notices,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import (
    canonical_key,
    entry_of,
    is_unreadable,
    read_scope_map,
    seems_to_mean,
    with_entry,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve
from astrbot_plugin_scoped_memory.tests.support.engines import group, private

pytestmark = pytest.mark.unit


ILLEGAL = [
    ("", ScopeFault.EMPTY),
    ("A" * 65, ScopeFault.TOO_LONG),
    ("家 人", ScopeFault.ILLEGAL_CHARACTERS),
    ("a/b", ScopeFault.ILLEGAL_CHARACTERS),
    ("é", ScopeFault.ILLEGAL_CHARACTERS),
    ("٣", ScopeFault.ILLEGAL_CHARACTERS),
    ("con", ScopeFault.RESERVED_DEVICE),
    ("lpt9", ScopeFault.RESERVED_DEVICE),
    ("dm-x", ScopeFault.RESERVED_PREFIX),
    ("quarantine", ScopeFault.RESERVED_PREFIX),
    ("Public", ScopeFault.CASE_CLASH),
    (None, ScopeFault.NOT_TEXT),
    ({"$ne": "x"}, ScopeFault.NOT_TEXT),
]


def mapped(raw: dict[str, object], folders: tuple[str, ...] = ()) -> dict[str, str]:
    """Each key with its scope's name, or its fault in angle brackets."""
    entries = read_scope_map(raw, folders).entries
    return {
        key: value.name if isinstance(value, Scope) else f"<{value.fault}>"
        for key, value in entries.items()
    }


@pytest.mark.parametrize(("name", "fault"), ILLEGAL)
def test_an_illegal_name_is_refused_with_its_reason(name: object, fault: ScopeFault) -> None:
    with pytest.raises(InvalidScope) as refused:
        Scope.parse(name)
    assert refused.value.reason == fault


@pytest.mark.parametrize("name", ["dm-x", "group-x", "quarantine"])
def test_names_of_our_own_are_legal_where_we_made_them(name: str) -> None:
    assert Scope.parse(name, derived=True).name == name


@pytest.mark.parametrize("name", ["Quarantine", "QUARANTINE", "PUBLIC"])
def test_no_folder_is_a_case_variant_of_public_or_quarantine(name: str) -> None:
    with pytest.raises(InvalidScope):
        Scope.parse(name, derived=True)


def test_the_emergency_downgrade_admits_all_but_quarantine_and_records_without_a_scope() -> None:
    everything = ScopeFilter((Scope.parse("public"),), everything=True)
    assert [everything.admits(n) for n in ("家人", "quarantine", "", None, 7)] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_a_scope_cannot_be_made_or_changed_past_its_check() -> None:
    with pytest.raises(InvalidScope):
        Scope("../x")
    with pytest.raises(AttributeError):
        Scope.parse("家人").name = "public"
    assert Scope.parse("家人") != "家人"


def test_a_value_that_is_no_name_is_kept_as_illegal_under_its_key() -> None:
    raw: dict[str, object] = {"a": "家人", "b": "", "c": 7, "d": None, "e": "x y"}
    assert mapped(raw) == {
        "a": "家人",
        "b": "<empty>",
        "c": "<not_text>",
        "d": "<not_text>",
        "e": "<illegal_characters>",
    }
    entries = read_scope_map(raw, ()).entries.items()
    faults = {key: one.value for key, one in entries if isinstance(one, IllegalName)}
    assert faults == {"b": "", "c": "7", "d": "None", "e": "x y"}


def test_a_name_that_differs_in_case_from_an_earlier_entry_is_illegal() -> None:
    assert mapped({"a": "Work", "b": "work", "c": "Work"}) == {
        "a": "Work",
        "b": "<case_clash>",
        "c": "Work",
    }


def test_case_variants_that_both_have_folders_stay_what_they_are() -> None:
    raw: dict[str, object] = {"a": "Work", "b": "work", "c": "WORK"}
    assert mapped(raw, ("Work", "work")) == {"a": "Work", "b": "work", "c": "<case_clash>"}


def test_keys_that_match_nothing_are_reported_with_the_id_that_they_seem_to_mean() -> None:
    seen = {
        "qq:GroupMessage:777",
        "qq:FriendMessage:1002",
        "qq:GroupMessage:9",
        "qq:SpaceMessage:1",
    }
    raw = {
        "qq:GroupMessage:777": "家人",
        "qq:GroupMessage:77": "家人",  # has not spoken yet
        "qq:SpaceMessage:1": "家人",  # of no known kind, and has spoken
        "qq:groupe:1002": "家人",
        "tg:GroupMessage:5": "家人",
        "tg:GroupMessage:9": "家人",
        "777": "家人",  # has an entry of its own
        "88": "家人",
        "persona:猫娘": "家人",
    }
    meant = {
        "777": "qq:GroupMessage:777",
        "qq:groupe:1002": "qq:FriendMessage:1002",
        "tg:GroupMessage:9": "qq:GroupMessage:9",
    }
    scope_map, _ = judge_map(read_scope_map(raw, ()), MapPast(), frozenset(), seen, {"qq"})
    told = {one.subject: one.params for one in map_notices(scope_map, seen, meant, {"qq"})}
    assert {key: (params["odd"], params["meant"]) for key, params in told.items()} == {
        "qq:groupe:1002": ("meant", "qq:FriendMessage:1002"),
        "tg:GroupMessage:5": ("account", ""),
        "tg:GroupMessage:9": ("meant", "qq:GroupMessage:9"),
        "88": ("unreadable", ""),
    }


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
        ("aiocqhttp:GroupMessage:", True),
        (":GroupMessage:777", True),
        ("aiocqhttp:GroupMessage:777", False),
        ("x:OtherMessage:1", False),
        ("persona:猫娘", False),
        ("persona:", True),
        ("persona:GroupMessage:777", False),
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
    assert (found.why.code, found.why.key) == (WhyCode.DOUBTFUL_KEY, key)
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


HERE = "aiocqhttp:GroupMessage:777"
KEYS = [
    HERE,
    f" {HERE} ",
    "aiocqhttp:group:777",
    f"{HERE} → 家人",
    "aiocqhttp:GroupMessage:888",
    "aiocqhttp:FriendMessage:777",
    "persona:猫娘",
    "777",
    "奶奶",
]
MAPS = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(["家人", "公司", "public", "家 人", ""])
)


@given(MAPS, st.sampled_from(["家人", "公司", "public", "新域"]))
def test_the_conversation_has_the_scope_and_all_others_have_theirs(
    raw: dict[str, object], name: str
) -> None:
    after = with_entry(raw, group(777), name)
    found = resolve(group(777), ScopeSettings(scope_map=read_scope_map(after, ())))
    assert isinstance(found, Usable)
    assert found.scope.name == name
    assert entry_of(after, group(777)) == name
    for other in (group(888), private(777)):
        before = resolve(other, ScopeSettings(scope_map=read_scope_map(raw, ())))
        assert resolve(other, ScopeSettings(scope_map=read_scope_map(after, ()))) == before


@given(MAPS)
def test_without_its_entry_no_key_of_its_own_is_left_and_nothing_else_is_gone(
    raw: dict[str, object],
) -> None:
    after = with_entry(raw, group(777), None)
    assert entry_of(after, group(777)) is None
    assert HERE not in read_scope_map(after, ()).entries
    kept = {key for key in raw if HERE not in read_scope_map({key: raw[key]}, ()).entries}
    assert after.keys() == kept
    assert all(after[key] == raw[key] for key in kept)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{HERE} → 家人", ""),
        (f"{HERE} → 家人", "家人"),
        (f"{HERE} → 家人", f"{HERE} → 家人"),
        (f"{HERE} → 域名", "家人"),
        (f"{HERE}→域名", " 家人 "),
        (f"{HERE} -> 家人", "域名"),
        (HERE, f"{HERE} → 家人"),
        ("aiocqhttp:group:777", f"{HERE} => 家人"),
        (f"\u200b{HERE} → 家人", "家人\u200b"),
    ],
)
def test_a_pasted_line_is_read_as_it_is_meant(key: str, value: str) -> None:
    entries = read_scope_map({key: value}, ()).entries
    assert {key: str(scope) for key, scope in entries.items()} == {HERE: "家人"}


@pytest.mark.parametrize(
    ("key", "value", "name"),
    [
        ("家 → 人", "家人", "家人"),
        (HERE, "甲 → 乙", None),
        (HERE, "aiocqhttp:GroupMessage:888 → 家人", None),
    ],
)
def test_what_is_no_such_line_stays_as_it_is(key: str, value: str, name: str | None) -> None:
    (entry,) = read_scope_map({key: value}, ()).entries.items()
    assert entry[0] == key
    assert getattr(entry[1], "name", None) == name
