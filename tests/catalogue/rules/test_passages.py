"""A memory and a piece of a note answer the same questions, and a pointer names an id of either."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.catalogue.catalogue import key_of
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.passage_text import (
    context_text,
    embedded_passage,
    indexed_text,
    shown_text,
)
from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.pointers import is_note_id, pointed_id
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    Provenance,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import (
    NoteChunk,
    moment_of,
    passage_id,
    place_name,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, SHARED, Place, Scope
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id
from astrbot_plugin_scoped_memory.tests.support.engines import Ticker

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, tzinfo=UTC)
MEMORY = StoredMemory(
    PUBLIC,
    "entities.md",
    Memory(
        "m-1",
        "奶奶对花生过敏",
        NOW,
        "她说过",
        ("健康",),
        provenance=Provenance("妈妈"),
        context="吃什么",
    ),
)


def chunk(
    text: str = "## 京都\n\n旅馆在鸭川边。",
    place: Place = SHARED,
    headings: tuple[str, ...] = ("旅行", "京都"),
) -> NoteChunk:
    """A piece of a note, its heading in the first line."""
    return NoteChunk("n-1", place, "计划/十月.md", headings, text, 3, 5, NOW, len(headings[:1]))


def test_each_stands_under_its_place_and_id() -> None:
    assert (key_of(MEMORY).scope, key_of(MEMORY).memory_id) == ("public", "m-1")
    assert (place_name(chunk()), passage_id(chunk())) == ("@shared", "n-1")
    assert (key_of(chunk()).scope, key_of(chunk()).memory_id) == ("@shared", "n-1")


def test_each_has_its_time() -> None:
    assert moment_of(MEMORY) == moment_of(chunk()) == NOW


def test_words_are_looked_for_in_what_is_said_and_in_the_own_heading() -> None:
    assert indexed_text(MEMORY) == "妈妈: 奶奶对花生过敏 健康"
    assert context_text(MEMORY) == "吃什么 她说过"
    assert indexed_text(chunk()) == "京都 旅馆在鸭川边。"
    assert context_text(chunk()) == "计划 十月 旅行"


def test_a_vector_is_made_with_all_headings_and_of_no_endless_text() -> None:
    assert embedded_passage(chunk()) == "旅行 › 京都 旅馆在鸭川边。"
    assert len(embedded_passage(chunk("## 京都\n" + "字" * 9000))) == 4000


def test_a_vector_is_made_without_the_message_before() -> None:
    assert MEMORY.memory.context
    assert embedded_passage(MEMORY) == indexed_text(MEMORY)


def test_a_preview_repeats_no_heading_unless_there_is_nothing_else() -> None:
    assert shown_text(MEMORY) == "奶奶对花生过敏"
    assert shown_text(chunk()) == "旅馆在鸭川边。"
    assert shown_text(chunk("## 京都")) == "旅行 › 京都"
    assert shown_text(chunk("# 不是它的标题", headings=())) == "# 不是它的标题"


@pytest.mark.parametrize(
    ("place", "file"),
    [
        (SHARED, "shared/计划/十月.md"),
        (Place.of_role("a/b"), "roles/a%2Fb/计划/十月.md"),
        (Scope.parse("家人"), "计划/十月.md"),
    ],
)
def test_a_piece_says_where_its_file_stands(place: Place, file: str) -> None:
    piece = chunk(place=place)
    assert (piece.file, piece.pointer) == (file, f"{file}#n-1")


@pytest.mark.parametrize("key", ["提案：sha256:1f0c4e", "Proposal: sha256:1f0c4e"])
def test_of_a_decision_the_key_of_its_proposal_is_not_shown(key: str) -> None:
    decided = chunk(
        f"## D-0003 用甲\n> 已接受 · Issue：#12 · {key}\n\n因为快", headings=("D-0003 用甲",)
    )
    assert shown_text(decided) == "已接受 · Issue：#12\n\n因为快"
    quoted = chunk(f"## 引用\n第一行\n> 已接受 · {key}", headings=("引用",))
    assert shown_text(quoted) == f"第一行\n> 已接受 · {key}"


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
