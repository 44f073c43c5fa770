"""Finds what people did to the vault by comparing its known and its present state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ...models.data_models import Memory
from ...text.normalising import same_words
from ..models import (
    BUFFER_SECONDS,
    Changes,
    FileKey,
    KnownEntry,
    KnownFile,
    RemovedEntry,
    Repair,
    SeenEntry,
    SeenFile,
)
from .copies import copies_of
from .stale_saves import Save, both_changed, changed_content

MIN_HELD: Final = 5
"""The least number of missing entries that may count as most of a scope."""


@dataclass(frozen=True, slots=True)
class Known:
    """The known state of the compared files.

    Attributes:
        files: Changed and removed files, and the files of ``entries``.
        entries: The entries of those files, and all others whose id is found in them.
        counts: How many entries each scope had.
        departed: Entries that the bot removed lately.
        archived: By scope and id, which of the entries missing in these files were forgotten since
            they were written there; True if the archive has the same words.
    """

    files: Mapping[FileKey, KnownFile]
    entries: Sequence[KnownEntry]
    counts: Mapping[str, int]
    departed: Collection[RemovedEntry] = ()
    archived: Mapping[tuple[str, str], bool] = field(default_factory=dict)


def compare(
    seen: Sequence[SeenFile], gone: Collection[FileKey], known: Known, now: float
) -> Changes:
    """Returns what was done to the files ``seen``, and to those that are ``gone``.

    ``now``: seconds since 1970.
    """
    return _Comparison(seen, frozenset(gone), known, now).run()


@dataclass(slots=True)
class _Draft:
    """A repair in the making."""

    returned: list[KnownEntry] = field(default_factory=list)
    restored: list[KnownEntry] = field(default_factory=list)
    taken_back: list[KnownEntry] = field(default_factory=list)
    reworded: list[Memory] = field(default_factory=list)
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
        self._by_file: dict[FileKey, list[KnownEntry]] = {}
        for entry in known.entries:
            self._by_id.setdefault(entry.memory_id, []).append(entry)
            self._by_file.setdefault(entry.file, []).append(entry)
        self._departed = {
            (d.scope, d.path, d.memory_id): d.digest
            for d in known.departed
            if now - d.at <= BUFFER_SECONDS
        }
        self._drafts: dict[FileKey, _Draft] = {}
        self._living: list[tuple[SeenFile, SeenEntry, KnownEntry | None]] = []
        self._here: dict[FileKey, dict[str, str]] = {}
        self._placed: set[tuple[str, str]] = set()
        self._left: dict[tuple[str, str, str], KnownEntry] = {}
        self._clashes: dict[FileKey, tuple[str, ...]] = {}
        self._copies = copies_of(seen, gone, known.entries, known.files)

    def run(self) -> Changes:
        self._place()
        by_file: dict[FileKey, list[KnownEntry]] = {}
        forgotten: list[KnownEntry] = []
        for entry in self._looked_at():
            if self._is_placed(entry) or _place_of(entry) in self._left:
                continue
            match self._known.archived.get((entry.scope, entry.memory_id)):
                case None:
                    by_file.setdefault(entry.file, []).append(entry)
                case True:
                    self._left[_place_of(entry)] = entry
                case False:
                    forgotten.append(entry)
        for key, file in self._seen.items():
            if key not in self._copies:
                by_file[key] = self._explain(file, by_file.get(key, []))
        vanished = [entry for entries in by_file.values() for entry in entries]
        held = [entry for entry in vanished if entry.held]
        fresh = [entry for entry in vanished if not entry.held]
        newly_held = self._most_of_a_scope(fresh)
        keys = set(self._drafts) | {f.key for f in self._seen.values() if f.unnamed}
        keys -= self._copies.keys()
        return Changes(
            living=tuple(self._living),
            left=tuple(self._left.values()),
            vanished=(*forgotten, *(e for e in fresh if e.scope not in newly_held)),
            held=tuple(held + [e for e in fresh if e.scope in newly_held]),
            repairs={key: self._repair(key) for key in keys},
            clashes=self._clashes,
            copies=self._copies,
        )

    def _repair(self, key: FileKey) -> Repair:
        draft = self._drafts.get(key, _Draft())
        file = self._seen[key]
        restored = {entry.memory_id for entry in draft.restored}
        return Repair(
            tuple(draft.returned),
            tuple(draft.restored),
            tuple(draft.conflicts),
            tuple(draft.cut),
            tuple(draft.copied),
            bool(file.unnamed),
            tuple(draft.kept_ids),
            tuple(draft.taken_back),
            tuple(memory for memory in draft.reworded if memory.memory_id not in restored),
        )

    def _draft(self, key: FileKey) -> _Draft:
        return self._drafts.setdefault(key, _Draft())

    def _looked_at(self) -> Iterable[KnownEntry]:
        return (e for e in self._known.entries if e.file in self._seen or e.file in self._gone)

    def _is_placed(self, entry: KnownEntry) -> bool:
        return (entry.scope, entry.memory_id) in self._placed

    # Of several entries with one id, choose the original; the others are copies

    def _place(self) -> None:
        found: dict[str, list[tuple[SeenFile, int]]] = {}
        for file in self._seen.values():
            for number, entry in enumerate(() if file.key in self._copies else file.entries):
                found.setdefault(entry.memory.memory_id, []).append((file, number))
        for memory_id, places in found.items():
            self._place_one(places, self._by_id.get(memory_id, []))

    def _place_one(self, places: list[tuple[SeenFile, int]], known: Sequence[KnownEntry]) -> None:
        places = [place for place in places if not self._is_stale_revival(place, known)]
        if not known:
            places = [place for place in places if not self._is_reworded_stale(place)]
        if not places:
            return
        # A held entry is missing in its file: it was cut there and pasted here.
        stays = any(
            not e.held and e.file not in self._seen and e.file not in self._gone for e in known
        )
        owner = None if stays else _owner(places, known)
        others = [place for place in places if place != owner]
        for file, number in others:
            self._draft(file.key).copied.append(number)
        self._note_clashes(owner, others, known)
        if owner is None:
            return
        file, number = owner
        before = next((e for e in known if e.file == file.key), known[0] if known else None)
        self._take(file, file.entries[number], before)
        self._left |= {_place_of(e): e for e in known if e is not before}

    def _note_clashes(
        self,
        owner: tuple[SeenFile, int] | None,
        others: list[tuple[SeenFile, int]],
        known: Sequence[KnownEntry],
    ) -> None:
        for file, number in others:
            found = file.entries[number].memory
            if owner is None:
                same = [e.memory.judgment for e in known if e.scope == file.scope.name]
            else:
                there, place = owner
                same_scope = there.scope == file.scope
                same = [there.entries[place].memory.judgment] if same_scope else []
            if same and same_words(found.judgment) not in map(same_words, same):
                self._clashes[file.key] = (*self._clashes.get(file.key, ()), found.memory_id)

    def _is_stale_revival(self, place: tuple[SeenFile, int], known: Sequence[KnownEntry]) -> bool:
        """True for an entry that was forgotten or moved by command, and that an old editor buffer
        still had. If it also left the scope to which it was moved, a person brought it back."""
        file, number = place
        entry = file.entries[number]
        if self._departed.get((*file.key, entry.memory.memory_id)) != entry.digest:
            return False
        if any(e.scope == file.scope.name or not self._still_stands(e) for e in known):
            return False
        self._draft(file.key).cut.append((entry.memory.memory_id, entry.digest))
        return True

    def _is_reworded_stale(self, place: tuple[SeenFile, int]) -> bool:
        """True for words other than those that were forgotten or moved by command under this id: a
        person changed them in an old buffer. The id is kept for a restore."""
        file, number = place
        if (*file.key, file.entries[number].memory.memory_id) not in self._departed:
            return False
        self._draft(file.key).copied.append(number)
        return True

    def _still_stands(self, entry: KnownEntry) -> bool:
        file = self._seen.get(entry.file)
        if file is None:
            return entry.file not in self._gone
        return any(seen.memory.memory_id == entry.memory_id for seen in file.entries)

    def _take(self, file: SeenFile, seen: SeenEntry, before: KnownEntry | None) -> None:
        self._placed.add((file.scope.name, seen.memory.memory_id))
        if before is not None:
            if before.file != file.key:
                self._left[_place_of(before)] = before
                if self._was_copy(file) and before.memory.judgment != seen.memory.judgment:
                    self._draft(file.key).taken_back.append(before)
            elif both_changed(before, seen):
                self._draft(file.key).conflicts.append(before)
            if _keeps_questions_of_other_words(before.memory, seen.memory):
                self._draft(file.key).reworded.append(replace(seen.memory, asks=()))
        self._here.setdefault(file.key, {})[seen.memory.memory_id] = seen.digest
        self._living.append((file, seen, before))

    def _was_copy(self, file: SeenFile) -> bool:
        """True for a former copy. If its original was removed it becomes the original, and
        differing words of the former original are archived."""
        known = self._known.files.get(file.key)
        return known is not None and known.is_copy

    # Explain the missing entries

    def _explain(self, file: SeenFile, missing: list[KnownEntry]) -> list[KnownEntry]:
        """Returns the missing entries that have no other explanation."""
        rows = self._by_file.get(file.key, [])
        known = self._known.files.get(file.key)
        save = Save(file, known, rows, self._here.get(file.key, {}), self._now)
        undone = save.undid(missing)
        explained = {_place_of(entry) for entry in self._still_there(file, missing)}
        rest = [entry for entry in missing if _place_of(entry) not in explained]
        dropped = save.dropped(rest)
        if undone or dropped:
            self._draft(file.key).restored += undone
            self._draft(file.key).returned += dropped
        on_purpose = [e for e in rows if save.is_back(e) and e not in undone]
        if on_purpose:
            self._draft(file.key).taken_back += filter(changed_content, on_purpose)
        came_back = {_place_of(entry) for entry in dropped}
        return [entry for entry in rest if _place_of(entry) not in came_back]

    def _still_there(self, file: SeenFile, missing: list[KnownEntry]) -> list[KnownEntry]:
        """Returns missing entries whose words are present without the id: the editor's buffer did
        not have the id yet, and a person may have typed on."""
        if not file.unnamed or not missing:
            return []
        pairs = matched(file.unnamed, missing)
        self._draft(file.key).kept_ids += pairs.values()
        return list(pairs.values())

    def _most_of_a_scope(self, vanished: list[KnownEntry]) -> set[str]:
        counts: dict[str, int] = {}
        for entry in vanished:
            counts[entry.scope] = counts.get(entry.scope, 0) + 1
        return {
            scope
            for scope, count in counts.items()
            if count >= MIN_HELD and count * 2 > self._known.counts.get(scope, 0)
        }


def _keeps_questions_of_other_words(before: Memory, now: Memory) -> bool:
    """True where a person changed the words and left the line of questions as it was. Questions
    that were changed as well are theirs."""
    reworded = same_words(before.judgment) != same_words(now.judgment)
    return bool(now.asks) and now.asks == before.asks and reworded


def matched(unnamed: Sequence[Memory], known: Sequence[KnownEntry]) -> dict[int, KnownEntry]:
    """Match words without an id, by number, to known entries: equal words first, then words of
    which one begins with the other, for a person may have typed on."""
    free = {number: same_words(memory.judgment) for number, memory in enumerate(unnamed)}
    found: dict[int, KnownEntry] = {}
    waiting = {entry.memory_id: entry for entry in known}
    for exactly in (True, False):
        for entry in list(waiting.values()):
            words = same_words(entry.memory.judgment)
            for number, other in free.items():
                if _match(other, words, exactly=exactly):
                    found[number] = waiting.pop(entry.memory_id)
                    del free[number]
                    break
    return found


def _place_of(entry: KnownEntry) -> tuple[str, str, str]:
    return entry.scope, entry.path, entry.memory_id


def _owner(places: list[tuple[SeenFile, int]], known: Sequence[KnownEntry]) -> tuple[SeenFile, int]:
    """Returns the first place in a known file, preferably with the same text; else the first."""
    digests = {entry.file: entry.digest for entry in known}
    stayed = [place for place in places if place[0].key in digests]
    same = [(f, n) for f, n in stayed if f.entries[n].digest == digests[f.key]]
    return next(iter(same or stayed or places))


def _match(found: str, known: str, *, exactly: bool) -> bool:
    if exactly:
        return found == known
    return bool(found and known) and (found.startswith(known) or known.startswith(found))
