"""The only maker of scope filters for Chroma.

A filter decides who reads what, so nothing but validated scopes may enter one: a scope that is a
dict, ``{"$ne": "x"}``, would be an operator and show everything.
"""

from __future__ import annotations

from ...models.scope import MARKER_FIELD, QUARANTINE_NAME, SCOPE_FIELD, Place, ScopeFilter
from ..child.program import Json


def scope_where(scope_filter: ScopeFilter) -> dict[str, Json]:
    """What Chroma is asked for: the records stored under one of the filter's scopes or shelves.

    ``everything`` also matches records that lack the field, because ``$ne`` does; the check in
    Python that follows each query refuses those. ``migrating`` matches whatever is not marked as
    ours, records with a foreign or an illegal scope among them, because a missing field cannot be
    asked for: there the check in Python is what decides.

    Raises:
        TypeError: anything but a ScopeFilter made of Place values.
        ValueError: a filter that names no scope.
    """
    if type(scope_filter) is not ScopeFilter:
        raise TypeError(f"not a scope filter: {type(scope_filter).__name__}")
    kinds = {type(place) for place in scope_filter.scopes + scope_filter.shelves}
    flags = {type(scope_filter.everything), type(scope_filter.migrating)}
    if not kinds <= {Place} or flags != {bool}:
        raise TypeError("a scope filter is made of bools and Place values only")
    if scope_filter.everything:
        return {SCOPE_FIELD: {"$ne": QUARANTINE_NAME}}
    if not scope_filter.scopes:
        raise ValueError("a scope filter names at least one scope")
    strict: dict[str, Json] = {SCOPE_FIELD: {"$in": [*dict.fromkeys(scope_filter.names)]}}
    if not scope_filter.migrating:
        return strict
    return {"$or": [strict, {MARKER_FIELD: {"$ne": 1}}]}
