"""Reading the owner's map: which names are legal, which keys look odd, which conversation a key
means as people write it; and changing one conversation's entry in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.settings import MapPast, Policies
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import (
    canonical_key,
    entry_of,
    is_unreadable,
    judge_map,
    map_notices,
    read_scope_map,
    with_entry,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import (
    resolve,
    seems_to_mean,
)
from astrbot_plugin_scoped_memory.tests.support.engines import group, private

pytestmark = pytest.mark.unit

HERE = "aiocqhttp:GroupMessage:777"
HOME = group(777)

# Names


@pytest.mark.parametrize(
    "name",
    [
        *("", "A" * 65, "a/b", "家 人", "é", "٣", None, {"$ne": "x"}, 7),
        *("dm-x", "Group-x", "quarantine", "Public", "con", "LPT9"),
    ],
)
def test_an_illegal_name_is_refused_and_kept_under_its_key(name: object) -> None:
    with pytest.raises(InvalidScope):
        Scope.parse(name)
    entries = read_scope_map({"a": "家人", "b": name}, ()).entries
    assert dict(entries) == {"a": Scope.parse("家人"), "b": str(name)}


def test_names_of_our_own_are_legal_where_we_made_them_and_case_variants_nowhere() -> None:
    for name in ("dm-x", "group-x", "quarantine", "con1", "com10", "龥"):
        assert Scope.parse(name, derived=True).name == name
    for name in ("Quarantine", "PUBLIC", "../x", "nul"):
        with pytest.raises(InvalidScope):
            Scope.parse(name, derived=True)
    everything = ScopeFilter((Scope.parse("public"),), everything=True)
    assert [one for one in ("家人", "quarantine", "", None) if everything.admits(one)] == ["家人"]


@pytest.mark.parametrize(
    ("folders", "illegal"), [((), {"b"}), (("Work", "work"), {"d"}), (("work",), {"a", "c", "d"})]
)
def test_a_name_that_differs_in_case_from_a_folder_or_an_earlier_entry_is_illegal(
    folders: tuple[str, ...], illegal: set[str]
) -> None:
    raw: dict[str, object] = {"a": "Work", "b": "work", "c": "Work"}
    if folders:
        raw["d"] = "WORK"
    entries = read_scope_map(raw, folders).entries
    assert {key for key, value in entries.items() if isinstance(value, str)} == illegal


# Keys


def test_keys_that_match_nothing_are_reported() -> None:
    odd = ("88", "777", "qq:groupe:1002", "tg:GroupMessage:5")
    fine = ("qq:GroupMessage:777", "tg:GroupMessage:777", "persona:猫娘")
    raw = dict.fromkeys((*fine, *odd), "家人")
    scope_map, _ = judge_map(read_scope_map(raw, ()), MapPast(), frozenset(), {"qq"})
    assert {one.subject for one in map_notices(scope_map, frozenset(), {})} == {*odd}


def test_a_key_may_be_written_short_and_in_any_case() -> None:
    for written, canonical in (
        ("group Group GROUP groupmessage GroupMessage", "GroupMessage"),
        ("friend Friend friendmessage FRIENDMESSAGE", "FriendMessage"),
    ):
        for kind in written.split():
            assert canonical_key(f"aiocqhttp:{kind}:777") == f"aiocqhttp:{canonical}:777"
    for key in ("777", "persona:group:x", "a:grp:777", "a:group:", ":group:1", "a:SpaceMessage:1"):
        assert canonical_key(key) == key
    both = {"a:group:1": "公司", "a:GroupMessage:1": "家人"}  # AstrBot's own spelling wins
    for raw in (both, dict(reversed(both.items()))):
        assert dict(read_scope_map(raw, ()).entries) == {"a:GroupMessage:1": Scope.parse("家人")}


UNREADABLE = [
    "777", "aiocqhttp:grp:777", "aiocqhttp：GroupMessage：777", "GroupMessage:777",
    "aiocqhttp:GroupMessage:", ":GroupMessage:777", "aiocqhttp: GroupMessage:777", "persona:",
    "mcp:project:",
]  # fmt: skip
READABLE = [HERE, "x:OtherMessage:1", "persona:猫娘", "persona:GroupMessage:777", "mcp:project:777"]


def test_a_key_that_is_no_conversation_id_is_told() -> None:
    assert [key for key in (*READABLE, *UNREADABLE) if is_unreadable(key)] == UNREADABLE


SPLIT = replace(HOME, umo="aiocqhttp:GroupMessage:2001_777")
TOPIC = group("-100777#5")


@pytest.mark.parametrize(
    ("key", "where", "means"),
    [
        ("777", HOME, True),
        ("aiocqhttp:grp:777", HOME, True),
        ("aiocqhttp：GroupMessage：777", HOME, True),
        ("QQ群777", HOME, True),
        ("777", SPLIT, True),
        ("-100777", TOPIC, True),
        ("100777", TOPIC, True),
        ("7770", HOME, False),
        ("qq777:grp:888", HOME, False),
        ("1002", HOME, False),
    ],
)
def test_a_key_means_the_conversation_whose_number_stands_in_it_which_reads_public_only(
    key: str, where: ConversationId, means: bool
) -> None:
    assert seems_to_mean(key, where) is means
    settings = Policies()
    found = resolve(where, read_scope_map({key: "家人"}, ()), settings)
    assert (found.scope is None) is means
    assert (found.key == key) is means


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"777": "公司", HERE: "家人"}, "家人"),
        ({"777": "家人", "persona:猫娘": "公司"}, ""),
        ({"777": "public"}, "public"),
        ({"777": "家 人"}, ""),
        ({"mcp:project:777": "家人"}, "public"),
    ],
)
def test_a_doubtful_key_goes_behind_ones_own_and_before_a_persona(
    raw: dict[str, object], expected: str
) -> None:
    found = resolve(group(777, persona="猫娘"), read_scope_map(raw, ()), Policies())
    assert found.name == expected


# One conversation's entry

KEYS = [
    HERE, f" {HERE} ", "aiocqhttp:group:777", "aiocqhttp:GroupMessage:888",
    "aiocqhttp:FriendMessage:777", "persona:猫娘", "777", "奶奶",
]  # fmt: skip
MAPS = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(["家人", "公司", "public", "家 人", ""])
)


@given(MAPS, st.sampled_from(["家人", "公司", "public", "新域", None]))
def test_the_conversation_has_the_scope_or_no_key_of_its_own_and_all_others_have_theirs(
    raw: dict[str, object], name: str | None
) -> None:
    after, panel = with_entry(raw, HOME, name), Policies()
    kept = {key: raw[key] for key in raw if HERE not in read_scope_map({key: raw[key]}, ()).entries}
    assert after == (kept if name is None else kept | {HERE: name})
    assert entry_of(after, HOME) == name
    before, then = (read_scope_map(one, ()) for one in (raw, after))
    assert name in (None, resolve(HOME, then, panel).name)
    for other in (group(888), private(777)):
        assert resolve(other, then, panel) == resolve(other, before, panel)
