"""The only maker of scope filters for Chroma.

A filter decides who reads what, so nothing but validated scopes may enter one: a scope that is a
dict, ``{"$ne": "x"}``, would be an operator and show everything.
"""

from __future__ import annotations

from typing import Final

from ..models.scope import QUARANTINE_NAME, Scope, ScopeFilter
from ..models.shelf import Shelf

SCOPE_FIELD: Final = "memory_scope"

type Condition = str | dict[str, str | list[str]]


def scope_where(scope_filter: ScopeFilter) -> dict[str, Condition]:
    """What Chroma is asked for: the records stored under one of the filter's scopes or shelves.

    ``everything`` also matches records that lack the field, because ``$ne`` does; the check in
    Python that follows each query refuses those.

    Raises:
        TypeError: anything but a ScopeFilter made of Scope and Shelf values.
        ValueError: a filter that names no scope.
    """
    if type(scope_filter) is not ScopeFilter or type(scope_filter.everything) is not bool:
        raise TypeError(f"not a scope filter: {type(scope_filter).__name__}")
    if any(type(scope) is not Scope for scope in scope_filter.scopes):
        raise TypeError("a scope filter is made of Scope values only")
    if any(type(shelf) is not Shelf for shelf in scope_filter.shelves):
        raise TypeError("a scope filter's shelves are Shelf values only")
    if scope_filter.everything:
        return {SCOPE_FIELD: {"$ne": QUARANTINE_NAME}}
    names = list(dict.fromkeys(scope_filter.names))
    if not scope_filter.scopes:
        raise ValueError("a scope filter names at least one scope")
    return {SCOPE_FIELD: names[0] if len(names) == 1 else {"$in": names}}
