"""Which ids are one person's. Pure."""

from __future__ import annotations

from collections.abc import Mapping


def ids_of(person: str, links: Mapping[str, str]) -> frozenset[str]:
    """The ids that one person speaks under, by the owner's links; none for an empty id."""
    if not person:
        return frozenset()
    own = links.get(person, person)
    return frozenset((person, own, *(one for one, linked in links.items() if linked == own)))
