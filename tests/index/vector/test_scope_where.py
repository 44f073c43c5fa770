"""Only validated scopes enter a filter; nothing else can widen one."""

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.vector.scope_where import scope_where
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.shelf import SHARED, Shelf

pytestmark = pytest.mark.unit

FAMILY = Scope.parse("家")


@pytest.mark.parametrize(
    ("scope_filter", "expected"),
    [
        (ScopeFilter.reading_as(PUBLIC), "public"),
        (ScopeFilter.reading_as(FAMILY), {"$in": ["家", "public"]}),
        (ScopeFilter((FAMILY,)), "家"),
        (ScopeFilter((FAMILY, FAMILY)), "家"),
        (ScopeFilter((PUBLIC,), everything=True), {"$ne": "quarantine"}),
        (ScopeFilter.reading_as(PUBLIC, shelves=(SHARED,)), {"$in": ["public", "@shared"]}),
        (
            ScopeFilter.reading_as(FAMILY, shelves=(SHARED, Shelf.of_role("猫娘"))),
            {"$in": ["家", "public", "@shared", "@role:猫娘"]},
        ),
    ],
)
def test_a_filter_asks_for_its_scopes_and_shelves_alone(
    scope_filter: ScopeFilter, expected: object
) -> None:
    assert scope_where(scope_filter) == {"memory_scope": expected}


@pytest.mark.parametrize("shelves", [(), (SHARED,)])
def test_a_filter_without_a_scope_is_refused(shelves: tuple[Shelf, ...]) -> None:
    with pytest.raises(ValueError, match="at least one scope"):
        scope_where(ScopeFilter((), shelves=shelves))


class Impostor(Scope):
    @property
    def name(self) -> str:
        return {"$ne": "x"}  # type: ignore[return-value]


@pytest.mark.parametrize(
    "name",
    [{"$ne": "x"}, "家", None, 1, b"public", ["public"], object(), Impostor.parse("x")],
)
def test_only_scope_values_enter_a_filter(name: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC, name)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [{"$ne": "x"}, "@shared", None, FAMILY, object()])
def test_only_shelves_stand_beside_the_scopes(name: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC,), shelves=(name,)))  # type: ignore[arg-type]


@pytest.mark.parametrize("filter_", [None, {}, {"memory_scope": "public"}, FAMILY, (FAMILY,)])
def test_only_a_scope_filter_makes_one(filter_: object) -> None:
    with pytest.raises(TypeError):
        scope_where(filter_)  # type: ignore[arg-type]


@pytest.mark.parametrize("everything", ["no", 1, None])
def test_everything_is_asked_for_by_true_alone(everything: object) -> None:
    with pytest.raises(TypeError):
        scope_where(ScopeFilter((PUBLIC,), everything=everything))  # type: ignore[arg-type]
