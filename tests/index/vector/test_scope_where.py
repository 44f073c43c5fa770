"""Only validated scopes enter a filter; nothing else can widen one."""

from typing import Any, cast

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


NO_SCOPES: list[Any] = [{"$ne": "x"}, "家", None, 1, ["public"], object(), Impostor.parse("x")]
NO_SHELVES: list[Any] = [{"$ne": "x"}, "@shared", None, FAMILY, object()]
NO_FILTERS: list[Any] = [None, {}, {"memory_scope": "public"}, FAMILY, (FAMILY,)]


@pytest.mark.parametrize(
    "scope_filter",
    [
        *(ScopeFilter((PUBLIC, name)) for name in NO_SCOPES),
        *(ScopeFilter((PUBLIC,), shelves=(name,)) for name in NO_SHELVES),
        *(ScopeFilter((PUBLIC,), everything=some) for some in cast("list[Any]", ["no", 1, None])),
        *NO_FILTERS,
    ],
)
def test_nothing_enters_a_filter_but_validated_scopes_and_shelves(scope_filter: Any) -> None:
    with pytest.raises(TypeError):
        scope_where(scope_filter)
