"""Changing one conversation's entry in the owner's map."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.resolution import Usable
from astrbot_plugin_scoped_memory.llm_memory.models.settings import ScopeSettings
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import (
    entry_of,
    read_scope_map,
    with_entry,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve
from astrbot_plugin_scoped_memory.tests.support.engines import group, private

pytestmark = pytest.mark.unit

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
