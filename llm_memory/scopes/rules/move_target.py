"""Where an admin may move a memory to."""

from __future__ import annotations

from collections.abc import Collection

from ...models.scope import PUBLIC_NAME, QUARANTINE_NAME, Scope


def target_scope(name: str, known: Collection[str]) -> Scope | None:
    """The scope that an admin names, None if there is none of that name.

    A typo must not make a scope that no conversation reads: ``known`` are those that have a folder
    or stand in the map. Public always is one; quarantine is not for moving things into.
    """
    if name == QUARANTINE_NAME or name not in {*known, PUBLIC_NAME}:
        return None
    return Scope.parse(name, derived=True)
