"""Which files are better left alone until nobody writes to them any more.

An editor may empty a file and fill it again bit by bit, and a program that keeps folders the same
may write into it in place. Whoever looks meanwhile misses entries that nobody deleted; and what he
puts in the file's place would hide the rest that is still to be written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...vault.models import Changes, FileKey, KnownEntry, SeenFile


def files_to_defer(changes: Changes) -> set[FileKey]:
    """The files of which something is gone, and those that something is to be written into. That
    ids are to be given is another matter: what stands there is taken in meanwhile."""
    lost = {entry.file for entry in (*changes.vanished, *changes.held) if not entry.held}
    return lost | {key for key, repair in changes.repairs.items() if repair.mends}


def tied(
    keys: Collection[FileKey], seen: Sequence[SeenFile], known: Sequence[KnownEntry]
) -> set[FileKey]:
    """``keys``, and every file that shares an entry with one of them, and so on: what was done to
    one of them cannot be told without the others."""
    ids: dict[FileKey, set[str]] = {}
    for file in seen:
        ids.setdefault(file.key, set()).update(e.memory.memory_id for e in file.entries)
    for entry in known:
        ids.setdefault(entry.file, set()).add(entry.memory_id)
    homes: dict[str, list[FileKey]] = {}
    for key, names in ids.items():
        for name in names:
            homes.setdefault(name, []).append(key)
    found = set(keys)
    waiting = list(found)
    while waiting:
        for name in ids.get(waiting.pop(), ()):
            for other in homes.pop(name, ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
    return found
