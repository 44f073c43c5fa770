"""No two scope names are ever one: not in a filter, not in the index, not on disk."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.index.vector.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
ALIKE = [
    "public", "public-x", "x-public", "家", "家人", "家人-", "-家人", "家人2", "a", "A", "aa",
    "a_a", "a" * 64, "a" * 63, "A" * 64, "archive", "scopes", "_", "-", "--", "0", "00", "a-a",
]  # fmt: skip
legal = st.one_of(
    st.sampled_from(ALIKE), st.from_regex(r"[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}", fullmatch=True)
)
anything = st.one_of(st.text(max_size=70), st.sampled_from(["con", "dm-x", "Public", "家 人"]))


def parsed(name: str) -> Scope:
    """A scope, or another example."""
    try:
        return Scope.parse(name)
    except InvalidScope:
        assume(False)
        raise


@example("龥")
@example("con1")
@example("com10")
@given(st.one_of(anything, legal))
def test_what_is_legal_is_a_plain_folder_name_and_nothing_else_is(name: str) -> None:
    plain = re.fullmatch(r"[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}", name) is not None
    ours = name.lower().startswith(("dm-", "group-")) or name.lower() == "quarantine"
    device = re.fullmatch(r"con|prn|aux|nul|(com|lpt)[0-9]", name.lower()) is not None
    clash = name.lower() == "public" and name != "public"
    try:
        made = Scope.parse(name)
    except InvalidScope:
        assert not plain or ours or device or clash
    else:
        assert made.name == name == Path(name).name
        assert plain and not (ours or device or clash)


@given(legal, legal)
def test_a_filter_for_one_name_admits_another_only_if_it_is_public(one: str, other: str) -> None:
    reader, written = parsed(one), parsed(other)
    visible = one == other or other == "public"
    assert ScopeFilter.reading_as(reader).admits(other) is visible
    condition = scope_where(ScopeFilter.reading_as(reader))["memory_scope"]
    asked = [condition] if isinstance(condition, str) else condition["$in"]
    assert (written.name in asked) is visible
    for no_name in ("", None, "PUBLIC", other.encode(), f"{one} "):
        assert not ScopeFilter.reading_as(reader).admits(no_name)


@given(st.lists(legal, min_size=1, max_size=6, unique=True))
@settings(max_examples=max(5, settings().max_examples // 4))
def test_names_stay_apart_on_disk(names: list[str]) -> None:
    read = read_scope_map({name: name for name in names}, ())
    scopes = [scope for scope in read.entries.values() if isinstance(scope, Scope)]
    assert len({scope.name.lower() for scope in scopes}) == len(scopes)
    with tempfile.TemporaryDirectory() as folder:
        vault = MarkdownVault(Path(folder))
        vault.open()
        for number, scope in enumerate(scopes):
            vault.append(scope, Topic.ENTITIES, Memory(f"m-0000{number}", scope.name, NOW))
        assert set(vault.scopes()) == set(scopes)
        for scope in scopes:
            content = vault.read(scope)
            assert [stored.memory.judgment for stored in content.memories] == [scope.name]
            assert content.broken == ()


@given(
    st.dictionaries(st.sampled_from("abcdef"), legal, max_size=6),
    st.sets(legal, max_size=4),
)
def test_a_folder_on_disk_keeps_its_name_whatever_the_map_says(
    raw: dict[str, object], folders: set[str]
) -> None:
    folders = {parsed(name).name for name in folders}
    for scope in read_scope_map(raw, folders).entries.values():
        if isinstance(scope, Scope):
            clashing = {f for f in folders if f.lower() == scope.name.lower()}
            assert not clashing or scope.name in clashing
