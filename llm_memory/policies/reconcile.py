"""What happened to the vault, told from how it was known and how it is found.

The bot appends to a file while a person has it open in an editor. What he saves then descends from
an older version: entries that the bot appended since are missing in it, and nobody deleted them.
They are told from deleted ones like this. A save that holds an entry of the bot's descends from a
version at least as new as that entry, so all older ones that are missing were deleted. Of the ones
that are newer than all that it holds, two things tell: if something else was changed by the same
save, they are taken for missing (they come back; the worst is that a person deletes one twice). If
nothing else was, a person did just that: he deleted them; unless the file is, byte by byte, an
older version of the same hour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..models.data_models import Memory
from ..models.vault_state import (
    BUFFER_SECONDS,
    Changes,
    Departed,
    FileKey,
    KnownEntry,
    KnownFile,
    Repair,
    SeenEntry,
    SeenFile,
)
from .text import same_words

HANDFUL: Final = 5
"""So many entries must be gone before it counts as most of a scope."""
SAVED_AS_IT_WAS_SECONDS: Final = 3600.0
"""So long after an append, a file that is as it was before counts as an old version of it."""
_WORDS: Final = frozenset({"judgment", "reasoning"})


@dataclass(frozen=True, slots=True)
class Known:
    """What was known of the files looked at.

    Attributes:
        files: Those that were changed or are gone.
        entries: Of those files, and every other one whose id is found in them.
        counts: How many entries each scope had.
        departed: What the bot took out lately.
    """

    files: Mapping[FileKey, KnownFile]
    entries: Sequence[KnownEntry]
    counts: Mapping[str, int]
    departed: Collection[Departed] = ()


def compare(
    seen: Sequence[SeenFile], gone: Collection[FileKey], known: Known, now: float
) -> Changes:
    """What was done to the files ``seen``, and to those that are ``gone``.

    ``now``: seconds since 1970.
    """
    return _Comparison(seen, frozenset(gone), known, now).run()


@dataclass(slots=True)
class _Draft:
    """A repair in the making."""

    returned: list[KnownEntry] = field(default_factory=list)
    restored: list[KnownEntry] = field(default_factory=list)
    conflicts: list[KnownEntry] = field(default_factory=list)
    cut: list[tuple[str, str]] = field(default_factory=list)
    copied: list[int] = field(default_factory=list)
    kept_ids: list[KnownEntry] = field(default_factory=list)


class _Comparison:
    def __init__(
        self, seen: Sequence[SeenFile], gone: frozenset[FileKey], known: Known, now: float
    ) -> None:
        self._seen = {file.key: file for file in seen}
        self._gone = gone
        self._known = known
        self._now = now
        self._by_id: dict[str, list[KnownEntry]] = {}
        for entry in known.entries:
            self._by_id.setdefault(entry.memory_id, []).append(entry)
        self._departed = {(d.scope, d.path, d.memory_id, d.digest): d.at for d in known.departed}
        self._drafts: dict[FileKey, _Draft] = {}
        self._living: list[tuple[SeenFile, SeenEntry, KnownEntry | None]] = []
        self._placed: set[tuple[str, str]] = set()
        self._left: dict[tuple[str, str, str], KnownEntry] = {}
        self._back: list[KnownEntry] = []

    def run(self) -> Changes:
        self._place()
        by_file: dict[FileKey, list[KnownEntry]] = {}
        for entry in self._looked_at():
            if not self._is_placed(entry) and _where(entry) not in self._left:
                by_file.setdefault(entry.file, []).append(entry)
        for key in by_file.keys() & self._seen.keys():
            by_file[key] = self._explain(self._seen[key], by_file[key])
        vanished = [entry for entries in by_file.values() for entry in entries]
        held = [entry for entry in vanished if entry.held]
        fresh = [entry for entry in vanished if not entry.held]
        newly_held = self._most_of_a_scope(fresh)
        keys = set(self._drafts) | {f.key for f in self._seen.values() if f.unnamed}
        return Changes(
            living=tuple(self._living),
            left=tuple(self._left.values()),
            vanished=tuple(e for e in fresh if e.scope not in newly_held),
            held=tuple(held + [e for e in fresh if e.scope in newly_held]),
            back=tuple(self._back),
            repairs={key: self._repair(key) for key in keys},
        )

    def _repair(self, key: FileKey) -> Repair:
        draft = self._drafts.get(key, _Draft())
        file = self._seen[key]
        return Repair(
            tuple(draft.returned),
            tuple(draft.restored),
            tuple(draft.conflicts),
            tuple(draft.cut),
            tuple(draft.copied),
            bool(file.unnamed),
            tuple(draft.kept_ids),
        )

    def _draft(self, key: FileKey) -> _Draft:
        return self._drafts.setdefault(key, _Draft())

    def _looked_at(self) -> Iterable[KnownEntry]:
        return (e for e in self._known.entries if e.file in self._seen or e.file in self._gone)

    def _is_placed(self, entry: KnownEntry) -> bool:
        return (entry.scope, entry.memory_id) in self._placed

    # Which of several entries with one id is the one, and which are copies

    def _place(self) -> None:
        found: dict[str, list[tuple[SeenFile, int]]] = {}
        for file in self._seen.values():
            for number, entry in enumerate(file.entries):
                found.setdefault(entry.memory.memory_id, []).append((file, number))
        for memory_id, places in found.items():
            self._place_one(places, self._by_id.get(memory_id, []))

    def _place_one(self, places: list[tuple[SeenFile, int]], known: Sequence[KnownEntry]) -> None:
        places = [place for place in places if not self._came_back(place, known)]
        if not places:
            return
        # What is held is missing there: it was cut before it was pasted here.
        stays = any(
            not e.held and e.file not in self._seen and e.file not in self._gone for e in known
        )
        owner = None if stays else _owner(places, known)
        for file, number in places:
            if (file, number) != owner:
                self._draft(file.key).copied.append(number)
        if owner is None:
            return
        file, number = owner
        before = next((e for e in known if e.file == file.key), known[0] if known else None)
        self._take(file, file.entries[number], before)
        self._left |= {_where(e): e for e in known if e is not before}

    def _came_back(self, place: tuple[SeenFile, int], known: Sequence[KnownEntry]) -> bool:
        """Forgotten or moved by command, and an old buffer has it still. What left the scope to
        which it was moved was brought back on purpose."""
        file, number = place
        entry = file.entries[number]
        at = self._departed.get((*file.key, entry.memory.memory_id, entry.digest))
        if at is None or self._now - at > BUFFER_SECONDS:
            return False
        if any(e.scope == file.scope.name or not self._still_stands(e) for e in known):
            return False
        self._draft(file.key).cut.append((entry.memory.memory_id, entry.digest))
        return True

    def _still_stands(self, entry: KnownEntry) -> bool:
        file = self._seen.get(entry.file)
        if file is None:
            return entry.file not in self._gone
        return any(seen.memory.memory_id == entry.memory_id for seen in file.entries)

    def _take(self, file: SeenFile, seen: SeenEntry, before: KnownEntry | None) -> None:
        self._placed.add((file.scope.name, seen.memory.memory_id))
        if before is not None:
            if before.held:
                self._back.append(before)
            if before.file != file.key:
                self._left[_where(before)] = before
            elif self._is_undone(before, seen):
                self._draft(file.key).restored.append(before)
            elif _both_changed(before, seen):
                self._draft(file.key).conflicts.append(before)
        self._living.append((file, seen, before))

    def _is_undone(self, before: KnownEntry, seen: SeenEntry) -> bool:
        """The bot rewrote it, and a save has what it was before: nobody takes that back by hand."""
        lately = self._now - before.rewritten_at <= BUFFER_SECONDS
        return before.prior is not None and lately and seen.digest == before.prior_digest

    # What became of the ones that are missing

    def _explain(self, file: SeenFile, missing: list[KnownEntry]) -> list[KnownEntry]:
        """What is missing in a file, without what is only not where it was."""
        explained = {_where(entry) for entry in self._still_there(file, missing)}
        rest = [entry for entry in missing if _where(entry) not in explained]
        dropped = {_where(entry) for entry in self._dropped_by_an_old_buffer(file, rest)}
        return [entry for entry in rest if _where(entry) not in dropped]

    def _still_there(self, file: SeenFile, missing: list[KnownEntry]) -> list[KnownEntry]:
        """Their words are there, without the id: an editor that did not notice when it was added,
        and in which a person may have typed on."""
        if not file.unnamed:
            return []
        pairs = matched(file.unnamed, missing)
        self._draft(file.key).kept_ids += pairs.values()
        return list(pairs.values())

    def _dropped_by_an_old_buffer(
        self, file: SeenFile, missing: list[KnownEntry]
    ) -> list[KnownEntry]:
        held = [e.appended for e in self._known.entries if e.file == file.key and self._stays(e)]
        newest = max(held, default=0)
        dropped = sorted(
            (
                entry
                for entry in missing
                if entry.appended > newest and self._now - entry.appended_at <= BUFFER_SECONDS
            ),
            key=lambda entry: entry.appended,
        )
        if not dropped or file.empty:
            return []
        first = dropped[0]
        as_it_was = (
            file.digest == first.before
            and not first.returned
            and self._now - first.appended_at <= SAVED_AS_IT_WAS_SECONDS
        )
        if not (as_it_was or self._else_changed(file, missing, dropped)):
            return []
        self._draft(file.key).returned += [replace(e, returned=as_it_was) for e in dropped]
        return dropped

    def _stays(self, entry: KnownEntry) -> bool:
        return self._is_placed(entry) and _where(entry) not in self._left

    def _else_changed(
        self, file: SeenFile, missing: list[KnownEntry], dropped: list[KnownEntry]
    ) -> bool:
        known = self._known.files.get(file.key)
        if known is None or known.plain != file.plain or file.unnamed:
            return True
        if len(missing) > len(dropped):
            return True
        before = {e.memory_id: e.digest for e in self._known.entries if e.file == file.key}
        return any(before.get(e.memory.memory_id) != e.digest for e in file.entries)

    def _most_of_a_scope(self, vanished: list[KnownEntry]) -> set[str]:
        counts: dict[str, int] = {}
        for entry in vanished:
            counts[entry.scope] = counts.get(entry.scope, 0) + 1
        return {
            scope
            for scope, count in counts.items()
            if count >= HANDFUL and count * 2 > self._known.counts.get(scope, 0)
        }


def matched(unnamed: Sequence[Memory], known: Sequence[KnownEntry]) -> dict[int, KnownEntry]:
    """Which of the words without an id are those of which entry, by their numbers. The same words
    first; then one that begins with the other, for a person may have typed on."""
    free = {number: same_words(memory.judgment) for number, memory in enumerate(unnamed)}
    found: dict[int, KnownEntry] = {}
    waiting = {entry.memory_id: entry for entry in known}
    for exactly in (True, False):
        for entry in list(waiting.values()):
            words = same_words(entry.memory.judgment)
            for number, other in free.items():
                if _are_words(other, words, exactly=exactly):
                    found[number] = waiting.pop(entry.memory_id)
                    del free[number]
                    break
    return found


def _where(entry: KnownEntry) -> tuple[str, str, str]:
    return entry.scope, entry.path, entry.memory_id


def _owner(places: list[tuple[SeenFile, int]], known: Sequence[KnownEntry]) -> tuple[SeenFile, int]:
    """The first that is where it was known, rather with the same text; else the first."""
    digests = {entry.file: entry.digest for entry in known}
    stayed = [place for place in places if place[0].key in digests]
    same = [(f, n) for f, n in stayed if f.entries[n].digest == digests[f.key]]
    return next(iter(same or stayed or places))


def _are_words(found: str, known: str, *, exactly: bool) -> bool:
    if exactly:
        return found == known
    return bool(found and known) and (found.startswith(known) or known.startswith(found))


def _both_changed(before: KnownEntry, seen: SeenEntry) -> bool:
    """A person changed what the bot had rewritten, and did not know of that."""
    if before.prior is None or seen.digest == before.digest:
        return False
    prior, ours, theirs = (_merged(m) for m in (before.prior, before.memory, seen.memory))
    changed = {name for name in ours if prior[name] != ours[name]}
    if all(theirs[name] == ours[name] for name in changed):
        return False
    return any(theirs[name] == prior[name] for name in changed) or bool(_WORDS & changed)


def _merged(memory: Memory) -> dict[str, object]:
    """What both a person and the bot change."""
    return {
        "judgment": memory.judgment,
        "reasoning": memory.reasoning,
        "tags": memory.tags,
        "kind": memory.kind,
        "active": memory.active,
        "strength": memory.strength,
    }
