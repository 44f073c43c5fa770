"""No two scope names are ever one: not in a filter, not in the index, not on disk."""

from __future__ import annotations

import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import InvalidScope
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Topic
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, may_be_given
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LETTERS = r"[a-zA-Z0-9\u4e00-\u9fff_-]{1,64}"
ALIKE = [
    "public-x", "x-public", "家", "家人", "家人-", "-家人", "家人2", "a", "A", "aa", "a_a",
    "a" * 64, "a" * 63, "A" * 64, "archive", "scopes", "_", "-", "--", "0", "00", "a-a",
]  # fmt: skip
spelt = st.one_of(st.sampled_from(ALIKE), st.from_regex(LETTERS, fullmatch=True))
legal = spelt.filter(may_be_given)
anything = st.one_of(st.text(max_size=70), st.sampled_from(["con", "dm-x", "Public", "家 人"]))


@example("龥")
@example("con1")
@example("com10")
@given(st.one_of(anything, spelt))
def test_what_is_legal_is_a_plain_folder_name_and_nothing_else_is(name: str) -> None:
    folded = name.lower()
    ours = folded.startswith(("dm-", "group-")) or folded == "quarantine"
    device = re.fullmatch(r"con|prn|aux|nul|(com|lpt)[0-9]", folded) is not None
    clash = folded == "public" and name != "public"
    plain = re.fullmatch(LETTERS, name) is not None
    try:
        made = Scope.parse(name)
    except InvalidScope:
        assert not plain or ours or device or clash
    else:
        assert made.name == name == Path(name).name
        assert plain and not (ours or device or clash)


@given(st.lists(spelt, min_size=1, max_size=6, unique=True), st.sets(legal, max_size=4))
@settings(max_examples=max(5, settings().max_examples // 4))
def test_names_stay_apart_on_disk_and_a_folder_keeps_its_own(
    names: list[str], folders: set[str]
) -> None:
    found = read_scope_map({name: name for name in names}, folders).entries.values()
    scopes = [scope for scope in found if isinstance(scope, Scope)]
    for scope in scopes:
        clashing = {one for one in folders if one.lower() == scope.name.lower()}
        assert not clashing or scope.name in clashing
    scopes = [one for one in scopes if one.name not in folders]
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
