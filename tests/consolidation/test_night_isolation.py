"""Whatever an index answers, no memory gives way to one of another scope: not even public to
private, or the other way round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.consolidation.leaving import weaker_of
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import MergeThresholds
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.tests.support.nights import passive

pytestmark = [pytest.mark.engine, pytest.mark.property]

SCOPES = (PUBLIC, Scope.parse("家人"), Scope.parse("公司"))
EVERYTHING = MergeThresholds(0.1, 0.1)
texts = st.sampled_from(["小明喜欢喝茶", "小明爱喝茶", "小明喜欢喝茶和咖啡", "小明不喜欢喝茶"])


@st.composite
def stored(draw: st.DrawFn) -> StoredMemory:
    memory = passive(
        draw(st.integers(0, 10**5)),
        draw(texts),
        active=draw(st.booleans()),
        strength=draw(st.integers(1, 100)),
        person=draw(st.sampled_from(["a:1", "a:2"])),
    )
    return StoredMemory(draw(st.sampled_from(SCOPES)), "patterns.md", memory)


def id_of(pair: tuple[StoredMemory, float]) -> str:
    return pair[0].memory.memory_id


@given(stored(), st.lists(st.tuples(stored(), st.floats(0.0, 1.0)), max_size=8, unique_by=id_of))
def test_who_gives_way_does_so_in_his_own_scope_to_his_own_speaker_and_is_passive(
    one: StoredMemory, near: list[tuple[StoredMemory, float]]
) -> None:
    around = [(other, s) for other, s in near if other.memory.memory_id != one.memory.memory_id]
    for loser, winner in weaker_of(one, around, EVERYTHING):
        assert loser.scope == winner.scope == one.scope
        assert not loser.memory.active
        assert loser.memory.provenance.person == winner.memory.provenance.person


def test_in_one_scope_it_does_happen() -> None:
    older, newer = passive(2, "小明喜欢喝茶"), passive(1, "小明爱喝茶")
    pair = [StoredMemory(SCOPES[1], "patterns.md", memory) for memory in (newer, older)]
    assert weaker_of(pair[0], [(pair[1], 1.0)], EVERYTHING) == [(pair[0], pair[1])]
    elsewhere = StoredMemory(PUBLIC, "patterns.md", older)
    assert weaker_of(pair[0], [(elsewhere, 1.0)], EVERYTHING) == []
