"""A pointer names an id; its path is for people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.pointers import is_note_id, pointed_id
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker

pytestmark = pytest.mark.unit

ID = "m-01jd3q8z7kabcdef"


@pytest.mark.parametrize(
    "pointer",
    [
        ID,
        f" {ID}\n",
        f"preferences.md#{ID}",
        f"[preferences.md#{ID}]",
        f"[2026-11-21 · 小明 · journal/2026-11-21.md#{ID}]",
        f"^{ID}",
        f"({ID})",
        f"（{ID}）",
        f"【preferences.md#{ID}】",
        f"../../别人/preferences.md#{ID}",
    ],
)
def test_the_id_is_found_where_a_model_may_put_it(pointer: str) -> None:
    assert pointed_id(pointer) == ID


@pytest.mark.parametrize(
    "pointer", ["shared/RUNBOOK.md#{0}", "{0}", "[笔记 · 2026-11-21 · 标题 · roles/a b/x.md#{0}]"]
)
def test_a_piece_of_a_note_is_pointed_at_in_the_same_way(pointer: str) -> None:
    note_id = "n-5f0c2a9d41e87b36c0da"
    assert pointed_id(pointer.format(note_id)) == note_id
    assert is_note_id(note_id)
    assert not is_note_id(ID)


@pytest.mark.parametrize(
    "pointer",
    ["", "m-", "m-1", "preferences.md", f"x{ID}", f"{ID}.md", "M-01JD3Q8Z7KABCDEF", "m-" + "a" * 33,
     "../../etc/passwd",
     "n-1", "o-01jd3q8z7kabcdef", "shared/x.md", f"{ID}#", "m-01jd é", f"公司/{ID}"],
)  # fmt: skip
def test_anything_else_points_nowhere(pointer: str) -> None:
    assert pointed_id(pointer) is None


@given(st.text(st.characters(), max_size=60))
def test_no_text_makes_it_raise(pointer: str) -> None:
    found = pointed_id(pointer)
    assert found is None or found in pointer


def test_ids_sort_by_time_and_can_be_pointed_at() -> None:
    clock = Ticker()
    made = [make_id("m", clock()) for _ in range(50)]
    assert sorted(made) == made
    assert len(set(made)) == 50
    assert [pointed_id(f"entities.md#{memory_id}") for memory_id in made] == made
