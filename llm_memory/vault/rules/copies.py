"""Detects files that a file manager or a sync client copied.

A copy is detected by content: most of its entries are, with the same id and the same words, in
another file of its scope, where they were first. Its name does not count, except that a topic file
is never a copy: a person meant what is put there. A single entry that exists twice is a copied
entry, unless the two files are the same byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from ...models.data_models import Memory
from ...models.vault_layout import is_topic_file
from ..models import Copy, FileKey, KnownEntry, KnownFile, SeenFile

type _Homes = dict[tuple[str, str], dict[FileKey, Memory]]
"""By scope and id, the files that contain an entry, and its version in each."""


def copies_of(
    seen: Collection[SeenFile],
    gone: Collection[FileKey],
    entries: Sequence[KnownEntry],
    files: Mapping[FileKey, KnownFile],
) -> dict[FileKey, Copy]:
    """Returns the copies among the files ``seen``. ``entries`` are the known entries of these files
    and all with ids in them; ``files`` are the records of these files and the entries' files."""
    # Of two unknown files, the one with the plainer name is the original.
    ordered = sorted(seen, key=_plainness)
    if not ordered or is_topic_file(ordered[-1].path):
        return {}
    away = {file.key for file in seen} | set(gone)
    homes: _Homes = {}
    for entry in entries:
        if not entry.held and entry.file not in away:
            homes.setdefault((entry.scope, entry.memory_id), {})[entry.file] = entry.memory
    for file in seen:
        for one in file.entries:
            homes.setdefault((file.scope.name, one.memory.memory_id), {})[file.key] = one.memory
    digests = {key: file.digest for key, file in files.items()}
    digests |= {file.key: file.digest for file in seen}
    own = {(entry.file, entry.memory_id) for entry in entries}
    later = {file.key for file in ordered}
    found: dict[FileKey, Copy] = {}
    for file in ordered:
        copy = _copy(file, homes, own, later | found.keys(), digests, files.get(file.key))
        if copy is not None:
            found[file.key] = copy
        later.discard(file.key)
    return found


def _copy(
    file: SeenFile,
    homes: _Homes,
    own: Collection[tuple[FileKey, str]],
    no_originals: Collection[FileKey],
    digests: Mapping[FileKey, str],
    known: KnownFile | None,
) -> Copy | None:
    if not file.entries or is_topic_file(file.path):
        return None
    # If the bot changed the original since, an unchanged copy is still a copy.
    untouched = known is not None and known.is_copy and known.last == file.digest
    originals = Counter[FileKey]()
    for entry in file.entries:
        memory_id = entry.memory.memory_id
        if (file.key, memory_id) in own:  # the entry belongs to this file: the file is no copy
            return None
        for key, memory in homes[file.scope.name, memory_id].items():
            first = key not in no_originals or (key, memory_id) in own
            if key != file.key and first and (untouched or _say_the_same(memory, entry.memory)):
                originals[key] += 1
                break
    total = originals.total()
    if total * 2 <= len(file.entries):
        return None
    ((original, _),) = originals.most_common(1)
    if total == 1 and not untouched and digests.get(original) != file.digest:
        return None
    return Copy(original[1], frozenset(originals), total, len(file.entries) - total)


def _plainness(file: SeenFile) -> tuple[bool, int, str]:
    return not is_topic_file(file.path), len(file.path), file.path


def _say_the_same(one: Memory, other: Memory) -> bool:
    return (one.judgment, one.reasoning) == (other.judgment, other.reasoning)


def with_copies(
    changed: Iterable[FileKey], gone: Iterable[FileKey], copies: Mapping[FileKey, Copy]
) -> set[FileKey]:
    """Returns the copies of changed and removed files: they may no longer be copies."""
    touched = {*changed, *gone}
    return {key for key, copy in copies.items() if not touched.isdisjoint(copy.originals)}
