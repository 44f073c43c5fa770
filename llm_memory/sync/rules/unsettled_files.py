"""Finds files to defer until no program writes to them any more.

An editor may empty a file and fill it again bit by bit, and a sync client may write into it in
place. Read meanwhile, the file lacks entries that were not deleted; and a rewrite would lose the
rest that is still to be written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...vault.models import Changes, FileKey, KnownEntry, SeenFile


def files_to_defer(changes: Changes) -> set[FileKey]:
    """Returns the files with missing entries, and those that need a write other than ids: while a
    file waits for ids only, its content is applied."""
    lost = {entry.file for entry in (*changes.vanished, *changes.held) if not entry.held}
    return lost | {key for key, repair in changes.repairs.items() if repair.needs_rewrite}


def tied(
    keys: Collection[FileKey],
    seen: Sequence[SeenFile],
    known: Mapping[FileKey, Sequence[KnownEntry]],
) -> set[FileKey]:
    """Returns ``keys`` and, transitively, every file that shares an entry with one of them: a
    change to one can only be explained with the others."""
    ids = {key: {entry.memory_id for entry in entries} for key, entries in known.items()}
    for file in seen:
        ids.setdefault(file.key, set()).update(e.memory.memory_id for e in file.entries)
    found, more = set[FileKey](), set(keys)
    while more:
        found |= more
        shared = set[str]().union(*(ids.get(key, ()) for key in more))
        more = {key for key in ids.keys() - found if not shared.isdisjoint(ids[key])}
    return found
