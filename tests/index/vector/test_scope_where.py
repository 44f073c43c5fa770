"""Only validated scopes enter a filter; nothing else can widen one."""

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.vector.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.shelf import SHARED, Shelf

pytestmark = pytest.mark.unit

FAMILY = Scope.parse("家")


def test_public_asks_for_public_alone() -> None:
    assert scope_where(ScopeFilter.reading_as(PUBLIC)) == {"memory_scope": "public"}


def test_a_private_scope_asks_for_itself_and_public() -> None:
    expected = {"memory_scope": {"$in": ["家", "public"]}}
    assert scope_where(ScopeFilter.reading_as(FAMILY)) == expected


def test_a_single_scope_needs_no_operator() -> None:
    assert scope_where(ScopeFilter((FAMILY,))) == {"memory_scope": "家"}
    assert scope_where(ScopeFilter((FAMILY, FAMILY))) == {"memory_scope": "家"}


def test_the_emergency_downgrade_leaves_quarantine_out() -> None:
    expected = {"memory_scope": {"$ne": "quarantine"}}
    assert scope_where(ScopeFilter((PUBLIC,), everything=True)) == expected


def test_a_filter_without_a_scope_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        scope_where(ScopeFilter(()))


@pytest.mark.parametrize("name", [{"$ne": "x"}, "家", None, 1, b"public", ["public"], object()])
def test_only_scope_values_enter_a_filter(name: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC, name)))  # type: ignore[arg-type]


def test_no_relative_of_a_scope_enters_a_filter() -> None:
    class Impostor(Scope):
        @property
        def name(self) -> str:
            return {"$ne": "x"}  # type: ignore[return-value]

    with pytest.raises(TypeError):
        scope_where(ScopeFilter((Impostor.parse("x"),)))


def test_shelves_stand_beside_the_scopes() -> None:
    cat = Shelf.of_role("猫娘")
    shared = ScopeFilter.reading_as(PUBLIC, shelves=(SHARED,))
    assert scope_where(shared) == {"memory_scope": {"$in": ["public", "@shared"]}}
    both = ScopeFilter.reading_as(FAMILY, shelves=(SHARED, cat))
    expected = {"memory_scope": {"$in": ["家", "public", "@shared", "@role:猫娘"]}}
    assert scope_where(both) == expected


@pytest.mark.parametrize("name", [{"$ne": "x"}, "@shared", None, FAMILY, object()])
def test_only_shelves_stand_beside_the_scopes(name: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC,), shelves=(name,)))  # type: ignore[arg-type]


def test_shelves_alone_are_no_filter() -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        scope_where(ScopeFilter((), shelves=(SHARED,)))


@pytest.mark.parametrize("filter_", [None, {}, {"memory_scope": "public"}, FAMILY, (FAMILY,)])
def test_only_a_scope_filter_makes_one(filter_: object) -> None:
    with pytest.raises(TypeError):
        scope_where(filter_)  # type: ignore[arg-type]


@pytest.mark.parametrize("everything", ["no", 1, None])
def test_everything_is_asked_for_by_true_alone(everything: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC,), everything=everything))  # type: ignore[arg-type]
