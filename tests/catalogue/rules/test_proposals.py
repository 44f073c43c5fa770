"""How a proposed decision stands in its entry: readable, written by hand, the same when read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.closing import is_over
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.proposals import (
    Proposal,
    accepted,
    is_accepted,
    is_proposed,
    proposal_key,
    proposal_of,
    proposed,
    rejected,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionState
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import clean, one_line
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render

pytestmark = [pytest.mark.unit, pytest.mark.property]

NOW = datetime(2026, 11, 23, 12, 40, tzinfo=UTC)
ENTRY = Memory("m-aaaa", "检索面用 PostgreSQL", NOW, extra=("别的插件：甲",))
words = st.text(max_size=60).map(lambda text: one_line(clean(text)))


def read(memory: Memory) -> Memory:
    return parse(render(memory), fallback_time=NOW)


@given(words, st.integers(1, 99999))
def test_what_became_of_a_proposal_comes_back_from_its_file(why: str, number: int) -> None:
    assert proposal_of(ENTRY) is None
    waiting = proposed(ENTRY)
    assert proposal_of(read(waiting)) == Proposal(DecisionState.PROPOSED)
    turned = rejected(waiting, "2026-11-24", why)
    assert proposal_of(read(turned)) == Proposal(DecisionState.REJECTED, on="2026-11-24", why=why)
    taken = accepted(turned, number, "2026-11-25")
    assert proposal_of(read(taken)) == Proposal(DecisionState.ACCEPTED, number, "2026-11-25")
    for memory in (waiting, turned, taken):
        assert read(memory) == memory
        assert "别的插件：甲" in memory.extra
    assert is_over(turned)
    assert not is_over(taken)
    assert proposed(taken) == taken
    assert proposal_of(proposed(turned)) == Proposal(DecisionState.PROPOSED)


def test_the_fields_are_those_of_the_documentation() -> None:
    assert "> 状态：提议 · 别的插件：甲\n" in render(proposed(ENTRY))
    taken = render(accepted(proposed(ENTRY), 7, "2026-11-23"))
    assert "> 状态：已接受 D-0007 · 决定：2026-11-23 · 别的插件：甲\n" in taken
    assert "> 状态：已否决 · 否决：2026-11-24 · 理由：太贵 · 别" in render(
        rejected(ENTRY, "2026-11-24", "太贵")
    )


@pytest.mark.parametrize(
    ("field", "state"),
    [
        ("状态: Proposed", DecisionState.PROPOSED),
        ("状态：已接受D-0012", DecisionState.ACCEPTED),
        ("状态：Rejected", DecisionState.REJECTED),
        ("状态：已接受", None),
        ("状态：已接受 D-1", None),
        ("状态：完成", None),
        ("提议", None),
    ],
)
def test_a_person_may_write_the_state(field: str, state: DecisionState | None) -> None:
    found = proposal_of(Memory("m-aaaa", "用 PostgreSQL", NOW, extra=(field,)))
    assert (found.state if found else None) is state


def test_a_key_names_a_proposal_and_tells_nothing_of_it() -> None:
    assert proposal_key("m-aaaa") == proposal_key("m-aaaa") != proposal_key("m-aaab")
    assert proposal_key("m-aaaa").startswith("sha256:")
    assert len(proposal_key("m-aaaa")) == len("sha256:") + 20
    assert not is_accepted(ENTRY)
    assert not is_proposed(ENTRY)
