"""What former versions noted in the vault's ledger of deeds that can be undone, taken over into the
journal of deeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ..models.deeds import Deed, DeedKind

_KINDS: Final = {
    "forget": DeedKind.FORGOTTEN,
    "several": DeedKind.FORGOTTEN,
    "edit": DeedKind.EDITED,
    "move": DeedKind.MOVED,
    "replace": DeedKind.REPLACED,
    "bring": DeedKind.BROUGHT,
}


def taken_over(
    rows: Sequence[tuple[Any, ...]], journal: Sequence[Deed]
) -> tuple[list[Deed], list[Deed]]:
    """Returns the corrections that gain an undo, and the deeds that are new in the journal.

    Args:
        rows: Kind, id, scope, target, account, conversation and digest of each, the first first.
    """
    last = {(one.kind, one.scope, one.memory_id): one for one in journal}
    changed: dict[int, Deed] = {}
    new: list[Deed] = []
    for number, (name, memory_id, scope, target, actor, door, after) in enumerate(rows):
        kind, places = _KINDS[name], [(scope, memory_id)]
        if name == "several":
            places = [(one.rpartition("/")[0], one.rpartition("/")[2]) for one in memory_id.split()]
        for place, named in places:
            known = last.get((kind, place, named))
            if known is None and kind in (DeedKind.FORGOTTEN, DeedKind.MOVED):
                continue  # it was put back since
            deed = known or Deed(
                DeedKind.AMENDED if kind is DeedKind.EDITED else kind, place, named, target=target
            )
            deed = replace(deed, actor=actor, door=door, undoable=True)
            if kind is DeedKind.REPLACED:
                deed = replace(deed, before=after, target="")
            else:
                batch = f"b-{number}" if len(places) > 1 else ""
                deed = replace(deed, after=after, batch=batch)
            if kind is not DeedKind.BROUGHT and kind is not DeedKind.MOVED:
                deed = replace(deed, target="")
            if known is None:
                new.append(deed)
            else:
                changed[known.number] = deed
    return list(changed.values()), new
