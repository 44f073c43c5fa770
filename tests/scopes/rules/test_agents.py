"""Which scope a coding agent's conversation has, in a bot's store and in a home."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.conversation import ConversationId
from astrbot_plugin_scoped_memory.llm_memory.models.resolution import (
    ReadPublicOnly,
    Usable,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC
from astrbot_plugin_scoped_memory.llm_memory.models.settings import (
    DmScope,
    GroupScope,
    ScopeSettings,
)
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_map import read_scope_map
from astrbot_plugin_scoped_memory.llm_memory.scopes.rules.scope_resolution import resolve

pytestmark = [pytest.mark.unit, pytest.mark.property]

NAMES = st.text(min_size=1, max_size=30).filter(lambda text: bool(text.strip()))
LEVELS = st.sampled_from(["project", "global", "workspace"])


@given(
    level=LEVELS, name=NAMES, dm=st.sampled_from(list(DmScope)), group=st.sampled_from(GroupScope)
)
def test_in_a_bots_store_an_unmapped_agent_reads_public_and_writes_nothing(
    level: str, name: str, dm: DmScope, group: GroupScope
) -> None:
    found = resolve(
        ConversationId.parse(f"mcp:{level}:{name}"), ScopeSettings(dm_scope=dm, group_scope=group)
    )
    assert isinstance(found, ReadPublicOnly)
    assert found.why.code is WhyCode.AGENT_UNMAPPED


def test_a_mapped_agent_has_the_scope_that_the_owner_gave_it() -> None:
    settings = ScopeSettings(read_scope_map({"mcp:project:site": "work"}, ()))
    found = resolve(ConversationId.parse("mcp:project:site"), settings)
    assert isinstance(found, Usable)
    assert found.scope.name == "work"
    for other in ("mcp:project:site#evil", "mcp:project:site2", "mcp:global:site"):
        assert isinstance(resolve(ConversationId.parse(other), settings), ReadPublicOnly)


def test_a_bot_account_of_that_name_keeps_its_groups() -> None:
    found = resolve(ConversationId.parse("mcp:GroupMessage:777"), ScopeSettings())
    assert isinstance(found, Usable)


def test_an_agents_key_is_neither_mistyped_nor_does_it_mean_a_group() -> None:
    scope_map = read_scope_map({"mcp:project:777": "work"}, ())
    assert scope_map.unreadable == frozenset()
    found = resolve(ConversationId.parse("qq:GroupMessage:777"), ScopeSettings(scope_map))
    assert isinstance(found, Usable)


HOME = ScopeSettings(scope_per_project=True)


@given(one=NAMES, other=NAMES)
def test_in_a_home_each_project_has_a_scope_of_its_own(one: str, other: str) -> None:
    mine, theirs = (resolve(ConversationId.parse(f"mcp:project:{n}"), HOME) for n in (one, other))
    assert isinstance(mine, Usable)
    assert isinstance(theirs, Usable)
    assert mine.scope != PUBLIC
    assert (mine.scope == theirs.scope) == (one == other)


def test_in_a_home_global_is_public_also_while_a_lost_map_is_withheld() -> None:
    withheld = replace(HOME.scope_map, unnamed=frozenset({"家人"}))
    for settings in (HOME, replace(HOME, scope_map=withheld)):
        found = resolve(ConversationId.parse("mcp:global:home"), settings)
        assert isinstance(found, Usable)
        assert found.scope == PUBLIC
    assert isinstance(resolve(ConversationId.parse("mcp:other:home"), HOME), ReadPublicOnly)
