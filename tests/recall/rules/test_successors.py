"""Whose place a memory took is told by its last line, where reflection has written it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Source
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.successors import (
    predecessors,
    replacing,
)
from astrbot_plugin_scoped_memory.tests.support.memories import memory as said

pytestmark = pytest.mark.unit

IDS = st.from_regex(r"m-[0-9a-z]{24}", fullmatch=True)


def memory(reasoning: str, source: Source = Source.REFLECTION) -> Memory:
    return said("妈妈早上喝豆奶", reasoning=reasoning, source=source)


@given(st.text(), IDS, st.lists(IDS, min_size=1, max_size=4))
def test_what_is_written_is_read_again(reasons: str, old: str, olds: list[str]) -> None:
    assert predecessors(memory(replacing(reasons, old))) == (old,)
    joined = memory(f"{reasons}\n合并自 {'、'.join(olds)}")  # as readers once wrote
    assert predecessors(joined) == tuple(olds)


@pytest.mark.parametrize(
    "reasoning",
    ["", "取代 m-abcd0001\n他自己说的", "取代 昨天的", "我取代 m-abcd0001", "取代 m-a b"],
)
def test_other_reasons_name_nobody(reasoning: str) -> None:
    assert predecessors(memory(reasoning)) == ()


def test_what_somebody_else_wrote_is_no_such_line() -> None:
    assert predecessors(memory("取代 m-abcd0001", Source.TOOL)) == ()
